#include "transports/shm/shm.h"

#include "conformance/transport_suite.h"

namespace ronde::testing {

std::vector<TransportUnderTest> transports_under_test() {
  return with_faulty_variants({.name = "shm", .make = make_shm_transport, .unreachable = [](const Bytes& facts) {
                                 Reader reader(facts);
                                 const std::string host = reader.text();
                                 return Writer().text(host).text("ronde-nobody listens here").take();
                               }});
}

}  // namespace ronde::testing
