// Whether one machine reaches another: one listens (listen.h), the other connects and measures. No secret is exchanged,
// and nothing that strangers send is believed.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/settings.h"
#include "base/socket.h"
#include "doctor/finding.h"
#include "doctor/options.h"

namespace ronde::doctor {

// What both sides say, again for each measurement; all other bytes are those of another program.
inline constexpr std::string_view kGreeting = "ronde-doctor 1\r\n";
inline constexpr int kGreetings = 5;

// The address without its port.
std::string address_text(const SocketAddress& address);

// Connects; errors carry the system's reason. rondeTimedOut: no answer.
Result<Fd> connect_to(const SocketAddress& address, Deadline deadline);

// One finding for each address of each target. A target without a port gets RONDE_PORT. An address that cannot be
// reached is a problem; but only a warning if another one can. limit: for each address.
std::vector<Finding> reach(const std::vector<Target>& targets, const Settings& settings, Milliseconds limit);

}  // namespace ronde::doctor
