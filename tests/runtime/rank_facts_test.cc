#include "runtime/rank_facts.h"

#include <catch2/catch.hpp>

#include "base/source_digest.h"

namespace ronde {
namespace {

RankFacts facts_with(std::string settings, int version = RONDE_VERSION_CODE) {
  RankFacts facts;
  facts.version = version;
  facts.build = source_digest();
  facts.agreed_settings = std::move(settings);
  facts.boot_id = "kernel";
  facts.cpus.mask = {5, 1};
  facts.cpus.quota = 3;
  facts.control = {std::byte{9}};
  facts.endpoints = {{}, {std::byte{1}, std::byte{2}}};
  return facts;
}

}  // namespace

TEST_CASE("facts are read as they were written") {
  const auto all = read_all_facts({write_facts(facts_with("A=1\n")), write_facts(facts_with("A=1\n"))}, 0, 2);
  REQUIRE(all.ok());
  const RankFacts& read = (*all)[1];
  const RankFacts written = facts_with("A=1\n");
  CHECK(read.version == written.version);
  CHECK((*all)[0].agreed_settings == written.agreed_settings);  // of one rank: they are equal
  CHECK(read.boot_id == written.boot_id);
  CHECK(read.cpus.mask == written.cpus.mask);
  CHECK(read.cpus.quota == written.cpus.quota);
  CHECK(read.control == written.control);
  CHECK(read.endpoints == written.endpoints);
}

TEST_CASE("a setting that differs is named with both ranks and values") {
  const auto all = read_all_facts({write_facts(facts_with("A=1\nB=ring\n")), write_facts(facts_with("A=1\nB=ring\n")),
                                   write_facts(facts_with("A=1\nB=star\n"))},
                                  1, 2);
  REQUIRE(all.status().code() == rondeInvalidUsage);
  CHECK_THAT(all.status().message(), Catch::EndsWith("rank 0 has B=ring, rank 2 has B=star"));
}

TEST_CASE("another version of the library is named with its rank") {
  const auto all =
      read_all_facts({write_facts(facts_with("")), write_facts(facts_with("", RONDE_VERSION_CODE + 1))}, 0, 2);
  REQUIRE(all.status().code() == rondeInvalidUsage);
  CHECK_THAT(all.status().message(), Catch::StartsWith("rank 1 runs version"));
}

TEST_CASE("another version is named whatever else its facts hold") {
  Bytes strange = write_facts(facts_with("", RONDE_VERSION_CODE + 1));
  strange.resize(7);
  CHECK(read_all_facts({strange}, 0, 2).status().code() == rondeInvalidUsage);
  strange.resize(1000);
  CHECK(read_all_facts({strange}, 0, 2).status().code() == rondeInvalidUsage);
}

TEST_CASE("another build of the same version is named with its rank") {
  RankFacts other = facts_with("");
  other.build = "0123456789ab";
  const auto all = read_all_facts({write_facts(facts_with("")), write_facts(other)}, 0, 2);
  REQUIRE(all.status().code() == rondeInvalidUsage);
  CHECK_THAT(all.status().message(), Catch::StartsWith("rank 1 runs version") && Catch::Contains("0123456789ab") &&
                                         Catch::Contains(std::string(source_digest())));
}

TEST_CASE("facts that are cut off or too long are refused") {
  const Bytes whole = write_facts(facts_with("A=1\n"));
  for (size_t size = 0; size < whole.size(); ++size) {
    const Bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK_FALSE(read_all_facts({part}, 0, 2).ok());
  }
  Bytes longer = whole;
  longer.push_back(std::byte{0});
  CHECK_FALSE(read_all_facts({longer}, 0, 2).ok());
  CHECK_FALSE(read_all_facts({whole}, 0, 3).ok());
}

}  // namespace ronde
