// The symbolic machine for link steps.
#include <utility>

#include "schedule/contributions.h"
#include "schedule/slice_order.h"
#include "schedule/vector_clock.h"
#include "schedule/verifier.h"

namespace ronde::schedule {
namespace {

constexpr uint32_t kNotYet = UINT32_MAX;

// A slice in flight that lies in its sender's memory.
struct Reference {
  int reader = 0;
  bool of_output = false;       // else of the input
  uint32_t released = kNotYet;  // the reader's time
};

// One slice of one chunk in the memory of one position: its input and its output, which are the same memory in place.
struct Cell {
  Contributions output;
  bool written = false;            // output holds a value
  bool used = false;               // ... that a later step has read
  bool input_overwritten = false;  // in place only
  uint32_t input_read = 0;         // the time of the last read by the position itself
  std::vector<Reference> references;
};

struct Message {
  int chunk = 0;
  size_t slice = 0;
  bool final = false;
  Contributions value;
  VectorClock sent;
  VectorClock released;    // of the message that was here before, then of this one
  Cell* memory = nullptr;  // where it lies, unless in the slot
  size_t reference = 0;    // which of memory->references it is
};

struct Link {
  std::vector<Message> slots;
  size_t sent = 0;
  size_t received = 0;
  [[nodiscard]] Message& oldest() { return slots[received % slots.size()]; }
  [[nodiscard]] Message& next_free() { return slots[sent % slots.size()]; }
};

struct Whereabouts {
  std::vector<Visit> visits;
  size_t next = 0;
  VectorClock clock;
};

std::string number(size_t value) { return std::to_string(value); }

class LinkMachine {
 public:
  LinkMachine(const LinkProgram& program, const LinkConditions& conditions)
      : program_(program),
        conditions_(conditions),
        n_(program.positions),
        links_(count(n_) * count(n_)),
        cells_(count(n_) * count(chunks()) * conditions.slices) {}

  Verdict run();

 private:
  static size_t count(int value) { return static_cast<size_t>(value); }
  [[nodiscard]] int chunks() const { return program_.meaning.chunks; }
  Link& link(int sender, int receiver) { return links_[count(sender) * count(n_) + count(receiver)]; }
  Cell& cell(int position, int chunk, size_t slice) {
    return cells_[(count(position) * count(chunks()) + count(chunk)) * conditions_.slices + slice];
  }
  int peer(const Peers& peers, int i) const { return (peers.first + i) % n_; }
  [[nodiscard]] bool holds(int position, int chunk) const { return program_.meaning.holds(position, chunk); }
  Cell& overlaid(int position, int chunk, size_t slice) {
    return cell(position, program_.meaning.overlaid(position, chunk), slice);
  }

  void start();
  bool advance(int position);
  std::string malformed(int position, const LinkStep& step) const;
  std::string blocked(int position, const LinkStep& step);
  void perform(int position, const LinkStep& step, size_t slice);
  Contributions receive(int position, const LinkStep& step, size_t slice);
  void add_own(int position, const LinkStep& step, Cell& own, Contributions& value);
  void keep(int position, const LinkStep& step, size_t slice, const Contributions& value);
  void overwrite(int owner, int chunk, size_t slice, int writer);
  void release(int position, const LinkStep& step);
  void send(int position, const LinkStep& step, size_t slice, const Contributions& value);
  void check_end();
  void check_output(int position, int chunk, size_t slice);

  // The first failure is the one that is told.
  void fail(const std::string& why) {
    if (why_.empty()) why_ = why;
  }
  void fail_at(int position, const std::string& what) { fail(where(position) + what); }
  std::string where(int position) const {
    const Whereabouts& at = positions_[count(position)];
    const Visit& visit = at.visits[std::min(at.next, at.visits.size() - 1)];
    return "position " + std::to_string(position) + " step " + std::to_string(visit.step) + " slice " +
           number(visit.slice) + " ";
  }

  const LinkProgram& program_;
  const LinkConditions& conditions_;
  int n_;
  std::vector<Whereabouts> positions_;
  std::vector<Link> links_;
  std::vector<Cell> cells_;
  std::string why_;
};

Verdict LinkMachine::run() {
  start();
  bool progress = true;
  while (progress && why_.empty()) {
    progress = false;
    for (int position = 0; position < n_; ++position) {
      while (why_.empty() && advance(position)) progress = true;
    }
  }
  if (why_.empty()) check_end();
  return {why_.empty(), why_};
}

void LinkMachine::start() {
  for (int position = 0; position < n_; ++position) {
    const int steps = program_.steps(position);
    std::vector<Visit> visits;
    if (conditions_.order) {
      visits = conditions_.order(steps);
    } else {
      for (SliceOrder order(steps, conditions_.slices, conditions_.depth); !order.done(); order.next()) {
        visits.push_back({order.step(), order.slice()});
      }
    }
    if (visits.empty()) fail("position " + std::to_string(position) + " has no steps");
    positions_.push_back({std::move(visits), 0, VectorClock(n_)});
  }
}

// Does the next step of `position` if it can be done.
bool LinkMachine::advance(int position) {
  Whereabouts& me = positions_[count(position)];
  if (me.next == me.visits.size()) return false;
  const Visit visit = me.visits[me.next];
  const LinkStep step = program_.step(position, visit.step);
  if (const std::string fault = malformed(position, step); !fault.empty()) {
    fail_at(position, fault);
    return false;
  }
  if (!blocked(position, step).empty()) return false;
  perform(position, step, visit.slice);
  ++me.next;
  return true;
}

std::string LinkMachine::malformed(int position, const LinkStep& step) const {
  if (step.chunk < 0 || step.chunk >= chunks()) return "names a chunk that does not exist";
  for (const Peers& peers : {step.from, step.to}) {
    if (peers.count < 0 || peers.count > n_ || peers.first < 0) return "names peers that do not exist";
    for (int i = 0; i < peers.count; ++i) {
      if (peer(peers, i) == position) return "names itself as a peer";
    }
  }
  const bool receives = step.from.count > 0;
  if (!receives && !step.add_input && !step.from_output) return "has no value";
  if (step.from_output && step.keep && !step.add_input) return "keeps what its output holds already";
  if (receives && step.from_output) return "receives and starts from the output";
  if (!receives && step.receives_final) return "receives nothing, yet says it is final";
  if (step.to.count == 0 && !step.keep) return "neither keeps nor sends its value";
  return {};
}

// What `position` waits for; empty if nothing.
std::string LinkMachine::blocked(int position, const LinkStep& step) {
  for (int i = 0; i < step.from.count; ++i) {
    const int sender = peer(step.from, i);
    const Link& incoming = link(sender, position);
    if (incoming.sent == incoming.received) return "waits for a slice from " + std::to_string(sender);
  }
  for (int i = 0; i < step.to.count; ++i) {
    const int receiver = peer(step.to, i);
    const Link& outgoing = link(position, receiver);
    if (outgoing.sent - outgoing.received == conditions_.slots) {
      return "waits for a free slot to " + std::to_string(receiver);
    }
  }
  return {};
}

void LinkMachine::perform(int position, const LinkStep& step, size_t slice) {
  Whereabouts& me = positions_[count(position)];
  for (int i = 0; i < step.from.count; ++i) me.clock.join(link(peer(step.from, i), position).oldest().sent);
  for (int i = 0; i < step.to.count; ++i) {
    Link& outgoing = link(position, peer(step.to, i));
    if (outgoing.slots.empty())
      outgoing.slots.assign(conditions_.slots, {.sent = VectorClock(n_), .released = VectorClock(n_)});
    me.clock.join(outgoing.next_free().released);
  }
  me.clock.tick(position);

  Cell& own = cell(position, step.chunk, slice);
  Contributions value = receive(position, step, slice);
  add_own(position, step, own, value);
  if (step.keep) keep(position, step, slice, value);
  release(position, step);
  send(position, step, slice, value);
}

Contributions LinkMachine::receive(int position, const LinkStep& step, size_t slice) {
  Contributions sum;
  for (int i = 0; i < step.from.count; ++i) {
    const int sender = peer(step.from, i);
    const Message& message = link(sender, position).oldest();
    const std::string from = " from " + std::to_string(sender);
    if (message.chunk != step.chunk || message.slice != slice) {
      fail_at(position, "expects chunk " + std::to_string(step.chunk) + " and gets chunk " +
                            std::to_string(message.chunk) + " slice " + number(message.slice) + from);
    }
    if (message.final != step.receives_final) {
      fail_at(
          position,
          (message.final ? "takes a final slice for a partial one" : "takes a partial slice for a final one") + from);
    }
    sum.add(message.value);
  }
  return sum;
}

void LinkMachine::add_own(int position, const LinkStep& step, Cell& own, Contributions& value) {
  if (step.from_output) {
    if (!own.written) fail_at(position, "reads an output that was never written");
    own.used = true;
    value.add(own.output);
  }
  if (step.add_input) {
    if (program_.meaning.final_value(step.chunk).times(position) == 0)
      fail_at(position, "adds an input it does not have");
    if (own.input_overwritten) fail_at(position, "reads its input after it was overwritten in place");
    own.input_read = positions_[count(position)].clock.time(position);
    value.add(Contributions::of(position));
  }
}

void LinkMachine::keep(int position, const LinkStep& step, size_t slice, const Contributions& value) {
  Cell& own = cell(position, step.chunk, slice);
  if (!holds(position, step.chunk)) fail_at(position, "keeps what it has no output for");
  // Wrong even where it does no harm: the output is of the user's type, which a partial result need not fit.
  if (own.written && !own.used) fail_at(position, "overwrites an output that nobody has read");
  overwrite(position, step.chunk, slice, position);
  own.output = value;
  own.written = true;
  own.used = false;
}

// `writer` (the owner, or the sender of a final slice) writes into the output: nobody may still read there.
void LinkMachine::overwrite(int owner, int chunk, size_t slice, int writer) {
  const VectorClock& clock = positions_[count(writer)].clock;
  const Cell& target = cell(owner, chunk, slice);
  Cell& beneath = overlaid(owner, chunk, slice);
  const auto check_readers = [&](const Cell& of, bool outputs) {
    for (const Reference& reference : of.references) {
      if (reference.of_output != outputs) continue;
      if (reference.released != kNotYet && clock.has_seen(reference.reader, reference.released)) continue;
      fail_at(writer, "overwrites memory of " + std::to_string(owner) + " that " + std::to_string(reference.reader) +
                          " may still be reading");
    }
  };
  check_readers(target, true);
  if (!conditions_.in_place) return;
  check_readers(beneath, false);
  if (!clock.has_seen(owner, beneath.input_read)) {
    fail_at(writer, "overwrites input that " + std::to_string(owner) + " may still be reading");
  }
  beneath.input_overwritten = true;
}

void LinkMachine::release(int position, const LinkStep& step) {
  const VectorClock& clock = positions_[count(position)].clock;
  for (int i = 0; i < step.from.count; ++i) {
    Link& incoming = link(peer(step.from, i), position);
    Message& message = incoming.oldest();
    message.released = clock;
    if (message.memory != nullptr) message.memory->references[message.reference].released = clock.time(position);
    ++incoming.received;
  }
}

void LinkMachine::send(int position, const LinkStep& step, size_t slice, const Contributions& value) {
  if (step.to.count > 0 && step.sends_final != (value == program_.meaning.final_value(step.chunk))) {
    fail_at(position, step.sends_final ? "sends a partial slice as final" : "sends a final slice as partial");
  }
  const VectorClock& clock = positions_[count(position)].clock;
  Cell& own = cell(position, step.chunk, slice);
  const bool input_as_it_is = step.from.count == 0 && !step.from_output;
  const bool holds_chunk = holds(position, step.chunk);
  if (conditions_.user_memory && step.to.count > 0 && !input_as_it_is && !step.keep && holds_chunk) {
    // A partial result is sent from where the final one will be.
    overwrite(position, step.chunk, slice, position);
  }
  for (int i = 0; i < step.to.count; ++i) {
    const int receiver = peer(step.to, i);
    Link& outgoing = link(position, receiver);
    Message& message = outgoing.next_free();
    message.chunk = step.chunk;
    message.slice = slice;
    message.final = step.sends_final;
    message.value = value;
    message.sent = clock;
    message.memory = nullptr;
    if (conditions_.user_memory && (input_as_it_is || holds_chunk)) {
      message.memory = &own;
      message.reference = own.references.size();
      own.references.push_back({.reader = receiver, .of_output = !input_as_it_is});
    }
    ++outgoing.sent;
    if (conditions_.user_memory && message.final && holds(receiver, step.chunk))
      overwrite(receiver, step.chunk, slice, position);
  }
}

void LinkMachine::check_end() {
  for (int position = 0; position < n_; ++position) {
    const Whereabouts& at = positions_[count(position)];
    if (at.next == at.visits.size()) continue;
    fail("does not terminate: " + where(position) +
         blocked(position, program_.step(position, at.visits[at.next].step)));
  }
  for (int sender = 0; sender < n_; ++sender) {
    for (int receiver = 0; receiver < n_; ++receiver) {
      const Link& between = link(sender, receiver);
      if (between.sent == between.received) continue;
      fail("slices from " + std::to_string(sender) + " to " + std::to_string(receiver) + " that nobody receives");
    }
  }
  for (int position = 0; position < n_; ++position) {
    for (int chunk = 0; chunk < chunks(); ++chunk) {
      if (!holds(position, chunk)) continue;
      for (size_t slice = 0; slice < conditions_.slices; ++slice) check_output(position, chunk, slice);
    }
  }
}

void LinkMachine::check_output(int position, int chunk, size_t slice) {
  const Contributions& output = cell(position, chunk, slice).output;
  const Contributions wanted = program_.meaning.final_value(chunk);
  const int wrong = output.first_difference(wanted, n_);
  if (wrong == n_) return;
  const char* const how = output.times(wrong) == 0   ? "missing"
                          : wanted.times(wrong) == 0 ? "not wanted"
                                                     : "added twice";
  fail("position " + std::to_string(position) + " ends with chunk " + std::to_string(chunk) + " slice " +
       number(slice) + " in which the input of " + std::to_string(wrong) + " is " + how);
}

}  // namespace

Verdict verify_links(const LinkProgram& program, const LinkConditions& conditions) {
  if (program.positions < 1 || program.positions > Contributions::kMaxPositions) {
    return {false, "between 1 and " + std::to_string(Contributions::kMaxPositions) + " positions can be verified"};
  }
  if (program.meaning.chunks < 1 || conditions.slices < 1 || conditions.slots < 1 ||
      (conditions.depth < 1 && !conditions.order)) {
    return {false, "chunks, slices, slots and depth must be at least 1"};
  }
  return LinkMachine(program, conditions).run();
}

}  // namespace ronde::schedule
