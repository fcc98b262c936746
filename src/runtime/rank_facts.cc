#include "runtime/rank_facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/source_digest.h"

namespace ronde {
namespace {

std::string version_text(int code) { return fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100); }

Status other_library(size_t rank, const std::string& theirs, int own_rank, const std::string& ours) {
  return {rondeInvalidUsage, fmt::format("rank {} runs version {} of the library, rank {} version {}: install the same "
                                         "one everywhere",
                                         rank, theirs, own_rank, ours)};
}

// What follows the version and the build means something only where both are the own ones.
Status check_library(Reader& reader, size_t rank, int own_rank, RankFacts& facts) {
  const std::string own_version = version_text(RONDE_VERSION_CODE);
  facts.version = reader.number<int32_t>();
  if (reader.ok() && facts.version != RONDE_VERSION_CODE) {
    return other_library(rank, version_text(facts.version), own_rank, own_version);
  }
  facts.build = reader.text();
  if (reader.ok() && facts.build != source_digest()) {
    return other_library(rank, fmt::format("{} (sources {})", own_version, facts.build.substr(0, 64)), own_rank,
                         fmt::format("{} (sources {})", own_version, source_digest()));
  }
  return {};
}

Result<RankFacts> read_facts(const Bytes& bytes, size_t rank, int own_rank, size_t transports) {
  Reader reader(bytes);
  RankFacts facts;
  RONDE_TRY(check_library(reader, rank, own_rank, facts));
  facts.agreed_settings = reader.text();
  facts.boot_id = reader.text();
  facts.cpus.quota = reader.number<int32_t>();
  const size_t words = reader.number<uint16_t>();
  for (size_t i = 0; i < words && reader.ok(); ++i) facts.cpus.mask.push_back(reader.number<uint64_t>());
  const ByteView control = reader.bytes();
  facts.control.assign(control.begin(), control.end());
  const size_t count = reader.number<uint8_t>();
  for (size_t i = 0; i < count && reader.ok(); ++i) {
    const ByteView endpoint = reader.bytes();
    facts.endpoints.emplace_back(endpoint.begin(), endpoint.end());
  }
  if (!reader.complete() || facts.endpoints.size() != transports) {
    return Status(rondeInternalError, fmt::format("the facts of rank {} cannot be read", rank));
  }
  return facts;
}

// First line in which two texts of agreed settings differ, as "rank 0 has A, rank 3 has B".
std::string first_difference(const std::string& first, const std::string& other, size_t rank) {
  size_t begin = 0;
  for (size_t i = 0; i < std::min(first.size(), other.size()) && first[i] == other[i]; ++i) {
    if (first[i] == '\n') begin = i + 1;
  }
  const auto line = [begin](const std::string& text) { return text.substr(begin, text.find('\n', begin) - begin); };
  return fmt::format("rank 0 has {}, rank {} has {}", line(first), rank, line(other));
}

}  // namespace

Bytes write_facts(const RankFacts& facts) {
  Writer writer;
  writer.number(static_cast<int32_t>(facts.version)).text(facts.build);
  writer.text(facts.agreed_settings).text(facts.boot_id);
  writer.number(static_cast<int32_t>(facts.cpus.quota)).number(static_cast<uint16_t>(facts.cpus.mask.size()));
  for (const uint64_t word : facts.cpus.mask) writer.number(word);
  writer.bytes(facts.control);
  writer.number(static_cast<uint8_t>(facts.endpoints.size()));
  for (const Bytes& endpoint : facts.endpoints) writer.bytes(endpoint);
  return writer.take();
}

Result<std::vector<RankFacts>> read_all_facts(const std::vector<Bytes>& all, int own_rank, size_t transports) {
  std::vector<RankFacts> facts;
  facts.reserve(all.size());
  for (size_t rank = 0; rank < all.size(); ++rank) {
    RONDE_ASSIGN(RankFacts one, read_facts(all[rank], rank, own_rank, transports));
    facts.push_back(std::move(one));
    if (facts[rank].agreed_settings != facts[0].agreed_settings) {
      return Status(rondeInvalidUsage,
                    fmt::format("a setting must be equal on all ranks: {}",
                                first_difference(facts[0].agreed_settings, facts[rank].agreed_settings, rank)));
    }
    // Equal on all ranks, and there may be many: kept once.
    if (rank > 0) facts[rank].agreed_settings = std::string();
    facts[rank].build = std::string();
  }
  return facts;
}

}  // namespace ronde
