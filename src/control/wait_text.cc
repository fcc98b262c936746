#include "control/wait_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bootstrap/messages.h"

namespace ronde {
namespace {

constexpr size_t kMostInText = 6;  // ranks that wait for each other

bool contains(const std::vector<uint32_t>& ranks, uint32_t rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

// What the note tells of this wait. All ranks that wait in a collective wait for the same ones.
const RankWait* own_wait(const LateNote& note, uint32_t rank, bool numbered, uint32_t sequence) {
  const auto found = std::find_if(note.waits.begin(), note.waits.end(), [&](const RankWait& wait) {
    return wait.call.numbered == numbered && wait.call.sequence == sequence && (numbered || wait.rank == rank);
  });
  return found == note.waits.end() ? nullptr : &*found;
}

const RankWait* wait_of(const LateNote& note, uint32_t rank) {
  const auto found =
      std::find_if(note.waits.begin(), note.waits.end(), [rank](const RankWait& wait) { return wait.rank == rank; });
  return found == note.waits.end() ? nullptr : &*found;
}

std::string call_text(const CallNote& call) {
  return call.numbered ? fmt::format("{} number {}", call.description, call.sequence) : call.description;
}

// Those it waits for that are to blame themselves; empty: none is.
std::string blamed_text(const LateNote& note, const RankWait& wait) {
  std::vector<uint32_t> behind;
  std::vector<uint32_t> silent;
  // Of the call that was asked about all of them are known, of others only some.
  const bool is_asked = note.numbered && wait.call.numbered && wait.call.sequence == note.sequence;
  for (const uint32_t rank : note.silent)
    if (is_asked || contains(wait.awaited, rank)) silent.push_back(rank);
  for (const uint32_t rank : note.behind)
    if ((is_asked || contains(wait.awaited, rank)) && wait_of(note, rank) == nullptr) behind.push_back(rank);
  std::string text;
  if (!behind.empty())
    text = fmt::format("{}, which {} not called {}", ranks_text(behind), behind.size() == 1 ? "has" : "have",
                       wait.call.numbered ? "it" : "the other part of it");
  if (!silent.empty())
    text += fmt::format("{}{}, which {} not answer (stopped, or out of reach)", text.empty() ? "" : ", and for ",
                        ranks_text(silent), silent.size() == 1 ? "does" : "do");
  return text;
}

// The way from the wait to the nearest one that waits for a rank to blame; if there is none, on until it is closed or
// known no further. The last one may be there twice.
std::vector<const RankWait*> way_from(const LateNote& note, const RankWait& start) {
  std::map<const RankWait*, const RankWait*> from{{&start, nullptr}};
  std::vector<const RankWait*> reached{&start};
  for (size_t i = 0; i < reached.size(); ++i) {
    if (!blamed_text(note, *reached[i]).empty()) {
      std::vector<const RankWait*> way;
      for (const RankWait* at = reached[i]; at != nullptr; at = from[at]) way.insert(way.begin(), at);
      return way;
    }
    for (const uint32_t rank : reached[i]->awaited) {
      const RankWait* next = wait_of(note, rank);
      if (next != nullptr && from.emplace(next, reached[i]).second) reached.push_back(next);
    }
  }
  std::vector<const RankWait*> way{&start};
  for (;;) {
    const RankWait* next = nullptr;
    for (const uint32_t rank : way.back()->awaited) {
      if (next == nullptr) next = wait_of(note, rank);
    }
    if (next == nullptr) return way;
    const bool closes = std::find(way.begin(), way.end(), next) != way.end();
    way.push_back(next);
    if (closes) return way;
  }
}

}  // namespace

bool concerns(const LateNote& note, uint32_t rank, bool numbered, uint32_t sequence) {
  return (numbered && note.numbered && note.sequence == sequence) ||
         own_wait(note, rank, numbered, sequence) != nullptr;
}

std::string awaited_text(const LateNote& note, uint32_t rank, bool numbered, uint32_t sequence,
                         const std::string& next) {
  const RankWait* start = own_wait(note, rank, numbered, sequence);
  if (start == nullptr) return next;
  if (start->awaited.empty())
    return next + (numbered ? " (all ranks have called it)" : " (the other part of it has been called)");
  const std::vector<const RankWait*> way = way_from(note, *start);
  const bool circle = way.size() > 1 && std::find(way.begin(), way.end() - 1, way.back()) != way.end() - 1;
  // A circle of collectives alone cannot be: one of them is the earliest.
  const size_t hops = std::min(way.size() - 1 - (circle ? 1 : 0), kMostInText);
  std::string text;
  for (size_t i = 1; i <= hops; ++i)
    text += fmt::format("rank {}, which waits in {} for ", way[i]->rank, call_text(way[i]->call));
  if (hops + 1 < way.size()) text += fmt::format("rank {}", way[hops + 1]->rank);
  if (circle) {
    if (way.size() - 2 > kMostInText) text += ", and so on";
    return text + ": a circle: put sends and receives that depend on each other into one group";
  }
  if (hops + 1 < way.size()) return text + ", and so on";
  const std::string blamed = blamed_text(note, *way.back());
  if (!blamed.empty()) return text + blamed;
  const std::vector<uint32_t>& rest = way.back()->awaited;
  if (text.empty()) return next;
  return text + (rest.empty() ? "another rank" : ranks_text(rest));
}

}  // namespace ronde
