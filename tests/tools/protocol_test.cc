#include "ronderun/protocol.h"

#include <catch2/catch.hpp>

using namespace ronde::launcher;
using ronde::Bytes;
using ronde::ByteView;

namespace {

ByteView view(std::string_view text) { return std::as_bytes(std::span(text)); }

Job example() {
  Job job;
  job.nranks = 8;
  job.first_rank = 3;
  job.count = 2;
  job.grace_ms = 5000;
  job.input = InputMode::forwarded;
  job.host = "node1";
  job.id_text = "ronde1:00";
  job.working_directory = "/tmp";
  job.command = {"prog", "", "a b"};
  job.environment = {"A=1", "B="};
  return job;
}

}  // namespace

TEST_CASE("a job arrives as it was sent") {
  const auto job = example();
  const auto copy = decode_job(encode_job(job));
  REQUIRE(copy.has_value());
  CHECK(copy->nranks == 8);
  CHECK(copy->first_rank == 3);
  CHECK(copy->count == 2);
  CHECK(copy->grace_ms == 5000);
  CHECK(copy->input == InputMode::forwarded);
  CHECK(copy->host == job.host);
  CHECK(copy->id_text == job.id_text);
  CHECK(copy->working_directory == job.working_directory);
  CHECK(copy->command == job.command);
  CHECK(copy->environment == job.environment);
}

TEST_CASE("a damaged job is refused") {
  const auto bytes = encode_job(example());
  for (size_t size = 0; size < bytes.size(); ++size) CHECK_FALSE(decode_job(ByteView(bytes).first(size)).has_value());
  auto longer = bytes;
  longer.push_back(std::byte{0});
  CHECK_FALSE(decode_job(longer).has_value());
}

TEST_CASE("frames are found in any cut of the stream") {
  Bytes stream;
  for (const auto& frame : {make_frame(FrameType::output, view("hello")), make_frame(FrameType::done),
                            make_frame(FrameType::warning, view(std::string(1000, 'x')))}) {
    stream.insert(stream.end(), frame.begin(), frame.end());
  }
  for (size_t cut = 1; cut < stream.size(); cut += 3) {
    FrameParser parser;
    std::vector<std::pair<FrameType, size_t>> seen;
    for (size_t at = 0; at < stream.size(); at += cut) {
      parser.feed(ByteView(stream).subspan(at, std::min(cut, stream.size() - at)));
      while (const auto frame = parser.next()) seen.emplace_back(frame->type, frame->body.size());
    }
    REQUIRE(seen == std::vector<std::pair<FrameType, size_t>>{
                        {FrameType::output, 5}, {FrameType::done, 0}, {FrameType::warning, 1000}});
  }
}

TEST_CASE("a frame of impossible size breaks the stream") {
  for (const uint32_t length : {uint32_t{0}, uint32_t{0xffffffff}}) {
    ronde::Writer writer;
    writer.number(length).number(uint8_t{1});
    FrameParser parser;
    parser.feed(writer.view());
    CHECK_FALSE(parser.next().has_value());
    CHECK(parser.broken());
  }
}

TEST_CASE("the greeting is found behind noise") {
  using State = GreetingFinder::State;
  for (const std::string noise : {"", "Welcome\n", "no end", "a\n\nronderun \nb"}) {
    const auto stream = noise + greeting() + "rest";
    for (const size_t cut : {size_t{1}, size_t{7}, stream.size()}) {
      GreetingFinder finder;
      size_t at = 0;
      while (at < stream.size() && finder.state() == State::searching) {
        at += finder.feed(view(std::string_view(stream).substr(at, cut)));
      }
      CHECK(finder.state() == State::found);
      CHECK(stream.substr(at) == "rest");
    }
  }
  GreetingFinder other;
  other.feed(view("ronderun-agent 0 0.0.0\n"));
  CHECK(other.state() == State::mismatch);
  GreetingFinder noisy;
  noisy.feed(view(std::string(2 << 20, 'x')));
  CHECK(noisy.state() == State::hopeless);
}
