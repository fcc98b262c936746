// What the ranks of a communicator tell each other first, and whether they fit together.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "base/wire.h"
#include "topology/cpus.h"

namespace ronde {

struct RankFacts {
  int version = 0;              // RONDE_VERSION_CODE
  std::string build;            // source_digest()
  std::string agreed_settings;  // Settings::agreed_text
  std::string boot_id;          // equal on ranks of one running kernel
  topology::CpuAllowance cpus;
  Bytes control;                 // Control::facts
  std::vector<Bytes> endpoints;  // by transport: Endpoint::facts; empty: this rank does not have it
};

Bytes write_facts(const RankFacts& facts);

// What each rank has written, in rank order. Errors name the ranks and the difference: another version or build of
// the library (rondeInvalidUsage), other values of a setting that must be equal (rondeInvalidUsage), bytes that cannot
// be read. What is equal on all, build and settings, is left out; rank 0 keeps the settings.
Result<std::vector<RankFacts>> read_all_facts(const std::vector<Bytes>& all, int own_rank, size_t transports);

}  // namespace ronde
