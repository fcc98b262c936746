#include "transports/inproc/inproc.h"

#include "conformance/transport_suite.h"

namespace ronde::testing {

std::vector<TransportUnderTest> transports_under_test() {
  return with_faulty_variants({.name = "inproc", .make = make_inproc_transport, .unreachable = [](const Bytes& facts) {
                                 Bytes other_process = facts;
                                 other_process.front() ^= std::byte{1};
                                 return other_process;
                               }});
}

}  // namespace ronde::testing
