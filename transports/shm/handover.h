// How the ranks of a host hand each other their memory. Every rank connects to every candidate and, after the proof,
// sends its segment and eventfd; what it gets comes over the connections that the others make. A candidate whose name
// cannot be connected to lives in another network namespace, and so does this rank for it: nothing is awaited from
// there.
#pragma once

#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/proof.h"
#include "base/secret.h"
#include "base/shared_word.h"
#include "base/status.h"

namespace ronde {

struct Offer {  // what a rank hands out
  uint64_t job = 0;
  Secret secret;
  int rank = 0;
  Nonce token{};  // of its segment
  int memfd = -1;
  int event_fd = -1;
  int black_box = -1;  // for some candidates; -1: none
  // The arena of its process; the descriptor is -1 if there is none.
  Nonce arena_token{};
  int arena = -1;
};

struct Candidate {
  int rank = 0;
  std::string socket_name;
  bool gets_black_box = false;
};

struct Received {  // what a rank got
  int rank = 0;
  Nonce token{};
  Fd memfd;
  Fd event;
  Fd black_box;  // if one came
  Nonce arena_token{};
  Fd arena;  // if one came
};

// Blocks until everything that can come has come, at most to the deadline, or until `stop` (may be null) is set. What
// did not come is missing in the result. An error if this process may not open as many files.
Result<std::vector<Received>> hand_over(const Offer& offer, int listener, const std::vector<Candidate>& candidates,
                                        const OnceFlag* stop, Deadline deadline);

}  // namespace ronde
