// One thing that was put on a stream, and the lists in which it stands on its way. What happens to it is the worker's.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <variant>

#include "base/shared_word.h"
#include "base/status.h"
#include "runtime/operation.h"

namespace ronde {

class Communicator;
class Stream;
struct StreamEntry;

// First in, first out, through links in the entries. Does not own them.
template <StreamEntry* StreamEntry::*kNext>
class EntryList {
 public:
  [[nodiscard]] bool empty() const { return first_ == nullptr; }
  [[nodiscard]] StreamEntry* first() const { return first_; }  // null: empty
  void push_back(StreamEntry& entry) {
    entry.*kNext = nullptr;
    (first_ == nullptr ? first_ : last_->*kNext) = &entry;
    last_ = &entry;
  }
  StreamEntry& pop_front() {
    StreamEntry& entry = *first_;
    first_ = entry.*kNext;
    return entry;
  }

 private:
  StreamEntry* first_ = nullptr;
  StreamEntry* last_ = nullptr;  // if there is a first
};

// Called with the first error of the operations between the function of this stream before and this one.
using HostFunction = std::function<void(const Status&)>;

// A moment in a stream that others wait for. Shared by the event, the entry that reaches it and those that wait.
struct EventRecord;

struct StreamEntry {
  struct Operation {
    Communicator* communicator;
    OperationArgs args;
  };
  struct Record {
    std::shared_ptr<EventRecord> record;
  };
  struct Wait {
    std::shared_ptr<EventRecord> record;
  };
  struct Function {
    HostFunction function;
    Status status;
    bool returned = false;  // it comes back to the worker when it has run
  };

  // A place among the operations of a communicator, see Turn.
  struct Hold {
    enum class Phase : uint8_t { waits, reached, passed_over };
    Communicator* communicator;
    std::shared_ptr<std::atomic<Phase>> phase;
    bool started = false;  // it comes back to the worker when it has ended
  };

  Stream* stream = nullptr;     // null: a hold
  StreamEntry* next = nullptr;  // in the inbox; then among those whose turn it is, or that wait for a record
  StreamEntry* next_of_stream = nullptr;
  StreamEntry* next_of_communicator = nullptr;
  std::variant<Operation, Record, Wait, Function, Hold> what;

  [[nodiscard]] Operation* operation() { return std::get_if<Operation>(&what); }
  [[nodiscard]] Hold* hold() { return std::get_if<Hold>(&what); }
  // In whose order it stands; null: in none's.
  [[nodiscard]] Communicator* communicator() {
    if (const Hold* held = hold()) return held->communicator;
    return operation() != nullptr ? operation()->communicator : nullptr;
  }
};

struct EventRecord {
  std::atomic<bool> reached{false};
  EntryList<&StreamEntry::next> waiting;  // the worker's
};

}  // namespace ronde
