// The symbolic machine for window steps.
#include <utility>

#include "schedule/contributions.h"
#include "schedule/vector_clock.h"
#include "schedule/verifier.h"

namespace ronde::schedule {
namespace {

constexpr size_t kNothing = SIZE_MAX;

using Times = std::vector<uint32_t>;  // per position

// One slot of a window.
struct WindowSlot {
  size_t piece = kNothing;  // what lies here
  Times reads;              // the last of each position, of any part
  Times reads_before;       // ... of the pieces that lay here before
};

// One part of one slot. Only the owner of the window writes.
struct WindowPart {
  size_t piece = kNothing;  // what lies here
  bool combined = false;    // ... is the result, not the owner's input
  Contributions value;
  Times reads;  // the last of each position
};

struct Whereabouts {
  size_t next = 0;
  size_t steps = 0;
  size_t published = 0;
  size_t combined = 0;
  VectorClock clock;
  std::vector<VectorClock> at_publish;  // per piece
  std::vector<VectorClock> at_combine;
};

bool covers(WindowParts parts, int position, int part) {
  return parts == WindowParts::all || (parts == WindowParts::own) == (part == position);
}

class WindowMachine {
 public:
  WindowMachine(const WindowProgram& program, const WindowConditions& conditions)
      : program_(program), conditions_(conditions), n_(program.positions) {}

  Verdict run();

 private:
  static size_t count(int value) { return static_cast<size_t>(value); }
  WindowPart& window(int owner, size_t piece, int part) {
    return parts_[(count(owner) * conditions_.slots + piece % conditions_.slots) * count(n_) + count(part)];
  }
  WindowSlot& slot(int owner, size_t piece) {
    return slots_[count(owner) * conditions_.slots + piece % conditions_.slots];
  }
  Contributions& output(int position, size_t piece, int part) { return outputs_[place(position, piece, part)]; }
  std::vector<bool>::reference input_overwritten(int position, size_t piece, int part) {
    return input_overwritten_[place(position, piece, part)];
  }

  void start();
  bool advance(int position);
  std::string malformed(int position, const WindowStep& step) const;
  std::string blocked(const WindowStep& step) const;
  void publish(int position, const WindowStep& step);
  void combine(int position, const WindowStep& step);
  void fetch(int position, const WindowStep& step);
  void keep(int position, const WindowStep& step);
  Contributions own_input(int position, size_t piece, int part);
  void write_output(int position, size_t piece, int part, const Contributions& value);
  void write_window(int owner, size_t piece, int part, bool combined, const Contributions& value);
  const Contributions& read_lent(int reader, int owner, size_t piece, int part, bool combined);
  bool lends(int position) const { return conditions_.lends && conditions_.lends(position); }
  size_t place(int position, size_t piece, int part) const {
    return (count(position) * program_.pieces + piece) * count(n_) + count(part);
  }
  void check_all_read(int owner, const Times& reads);
  const Contributions& read_window(int reader, int owner, size_t piece, int part, bool combined);
  void check_end();
  void check_output(int position, size_t piece, int part);

  void fail(const std::string& why) {
    if (why_.empty()) why_ = why;
  }
  void fail_at(int position, const std::string& what) { fail(where(position) + what); }
  std::string where(int position) const {
    return "position " + std::to_string(position) + " step " + std::to_string(positions_[count(position)].next) + " ";
  }

  const WindowProgram& program_;
  const WindowConditions& conditions_;
  int n_;
  std::vector<Whereabouts> positions_;
  std::vector<WindowSlot> slots_;
  std::vector<WindowPart> parts_;
  std::vector<Contributions> outputs_;
  std::vector<bool> input_overwritten_;
  std::vector<Times> input_reads_;     // by others, where inputs are lent
  std::vector<Contributions> inputs_;  // by position
  std::string why_;
};

Verdict WindowMachine::run() {
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

void WindowMachine::start() {
  for (int position = 0; position < n_; ++position) {
    positions_.push_back({.steps = program_.steps(position),
                          .clock = VectorClock(n_),
                          .at_publish = {program_.pieces, VectorClock(n_)},
                          .at_combine = {program_.pieces, VectorClock(n_)}});
  }
  slots_.assign(count(n_) * conditions_.slots, {.reads = Times(count(n_)), .reads_before = Times(count(n_))});
  parts_.assign(slots_.size() * count(n_), {.reads = Times(count(n_))});
  outputs_.resize(count(n_) * program_.pieces * count(n_));
  input_overwritten_.resize(outputs_.size());
  if (!conditions_.lends) return;
  input_reads_.assign(outputs_.size(), Times(count(n_)));
  for (int position = 0; position < n_; ++position) inputs_.push_back(Contributions::of(position));
}

// Does the next step of `position` if it can be done.
bool WindowMachine::advance(int position) {
  Whereabouts& me = positions_[count(position)];
  if (me.next == me.steps) return false;
  const WindowStep step = program_.step(position, me.next);
  if (const std::string fault = malformed(position, step); !fault.empty()) {
    fail_at(position, fault);
    return false;
  }
  if (!blocked(step).empty()) return false;
  if (step.action == WindowAction::combine) {
    for (const Whereabouts& other : positions_) me.clock.join(other.at_publish[step.piece]);
  } else if (step.action == WindowAction::fetch) {
    const Whereabouts& peer = positions_[count(step.peer)];
    me.clock.join((step.as_published ? peer.at_publish : peer.at_combine)[step.piece]);
  }
  me.clock.tick(position);
  switch (step.action) {
    case WindowAction::publish: publish(position, step); break;
    case WindowAction::combine: combine(position, step); break;
    case WindowAction::fetch: fetch(position, step); break;
    case WindowAction::keep: keep(position, step); break;
  }
  ++me.next;
  return true;
}

std::string WindowMachine::malformed(int position, const WindowStep& step) const {
  const Whereabouts& me = positions_[count(position)];
  if (step.piece >= program_.pieces) return "names a piece that does not exist";
  switch (step.action) {
    case WindowAction::publish:
      if (step.piece != me.published) return "publishes pieces out of order";
      break;
    case WindowAction::combine:
      if (step.piece < me.combined) return "combines pieces out of order";
      break;
    case WindowAction::fetch:
      if (step.peer < 0 || step.peer >= n_ || step.peer == position) return "fetches from nobody else";
      break;
    case WindowAction::keep: break;
  }
  return {};
}

// What the step waits for; empty if nothing.
std::string WindowMachine::blocked(const WindowStep& step) const {
  if (step.action == WindowAction::publish || step.action == WindowAction::keep) return {};
  if (step.action == WindowAction::fetch) {
    const Whereabouts& peer = positions_[count(step.peer)];
    if ((step.as_published ? peer.published : peer.combined) > step.piece) return {};
    return "waits until " + std::to_string(step.peer) + (step.as_published ? " has published" : " has combined") +
           " piece " + std::to_string(step.piece);
  }
  for (int other = 0; other < n_; ++other) {
    if (positions_[count(other)].published > step.piece) continue;
    return "waits until " + std::to_string(other) + " has published piece " + std::to_string(step.piece);
  }
  return {};
}

void WindowMachine::publish(int position, const WindowStep& step) {
  for (int part = 0; part < n_; ++part) {
    if (!covers(step.parts, position, part) || lends(position)) continue;
    write_window(position, step.piece, part, false, own_input(position, step.piece, part));
  }
  Whereabouts& me = positions_[count(position)];
  me.at_publish[step.piece] = me.clock;
  ++me.published;
}

void WindowMachine::combine(int position, const WindowStep& step) {
  for (int part = 0; part < n_; ++part) {
    if (!covers(step.parts, position, part)) continue;
    Contributions sum = own_input(position, step.piece, part);
    for (int other = 0; other < n_; ++other) {
      if (other != position) sum.add(read_window(position, other, step.piece, part, false));
    }
    write_output(position, step.piece, part, sum);
    if (step.hand_out && !lends(position)) write_window(position, step.piece, part, true, sum);
  }
  Whereabouts& me = positions_[count(position)];
  me.at_combine[step.piece] = me.clock;
  me.combined = step.piece + 1;
}

void WindowMachine::fetch(int position, const WindowStep& step) {
  write_output(position, step.piece, step.peer,
               read_window(position, step.peer, step.piece, step.peer, !step.as_published));
}

void WindowMachine::keep(int position, const WindowStep& step) {
  write_output(position, step.piece, position, own_input(position, step.piece, position));
}

Contributions WindowMachine::own_input(int position, size_t piece, int part) {
  if (program_.meaning(piece).final_value(part).times(position) == 0)
    fail_at(position, "reads an input that it does not have");
  if (input_overwritten(position, piece, part)) fail_at(position, "reads its input after it was overwritten in place");
  return Contributions::of(position);
}

void WindowMachine::write_output(int position, size_t piece, int part, const Contributions& value) {
  Contributions& target = output(position, piece, part);
  if (!program_.meaning(piece).holds(position, part)) fail_at(position, "writes what it has no output for");
  if (!target.empty()) fail_at(position, "writes an output twice");
  target = value;
  // What is kept in place lies there already.
  if (!conditions_.in_place || value.first_difference(Contributions::of(position), n_) == n_) return;
  if (lends(position)) check_all_read(position, input_reads_[place(position, piece, part)]);
  input_overwritten(position, piece, part) = true;
}

void WindowMachine::check_all_read(int owner, const Times& reads) {
  const VectorClock& clock = positions_[count(owner)].clock;
  for (int reader = 0; reader < n_; ++reader) {
    if (clock.has_seen(reader, reads[count(reader)])) continue;
    fail_at(owner, "overwrites what " + std::to_string(reader) + " may still be reading");
  }
}

// The owner writes: all reads of what lies there must have happened before.
void WindowMachine::write_window(int owner, size_t piece, int part, bool combined, const Contributions& value) {
  WindowPart& target = window(owner, piece, part);
  WindowSlot& around = slot(owner, piece);
  if (around.piece != piece) {
    around.piece = piece;
    around.reads_before = around.reads;
  }
  check_all_read(owner, target.reads);
  if (!conditions_.fixed_parts) check_all_read(owner, around.reads_before);
  target.piece = piece;
  target.combined = combined;
  target.value = value;
}

// In the owner's user memory: its input, which is still there, or the result that it has combined.
const Contributions& WindowMachine::read_lent(int reader, int owner, size_t piece, int part, bool combined) {
  if (combined) {
    const Contributions& result = output(owner, piece, part);
    if (result.empty()) fail_at(reader, "wants a result from " + std::to_string(owner) + " that may not be there");
    return result;
  }
  if (input_overwritten(owner, piece, part))
    fail_at(reader, "wants an input of " + std::to_string(owner) + " that may be overwritten");
  input_reads_[place(owner, piece, part)][count(reader)] = positions_[count(reader)].clock.time(reader);
  return inputs_[count(owner)];
}

const Contributions& WindowMachine::read_window(int reader, int owner, size_t piece, int part, bool combined) {
  if (lends(owner)) return read_lent(reader, owner, piece, part, combined);
  WindowPart& source = window(owner, piece, part);
  WindowSlot& around = slot(owner, piece);
  if (source.piece != piece || source.combined != combined) {
    fail_at(reader, "wants piece " + std::to_string(piece) + " from " + std::to_string(owner) + ", where " +
                        (source.piece == kNothing ? "nothing" : "piece " + std::to_string(source.piece)) + " may lie");
  }
  if (!conditions_.fixed_parts && around.piece != piece) {
    fail_at(reader, "wants piece " + std::to_string(piece) + " from " + std::to_string(owner) +
                        ", where parts of piece " + std::to_string(around.piece) + " may lie");
  }
  source.reads[count(reader)] = around.reads[count(reader)] = positions_[count(reader)].clock.time(reader);
  return source.value;
}

void WindowMachine::check_end() {
  for (int position = 0; position < n_; ++position) {
    const Whereabouts& at = positions_[count(position)];
    if (at.next == at.steps) continue;
    fail("does not terminate: " + where(position) + blocked(program_.step(position, at.next)));
  }
  for (int position = 0; position < n_; ++position) {
    for (size_t piece = 0; piece < program_.pieces; ++piece) {
      for (int part = 0; part < n_; ++part) {
        if (program_.meaning(piece).holds(position, part)) check_output(position, piece, part);
      }
    }
  }
}

void WindowMachine::check_output(int position, size_t piece, int part) {
  const Contributions& value = output(position, piece, part);
  const int wrong = value.first_difference(program_.meaning(piece).final_value(part), n_);
  if (wrong == n_) return;
  fail("position " + std::to_string(position) + " ends with piece " + std::to_string(piece) + " part " +
       std::to_string(part) + " in which the input of " + std::to_string(wrong) + " is " +
       (value.times(wrong) == 0 ? "missing" : "added twice"));
}

}  // namespace

Verdict verify_windows(const WindowProgram& program, const WindowConditions& conditions) {
  if (program.positions < 1 || program.positions > Contributions::kMaxPositions) {
    return {false, "between 1 and " + std::to_string(Contributions::kMaxPositions) + " positions can be verified"};
  }
  if (program.pieces < 1 || conditions.slots < 1) return {false, "pieces and slots must be at least 1"};
  return WindowMachine(program, conditions).run();
}

}  // namespace ronde::schedule
