// What ronderun and its agents say to each other over a pair of pipes: a greeting in text, then frames. Pure.
//
//   agent -> ronderun   "ronderun-agent PROTOCOL VERSION\n", perhaps after noise of the remote shell
//   both ways           frame {length u32 of what follows, type u8, body}
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/wire.h"

namespace ronde::launcher {

inline constexpr int kProtocol = 2;
inline constexpr size_t kMaxFrameBytes = 32 << 20;  // a job holds arguments and environment; the system allows 2 MiB

enum class FrameType : uint8_t {
  // to the agent
  job = 1,    // Job
  signal,     // i32: send this to the groups of all ranks
  terminate,  // i32 signal, u32 grace in ms: send it, and SIGKILL after the grace time
  kill,       // SIGKILL to all at once
  input,      // bytes for the standard input of rank 0
  input_end,
  ask,  // what do the ranks do?
  // from the agent
  started = 32,  // i32 rank, i32 pid
  output,        // i32 rank, i32 stream (1 or 2), the bytes
  output_end,    // i32 rank, i32 stream
  ended,         // i32 rank, i32 pid, i32 status as of waitpid, texts: what it did last, if it has failed
  failed,        // i32 exit code, text: the ranks could not be started here
  warning,       // text
  input_taken,   // i32 bytes: so many more may be sent
  doing,         // texts: the answer to ask, for one rank
  done,          // no process of the job is left here
};

enum class InputMode : uint8_t { none, inherited, forwarded };

// What an agent is told to run.
struct Job {
  uint32_t nranks = 0;
  uint32_t first_rank = 0;
  uint32_t count = 0;
  uint32_t grace_ms = 0;
  InputMode input = InputMode::none;  // of rank 0, where it is among these
  std::string host;                   // as the user calls it
  std::string id_text;                // secret
  std::string working_directory;
  std::vector<std::string> command;
  std::vector<std::string> environment;  // NAME=VALUE, added to the agent's own
};
Bytes encode_job(const Job& job);
std::optional<Job> decode_job(ByteView body);

// u32 how many, then each.
void write_list(Writer& writer, const std::vector<std::string>& list);
std::vector<std::string> read_list(Reader& reader);

Bytes make_frame(FrameType type, ByteView body = {});

struct Frame {
  FrameType type{};
  ByteView body;
};

// Cuts a stream into frames.
class FrameParser {
 public:
  void feed(ByteView bytes);
  // The next whole frame; its body is valid until the next call of feed.
  std::optional<Frame> next();
  [[nodiscard]] bool broken() const { return broken_; }  // a frame of impossible size: not our protocol

 private:
  Bytes buffer_;
  size_t read_ = 0;
  bool broken_ = false;
};

std::string greeting();

// Finds the greeting behind whatever a remote shell prints first.
class GreetingFinder {
 public:
  enum class State { searching, found, mismatch, hopeless };
  // Takes bytes; returns how many it used: what follows the greeting is left.
  size_t feed(ByteView bytes);
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const std::string& line() const { return line_; }  // the greeting that was found

 private:
  State state_ = State::searching;
  std::string line_;
  size_t seen_ = 0;
};

}  // namespace ronde::launcher
