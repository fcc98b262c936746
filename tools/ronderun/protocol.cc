#include "ronderun/protocol.h"

#include <fmt/format.h>

#include "ronde/ronde.h"

namespace ronde::launcher {
namespace {

constexpr std::string_view kGreetingWord = "ronderun-agent ";
constexpr size_t kMaxNoiseBytes = 1 << 20;

}  // namespace

void write_list(Writer& writer, const std::vector<std::string>& list) {
  writer.number(static_cast<uint32_t>(list.size()));
  for (const auto& item : list) writer.text(item);
}

std::vector<std::string> read_list(Reader& reader) {
  std::vector<std::string> list;
  const auto size = reader.number<uint32_t>();
  for (uint32_t i = 0; i < size && reader.ok(); ++i) list.push_back(reader.text());
  return list;
}

Bytes encode_job(const Job& job) {
  Writer writer;
  writer.number(job.nranks).number(job.first_rank).number(job.count).number(job.grace_ms).number(job.input);
  writer.text(job.host).text(job.id_text).text(job.working_directory);
  write_list(writer, job.command);
  write_list(writer, job.environment);
  return writer.take();
}

std::optional<Job> decode_job(ByteView body) {
  Reader reader(body);
  Job job;
  job.nranks = reader.number<uint32_t>();
  job.first_rank = reader.number<uint32_t>();
  job.count = reader.number<uint32_t>();
  job.grace_ms = reader.number<uint32_t>();
  job.input = reader.number<InputMode>();
  job.host = reader.text();
  job.id_text = reader.text();
  job.working_directory = reader.text();
  job.command = read_list(reader);
  job.environment = read_list(reader);
  if (!reader.complete() || job.command.empty()) return std::nullopt;
  return job;
}

Bytes make_frame(FrameType type, ByteView body) {
  Writer writer;
  writer.number(static_cast<uint32_t>(body.size() + 1)).number(type).raw(body.data(), body.size());
  return writer.take();
}

void FrameParser::feed(ByteView bytes) {
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<ptrdiff_t>(read_));
  read_ = 0;
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

std::optional<Frame> FrameParser::next() {
  const auto left = ByteView(buffer_).subspan(read_);
  if (broken_ || left.size() < sizeof(uint32_t)) return std::nullopt;
  Reader reader(left);
  const auto length = reader.number<uint32_t>();
  if (length == 0 || length > kMaxFrameBytes) {
    broken_ = true;
    return std::nullopt;
  }
  if (left.size() - sizeof length < length) return std::nullopt;
  read_ += sizeof length + length;
  const auto body = left.subspan(sizeof length + 1, length - 1);
  return Frame{static_cast<FrameType>(left[sizeof length]), body};
}

std::string greeting() {
  return fmt::format("{}{} {}.{}.{}\n", kGreetingWord, kProtocol, RONDE_MAJOR, RONDE_MINOR, RONDE_PATCH);
}

size_t GreetingFinder::feed(ByteView bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    const char c = static_cast<char>(bytes[i]);
    if (++seen_ > kMaxNoiseBytes) {
      state_ = State::hopeless;
      return i;
    }
    if (c != '\n') {
      line_ += c;
      continue;
    }
    // Noise without a line's end may stand in front of the greeting.
    if (const auto begin = line_.find(kGreetingWord); begin != std::string::npos) {
      line_.erase(0, begin);
      state_ = line_ + "\n" == greeting() ? State::found : State::mismatch;
      return i + 1;
    }
    line_.clear();
  }
  return bytes.size();
}

}  // namespace ronde::launcher
