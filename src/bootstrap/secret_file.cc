#include "bootstrap/secret_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/crypto.h"
#include "base/fd.h"
#include "base/retry.h"

namespace ronde {
namespace {

constexpr size_t kLeastBytes = 32;
constexpr size_t kMostBytes = 64 << 10;
constexpr std::string_view kPurpose = "ronde secret file";  // the key under which its content is hashed

Status unusable(const std::string& path, const std::string& why) {
  return {
      rondeInvalidUsage,
      fmt::format("RONDE_SECRET_FILE='{}' {}. Make a new file on one host, as in (umask 077; head -c 32 /dev/urandom > "
                  "secret), and copy it to the others",
                  path, why)};
}

}  // namespace

Result<Secret> read_secret_file(const std::string& path) {
  const Fd file = Fd::make([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); });
  if (!file.valid()) return unusable(path, system_error("cannot be opened", errno).message());
  struct stat about {};
  if (fstat(file.get(), &about) != 0) return unusable(path, system_error("cannot be examined", errno).message());
  if (!S_ISREG(about.st_mode)) return unusable(path, "is no plain file");
  // Its owner could choose the secret, or change the mode back after this look at it.
  if (about.st_uid != geteuid() && about.st_uid != 0)
    return Status(
        rondeInvalidUsage,
        fmt::format("RONDE_SECRET_FILE='{}' belongs to user {}, but must belong to user {}, as whom this process "
                    "runs, or to root: copy it, and name the copy",
                    path, about.st_uid, geteuid()));
  if ((about.st_mode & 077) != 0)
    return Status(
        rondeInvalidUsage,
        fmt::format("RONDE_SECRET_FILE='{0}' has mode {1:04o}: others than its owner can use it. If nobody has "
                    "read it, chmod 600 '{0}'; else make a new one",
                    path, about.st_mode & 07777));

  Bytes content(kMostBytes + 1);
  const Wipe wipe(content);
  size_t size = 0;
  while (size < content.size()) {
    const ssize_t got =
        retry_interrupted([&] { return ::read(file.get(), content.data() + size, content.size() - size); });
    if (got < 0) return unusable(path, system_error("cannot be read", errno).message());
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  if (size < kLeastBytes) return unusable(path, fmt::format("has {} bytes, {} are needed", size, kLeastBytes));
  if (size > kMostBytes) return unusable(path, fmt::format("has more than {} bytes", kMostBytes));
  return Secret::derive(std::as_bytes(std::span(kPurpose)), {ByteView(content).first(size)});
}

UniqueId derive_id(const Secret& secret, uint16_t port) {
  UniqueId id;
  id.port = port;
  id.secret = secret;
  id.retry_refused = true;
  Writer place;
  place.text("job").number(port);
  const Mac mac = hmac_sha256(secret.bytes(), place.view());
  id.job = Reader(mac).number<uint64_t>();
  return id;
}

}  // namespace ronde
