#include "transports/tcp/tcp.h"

#include "conformance/transport_suite.h"

namespace ronde::testing {

std::vector<TransportUnderTest> transports_under_test() {
  std::vector<TransportUnderTest> all;
  for (const std::string connections : {"1", "3"}) {
    const auto some = with_faulty_variants({.name = "tcp with " + connections + " connections",
                                            .make = make_tcp_transport,
                                            .settings = {{"RONDE_TCP_CONNECTIONS", connections}},
                                            .notices_closing = true,
                                            .waits_to_connect = true,
                                            .unreachable = [](const Bytes&) { return Bytes(); }});
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace ronde::testing
