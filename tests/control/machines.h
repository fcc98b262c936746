// Control machines in virtual time, joined without sockets.
#pragma once

#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/control_machine.h"
#include "control/graph.h"

namespace ronde::testing {

inline CallNote call(uint32_t sequence, const std::string& text = "A") {
  return {sequence, static_cast<uint32_t>(std::hash<std::string>()(text)), text};
}

// Machines whose messages arrive at once. One that is stopped hears later.
class Machines {
 public:
  explicit Machines(uint32_t nranks) : calls(nranks), stopped(nranks, false) {
    for (uint32_t rank = 0; rank < nranks; ++rank) {
      machines_.push_back(std::make_unique<ControlMachine>(
          rank, nranks, [](uint32_t about) { return fmt::format("rank {} (pid 7)", about); },
          [this, rank](uint32_t sequence) {
            Whereabouts here{calls[rank].empty() ? 0 : calls[rank].rbegin()->first, std::nullopt};
            if (const auto known = calls[rank].find(sequence); known != calls[rank].end()) here.call = known->second;
            return here;
          }));
      for (const uint32_t peer : control_neighbours(rank, nranks)) machines_[rank]->linked(peer);
    }
  }
  ControlMachine& operator[](uint32_t rank) { return *machines_[rank]; }

  // The rank begins the call; with a reason it tells that it waits in it.
  void begin(uint32_t rank, const CallNote& note, std::optional<WaitReason> reason = std::nullopt) {
    calls[rank][note.sequence] = note;
    if (reason) machines_[rank]->waiting(note, *reason, now);
    settle();
  }
  void settle() {
    for (bool moved = true; moved;) {
      moved = false;
      for (uint32_t rank = 0; rank < machines_.size(); ++rank) {
        for (const Flood::Outgoing& outgoing : machines_[rank]->take_messages()) {
          moved = true;
          if (!stopped[outgoing.peer]) machines_[outgoing.peer]->received(rank, outgoing.message->bytes, now);
        }
      }
    }
  }
  void pass(Milliseconds span) {
    now += span;
    for (uint32_t rank = 0; rank < machines_.size(); ++rank)
      if (!stopped[rank]) machines_[rank]->advance(now);
    settle();
  }
  std::string failure(uint32_t rank) {
    const std::optional<Status>& why = machines_[rank]->failure();
    return why ? fmt::format("{} {}", static_cast<int>(why->code()), why->message()) : "";
  }
  // The newest; nothing new: no ranks, number 0.
  LateNote late(uint32_t rank) {
    const std::vector<LateNote> notes = machines_[rank]->take_late_notes();
    return notes.empty() ? LateNote() : notes.back();
  }

  std::vector<std::map<uint32_t, CallNote>> calls;
  std::vector<bool> stopped;
  Time now = Time() + std::chrono::hours(1);

 private:
  std::vector<std::unique_ptr<ControlMachine>> machines_;
};

}  // namespace ronde::testing
