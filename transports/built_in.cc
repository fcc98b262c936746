#include "transports/built_in.h"

#include "transports/inproc/inproc.h"
#include "transports/shm/shm.h"
#include "transports/tcp/tcp.h"

namespace ronde {

std::vector<std::unique_ptr<Transport>> built_in_transports() {
  std::vector<std::unique_ptr<Transport>> transports;
  transports.push_back(make_inproc_transport());
  transports.push_back(make_shm_transport());
  transports.push_back(make_tcp_transport());
  return transports;
}

}  // namespace ronde
