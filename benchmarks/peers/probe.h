// Are two processors near each other (one L3 cache) or far, just now? The host of a virtual machine moves its
// processors, and small sizes are several times slower when they are far.
#pragma once

#include <string>

#include "peers/measure.h"

namespace peers {

class Probe {
 public:
  // file: one that all ranks of the run map, and nobody else; empty: no probe.
  explicit Probe(const std::string& file);
  ~Probe();
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  // Nanoseconds one way of a spinning ping-pong between ranks 0 and 1, the best of some rounds, on every rank; the two
  // are bound to the first two processors meanwhile, the others sleep. 0: no probe, or one rank. All ranks call it.
  [[nodiscard]] double ask(Peer& peer) const;

 private:
  struct Words;
  Words* words_ = nullptr;
};

}  // namespace peers
