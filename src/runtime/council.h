// How the ranks of a communicator settle what they make of it: all-gathers, which are operations of the communicator.
// So their place among its operations, ranks that call something else, that are late or that die are everybody's to
// see, as in any collective.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "runtime/communicator.h"
#include "runtime/worker.h"

namespace ronde {

// A Status as the others hear it; a long text is cut.
struct Outcome {
  int32_t code = rondeSuccess;
  std::array<char, 508> text{};

  static Outcome of(const Status& status);
  // As the error of another rank: "rank 3 ... could not ...: text". What is wrong with the usage is so for all.
  [[nodiscard]] Status told_by(uint32_t rank, std::string_view could_not) const;
  [[nodiscard]] bool ok() const { return code == rondeSuccess; }
};

class Council {
 public:
  // Waits until the turn has come (null: nothing else is called). From then on to close() the communicator is this
  // thread's. Once `stop` is set it is given up: a rank that does not say its part cannot be waited for. Before the
  // turn has come, too: then nothing is heard.
  Council(Communicator& communicator, Turn* turn, Purpose purpose, std::shared_ptr<FailureState> stop);
  ~Council();  // without close(): the others wait for what this rank has not said, and the communicator is given up
  Council(const Council&) = delete;
  Council& operator=(const Council&) = delete;

  // What all say, by rank. An error is the communicator's.
  template <typename Word>
  Result<std::vector<Word>> hear(const Word& mine) {
    static_assert(std::has_unique_object_representations_v<Word>);  // no bytes that nobody has written
    std::vector<Word> all(static_cast<size_t>(communicator_.nranks()));
    RONDE_TRY(gather(std::as_bytes(std::span(&mine, 1)), all.data()));
    return all;
  }
  // All is said: the communicator goes on with what was called after this.
  void close();

 private:
  Status gather(ByteView mine, void* all);

  Communicator& communicator_;
  Turn* const turn_;
  const Purpose purpose_;
  const std::shared_ptr<FailureState> stop_;
  bool has_turn_ = true;
  bool closed_ = false;
};

// Who starts a communicator out of another one, and as what this rank is in it.
struct NewRanks {
  std::vector<uint32_t> members;  // in numbers of the communicator before; more may come from elsewhere
  int rank = 0;
  int nranks = 0;
};

// Starts it: all members have a start in which each can be told of what went wrong, or none has. Of the council, which
// all of its ranks leave here, it takes one round. where: the meeting point, or why there is none. options: without
// numbers, job and secret.
Result<std::unique_ptr<Communicator>> start_together(Process& process, Council& council, const NewRanks& ranks,
                                                     const Result<UniqueId>& where, CommunicatorOptions options,
                                                     RendezvousOptions meeting, Deadline deadline);
// The part in that of a rank that is no member of any.
Status let_others_start(Council& council);

}  // namespace ronde
