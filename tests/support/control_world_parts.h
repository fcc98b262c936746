// What a simulated world is made of. Of the sources of control_world.h only.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "support/control_world.h"

namespace ronde::testing {

// One direction of a connection.
struct ControlWorld::Pipe {
  Pipe(uint32_t from, uint32_t to, size_t most_bytes)
      : sealer(key_of(from, to), direction(from, to)), opener(key_of(from, to), direction(from, to), most_bytes) {}
  static Key key_of(uint32_t from, uint32_t to) {
    Key key{};
    key[0] = static_cast<std::byte>(std::min(from, to));
    key[1] = static_cast<std::byte>(std::max(from, to));
    return key;
  }
  static Direction direction(uint32_t from, uint32_t to) {
    return from < to ? Direction::to_server : Direction::to_client;
  }

  FrameSealer sealer;
  FrameOpener opener;
  Bytes plain;                                           // without real frames: what has come of a message
  std::deque<std::variant<Bytes, Status>> on_their_way;  // a status: the end
  Time hung_until{};
  bool open = true;
};

inline constexpr double kDetection = 2.0;  // seconds: what all ranks know by then
inline const Status kEnd(rondePeerLost, "ended without saying goodbye");

struct ControlWorld::Rank {
  std::unique_ptr<ControlMachine> machine;
  bool dead = false;
  bool left = false;
  bool isolated = false;
  bool culprit = false;  // and takes part no more
  bool wants_to_leave = false;
  Time stopped_until{};
  Time last_stop_end{};
  uint32_t begun = 0;
  uint32_t ended = 0;
  bool told_of_wait = false;
  double next_compute = 0;
  std::optional<LateNote> note;
  std::optional<Status> failure;
  Time failed_at{};
  Time timer{};
  bool shrinks = false;  // at this moment
  bool meeting_is_coming = false;
  bool gave_up = false;
  bool starts = false;  // agrees, once more, on whether all have started
  std::vector<ShrinkDecision> decisions;
};

}  // namespace ronde::testing
