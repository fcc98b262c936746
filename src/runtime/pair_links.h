// The links between any two ranks, as one rank has them: each is made when it is first asked for, and stays until the
// communicator ends.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "link/transport.h"

namespace ronde {

// How a rank makes links with each other one.
struct PairWays {
  std::vector<std::unique_ptr<Endpoint>> endpoints;  // by transport; null: it joins this rank with nobody
  std::vector<std::string_view> names;               // by transport
  std::vector<uint8_t> transport_of;                 // by rank; of the own one without meaning
};

// Used by the thread that drives the communicator. Goes before what its ports need: doorbell and segments.
class PairLinks {
 public:
  // failed: outlives this; once it is set nothing more is made.
  PairLinks(PairWays ways, const OnceFlag& failed);

  // The link to or from a rank, which is not the own one. Null: it is being made, ask again when the doorbell has rung.
  // An error, for good: it could not be made.
  Result<SendPort*> send_to(int rank);
  Result<ReceivePort*> receive_from(int rank);

  // Of each link so far: use(name of its transport, link).
  template <typename Use>
  void for_each(Use use) const {
    for (size_t rank = 0; rank < ends_.size(); ++rank) {
      if (ends_[rank] == nullptr) continue;
      for (const End* end : {&ends_[rank]->out, &ends_[rank]->in})
        use(ways_.names[ways_.transport_of[rank]], end->link);
    }
  }

 private:
  struct End {
    bool requested = false;
    MadeLink link;
    Status error;
  };
  struct Ends {
    End out;
    End in;
  };

  Ends& ends_with(int rank);
  Status make(End& end, int rank, bool outgoing);

  const OnceFlag& failed_;
  PairWays ways_;
  std::vector<std::unique_ptr<Ends>> ends_;  // by rank; null: not asked for
};

}  // namespace ronde
