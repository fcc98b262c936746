// The secret of a job is in no memory that a core dump holds: not in ranks that use it, nor after they have let go.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cases/support/child.h"
#include "cases/support/ranks.h"
#include "support/sanitizers.h"
#include "support/skip.h"

namespace ronde::cases {
namespace {

constexpr size_t kSecretOffset = 12;  // in an id, see src/bootstrap/unique_id.h
constexpr size_t kSecretBytes = 32;
constexpr unsigned char kMask = 0x5a;

// What is looked for, in a form that is not found: each byte changed.
using Masked = std::vector<unsigned char>;

// The secret as it is, and in the digits of the text form.
std::vector<Masked> secret_of(const rondeUniqueId& id) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  Masked plain;
  Masked digits;
  for (size_t i = 0; i < kSecretBytes; ++i) {
    const auto byte = static_cast<unsigned char>(id.internal[kSecretOffset + i]);
    plain.push_back(byte ^ kMask);
    for (const int half : {byte >> 4, byte & 15}) digits.push_back(static_cast<unsigned char>(kDigits[half]) ^ kMask);
  }
  return {plain, digits};
}

struct Region {
  size_t begin = 0;
  size_t end = 0;
  std::string line;
};

// What a core dump would hold of this process: readable, and not marked "dd" (do not dump).
std::vector<Region> dumped_regions() {
  std::vector<Region> regions;
  std::ifstream maps("/proc/self/smaps");
  Region region;
  bool readable = false;
  for (std::string line; std::getline(maps, line);) {
    std::array<char, 5> access{};
    Region next{0, 0, line};
    if (std::sscanf(line.c_str(), "%zx-%zx %4s", &next.begin, &next.end, access.data()) == 3) {
      region = next;
      readable = access[0] == 'r';
    } else if (line.starts_with("VmFlags:")) {
      std::istringstream flags(line.substr(8));
      bool kept_out = false;
      for (std::string flag; flags >> flag;) kept_out = kept_out || flag == "dd";
      if (readable && !kept_out) regions.push_back(region);
    }
  }
  return regions;
}

// A window on the memory of this process that is in no dump itself.
class Window {
 public:
  static constexpr size_t kBytes = size_t{1} << 20;

  Window()
      : memory_(open("/proc/self/mem", O_RDONLY | O_CLOEXEC)),
        buffer_(static_cast<unsigned char*>(
            mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    madvise(buffer_, kBytes, MADV_DONTDUMP);
  }
  ~Window() {
    munmap(buffer_, kBytes);
    close(memory_);
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  // Empty if nothing is there any more (other threads go on).
  std::span<const unsigned char> at(size_t address, size_t size) {
    const ssize_t got = pread(memory_, buffer_, std::min(size, kBytes), static_cast<off_t>(address));
    return {buffer_, static_cast<size_t>(std::max<ssize_t>(got, 0))};
  }

 private:
  int memory_;
  unsigned char* buffer_;
};

bool contains(std::span<const unsigned char> bytes, const Masked& masked) {
  const auto equal = [](unsigned char byte, unsigned char changed) { return (byte ^ kMask) == changed; };
  return std::search(bytes.begin(), bytes.end(), masked.begin(), masked.end(), equal) != bytes.end();
}

// The regions that hold the secret in one of its forms; "" for none.
std::string found_in_memory(const std::vector<Masked>& forms) {
  Window window;
  std::string found;
  for (const Region& region : dumped_regions()) {
    // The windows overlap by the longest form.
    for (size_t at = region.begin; at < region.end; at += Window::kBytes - 2 * kSecretBytes) {
      const auto bytes = window.at(at, region.end - at);
      if (std::any_of(forms.begin(), forms.end(), [&](const Masked& form) { return contains(bytes, form); }))
        found += region.line + "\n";
    }
  }
  return found;
}

void expect_sum(rondeComm_t comm) {
  float value = 1;
  expect_success(rondeAllReduce(&value, &value, 1, rondeFloat32, rondeSum, comm, nullptr), "a sum");
  expect(value == 2, "a wrong sum");
}

// How the ranks come by the id.
enum class Source { from_rank_0, from_rank_0_as_text, from_ronderun, from_secret_file };

struct Job {
  Source source = Source::from_rank_0;
  std::string transport;
  std::string port;         // free; names the job where nobody listens
  int id_fd = -1;           // from_ronderun: will hold the id as text
  std::string secret_file;  // from_secret_file
};

// 32 bytes that this process never sees.
class SecretFile {
 public:
  SecretFile() : path_("/tmp/ronde-secret-test-" + std::to_string(getpid())) {
    const std::string command = "umask 077 && head -c 32 /dev/urandom > " + path_;
    REQUIRE(std::system(command.c_str()) == 0);
  }
  ~SecretFile() { unlink(path_.c_str()); }
  SecretFile(const SecretFile&) = delete;
  SecretFile& operator=(const SecretFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Masked content_of(const std::string& path) {
  std::array<unsigned char, kSecretBytes> bytes{};
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  expect(read(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "the secret file");
  close(file);
  Masked masked;
  for (const unsigned char byte : bytes) masked.push_back(byte ^ kMask);
  explicit_bzero(bytes.data(), bytes.size());
  return masked;
}

// Below those that connections of other tests get.
std::string free_port() {
  for (int port = 10'000 + getpid() % 20'000;; ++port) {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    const bool free = bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    close(listener);
    if (free) return std::to_string(port);
    REQUIRE(errno == EADDRINUSE);
  }
}

// What ronderun does; until it is killed the ranks can meet.
std::string be_ronderun(int id_fd) {
  rondeUniqueId id;
  std::array<char, RONDE_UNIQUE_ID_TEXT_BYTES> text{};
  if (rondeGetUniqueId(&id) != rondeSuccess || rondeUniqueIdToText(&id, text.data()) != rondeSuccess) return "no id";
  const size_t size = std::strlen(text.data());
  if (pwrite(id_fd, text.data(), size, 0) != static_cast<ssize_t>(size)) return "cannot write the id";
  for (;;) pause();
}

void await_content(int fd) {
  struct stat about {};
  while (fstat(fd, &about) == 0 && about.st_size == 0) usleep(1000);
}

// Two processes.
void be_rank(int rank, const Job& job) {
  if (job.source == Source::from_ronderun) await_content(job.id_fd);
  rondeWorld_t world{.size = sizeof(world)};
  rondeUniqueId id;
  expect_success(rondeGetWorldFromEnv(&world, &id), "the id");
  expect(world.rank == rank && world.nranks == 2, "the world");
  std::vector<Masked> secret = secret_of(id);
  if (job.source == Source::from_secret_file) secret.push_back(content_of(job.secret_file));
  if (job.source == Source::from_rank_0_as_text) {
    std::array<char, RONDE_UNIQUE_ID_TEXT_BYTES> text{};
    expect_success(rondeUniqueIdToText(&id, text.data()), "its text");
    expect(!found_in_memory({secret[1]}).empty(), "this test does not find the text form");
    expect_success(rondeUniqueIdFromText(text.data(), &id), "from its text");
    explicit_bzero(text.data(), text.size());
  }
  expect(!found_in_memory({secret[0]}).empty(), "this test does not find the secret in a variable");

  rondeComm_t comm = nullptr;
  expect_success(rondeCommInitRank(&comm, 2, id, rank), "the communicator");
  explicit_bzero(&id, sizeof id);
  expect_sum(comm);
  const std::string at_work = found_in_memory(secret);
  expect(at_work.empty(), "rank " + std::to_string(rank) + " holds the secret in:\n" + at_work);

  rondeComm_t next = nullptr;
  expect_success(rondeCommShrink(comm, nullptr, 0, &next, nullptr, RONDE_SHRINK_DEFAULT), "a successor");
  expect_sum(next);
  expect_success(rondeCommDestroy(comm), "destroy");
  expect_success(rondeCommDestroy(next), "destroy");
  const std::string after = found_in_memory(secret);
  expect(after.empty(), "rank " + std::to_string(rank) + " has left the secret in:\n" + after);
}

void set_environment(int rank, const Job& job) {
  const std::string number = std::to_string(rank);
  setenv("RONDE_TRANSPORT", job.transport.c_str(), 1);
  if (job.source == Source::from_ronderun) {
    for (const char* name : {"RONDE_RANK", "RONDE_LOCAL_RANK"}) setenv(name, number.c_str(), 1);
    for (const char* name : {"RONDE_NRANKS", "RONDE_LOCAL_NRANKS"}) setenv(name, "2", 1);
    setenv("RONDE_ID_FD", std::to_string(job.id_fd).c_str(), 1);
    return;
  }
  for (const char* name : {"RANK", "LOCAL_RANK"}) setenv(name, number.c_str(), 1);
  for (const char* name : {"WORLD_SIZE", "LOCAL_WORLD_SIZE"}) setenv(name, "2", 1);
  setenv("MASTER_ADDR", "127.0.0.1", 1);
  setenv("MASTER_PORT", job.port.c_str(), 1);
  if (job.source != Source::from_secret_file) return;
  setenv("RONDE_PORT", job.port.c_str(), 1);
  setenv("RONDE_SECRET_FILE", job.secret_file.c_str(), 1);
}

std::string outcome_of_rank(int rank, const Job& job) {
  set_environment(rank, job);
  try {
    be_rank(rank, job);
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("The secret of a job is in no core dump") {
  if (testing::kAddressSanitizer || testing::kThreadSanitizer)
    testing::skip("sanitizers keep freed memory and copies of the stack");
  Job job;
  job.transport = GENERATE(as<std::string>(), "shm", "tcp");
  job.source =
      GENERATE(Source::from_rank_0, Source::from_rank_0_as_text, Source::from_ronderun, Source::from_secret_file);
  CAPTURE(job.transport, static_cast<int>(job.source));
  const SecretFile secret_file;
  job.secret_file = secret_file.path();
  job.port = free_port();
  job.id_fd = memfd_create("id", 0);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  std::optional<Child> ronderun;
  if (job.source == Source::from_ronderun) ronderun.emplace([&] { return be_ronderun(job.id_fd); });
  Child other([&] { return outcome_of_rank(1, job); });
  Child root([&] { return outcome_of_rank(0, job); });
  CHECK(root.end_by(deadline, "rank 0") == "");
  CHECK(other.end_by(deadline, "rank 1") == "");
  close(job.id_fd);
}

}  // namespace ronde::cases
