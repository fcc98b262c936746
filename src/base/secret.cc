#include "base/secret.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "base/crypto.h"
#include "base/fork_guard.h"

namespace ronde {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr std::array<std::byte, Secret::kBytes> kZeroes{};

void give_back(std::byte* page) {
  ::explicit_bzero(page, Secret::kBytes);
  ::munmap(page, kPageBytes);
}

std::shared_ptr<std::byte> make_page() {
  void* page = MAP_FAILED;
  {
    const fork_guard::Section section;  // no child before the page is marked
    page = ::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED) {
      ::madvise(page, kPageBytes, MADV_DONTDUMP);
      ::madvise(page, kPageBytes, MADV_WIPEONFORK);  // a child finds zeroes; from Linux 4.14 on
    }
  }
  if (page == MAP_FAILED) throw std::bad_alloc();
  return {static_cast<std::byte*>(page), give_back};
}

}  // namespace

Secret::Secret(std::span<const std::byte, kBytes> bytes) : page_(make_page()) {
  std::copy_n(bytes.begin(), kBytes, page_.get());
}

Result<Secret> Secret::random() {
  Secret secret;
  secret.page_ = make_page();
  RONDE_TRY(random_bytes({secret.page_.get(), kBytes}));
  return secret;
}

Secret Secret::derive(ByteView key, std::initializer_list<ByteView> parts) {
  Mac derived = hmac_sha256_of_parts(key, parts);
  const Wipe wipe(derived);
  return Secret(derived);
}

ByteView Secret::bytes() const { return page_ == nullptr ? ByteView(kZeroes) : ByteView(page_.get(), kBytes); }

bool operator==(const Secret& a, const Secret& b) { return equal_in_constant_time(a.bytes(), b.bytes()); }

Wipe::~Wipe() { ::explicit_bzero(memory_.data(), memory_.size()); }

}  // namespace ronde
