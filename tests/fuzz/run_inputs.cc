// Without libFuzzer: runs an entry point over seeded random inputs of all lengths up to 600 bytes.
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main() {
  std::mt19937_64 random(1);
  for (size_t size = 0; size <= 600; ++size) {
    std::vector<uint8_t> input(size);
    for (int round = 0; round < 20; ++round) {
      // Some rounds small numbers only: lengths and kinds that look right reach deeper.
      for (uint8_t& byte : input) byte = static_cast<uint8_t>(round % 2 == 0 ? random() : random() % 24);
      LLVMFuzzerTestOneInput(input.data(), input.size());
    }
  }
  std::puts("12020 inputs");
  return 0;
}
