#include "bootstrap/host_probe.h"

#include <poll.h>

#include <cerrno>

#include "base/retry.h"

namespace ronde {
namespace {

bool is_answer(int error) { return error == 0 || error == ECONNREFUSED || error == ECONNRESET; }

bool has_ended(int fd) {
  pollfd state{fd, POLLOUT, 0};
  return retry_interrupted([&] { return ::poll(&state, 1, 0); }) == 1;
}

}  // namespace

bool HostProbe::answered() {
  const bool answered = attempt_.valid() && has_ended(attempt_.get()) && is_answer(connect_error(attempt_.get()));
  attempt_.reset();
  Result<Fd> next = start_connect(address_);
  if (next.ok()) {
    attempt_ = std::move(*next);
    return answered;
  }
  return answered || is_answer(errno);
}

}  // namespace ronde
