// The side of the reachability test that waits. Whoever connects is a stranger: a bounded number of connections, each
// with few bytes and little time, none of which is waited for.
#pragma once

#include <functional>
#include <string>

#include "base/deadline.h"
#include "base/settings.h"
#include "base/status.h"

namespace ronde::doctor {

struct Visits {
  int reached = 0;    // connections of ronde-doctor
  int strangers = 0;  // others, and those that broke off
};

// Listens as the meeting point of a job would, until the limit is over or the most connections have come. port 0:
// RONDE_PORT, or any.
// say: one line for people, without its end.
Result<Visits> listen(const Settings& settings, uint16_t port, Milliseconds limit,
                      const std::function<void(const std::string&)>& say);

}  // namespace ronde::doctor
