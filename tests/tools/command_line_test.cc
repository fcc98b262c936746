#include "common/command_line.h"

#include <CLI/CLI.hpp>
#include <catch2/catch.hpp>

using namespace ronde::tools;

namespace {

struct Values {
  std::optional<std::string> time;
  bool flag = false;
  std::vector<std::string> files;
};

// Of a program with --time SECONDS, --flag and, if it has files, further words.
std::optional<Refusal> refusal_of(const std::vector<std::string>& words, Values& values, bool with_files = false) {
  CLI::App app("Does things.", "prog");
  add_help(app, "usage: prog\n", "The end.\n");
  app.add_option("-t,--time", values.time, "A time")->type_name("SECONDS");
  app.add_flag("--flag", values.flag, "A flag");
  if (with_files) app.add_option("files", values.files, "Files");
  return take_apart(app, words);
}

}  // namespace

TEST_CASE("a command line that is right fills the variables") {
  Values values;
  CHECK_FALSE(refusal_of({"--time", "3", "--flag", "a", "b"}, values, true).has_value());
  CHECK(values.time == "3");
  CHECK(values.flag);
  CHECK(values.files == std::vector<std::string>{"a", "b"});
  Values after_mark;
  CHECK_FALSE(refusal_of({"--", "a", "--flag"}, after_mark, true).has_value());
  CHECK(after_mark.files == std::vector<std::string>{"a", "--flag"});
}

TEST_CASE("each wrong command line is refused in the same form") {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"--no-such"}, "there is no option '--no-such'"},
      {{"--no-such=3", "-x"}, "there is no option '--no-such'"},
      {{"-x"}, "there is no option '-x'"},
      {{"word"}, "'word' belongs to no option"},
      {{"--", "word"}, "'word' belongs to no option"},
      {{"--flag=word"}, "--flag takes no value"},
      {{"--time"}, "--time wants SECONDS after it"},
      {{"-t", "1", "--time", "2"}, "--time is given more than once"},
  };
  for (const auto& [words, message] : cases) {
    Values values;
    const auto refusal = refusal_of(words, values);
    REQUIRE(refusal.has_value());
    CHECK(refusal->exit_code == 2);
    CHECK(refusal->out.empty());
    CHECK(refusal->error == "prog: " + message + "\nTry 'prog --help'.\n");
  }
  Values values;
  CHECK_THAT(refusal_of({"a", "--no-such"}, values, true)->error, Catch::Contains("'--no-such'"));
}

TEST_CASE("help and version are no errors") {
  Values values;
  const auto help = refusal_of({"--flag", "-h"}, values);
  REQUIRE(help.has_value());
  CHECK(help->exit_code == 0);
  CHECK(help->error.empty());
  CHECK_THAT(help->out,
             Catch::Contains("usage: prog\n") && Catch::Contains("--time SECONDS") && Catch::Contains("The end."));
  CHECK(refusal_of({"--version"}, values)->out == version_text("prog") + "\n");
}

TEST_CASE("numbers are whole and within their limits") {
  CHECK(*parse_number("x", "1", 1, 10) == 1);
  CHECK(*parse_number("x", "10", 1, 10) == 10);
  for (const char* text : {"", "0", "11", "-1", "+1", "1e9", "12abc", " 1", "1 ", "99999999999"}) {
    INFO(text);
    const auto number = parse_number("--nranks", text, 1, 10);
    REQUIRE_FALSE(number.ok());
    CHECK_THAT(number.status().message(), Catch::StartsWith("--nranks wants a whole number from 1 to 10, not '"));
  }
}

TEST_CASE("seconds may have fractions and are within their limits") {
  CHECK(*parse_seconds("x", "1.5", Zero::refused, 10) == ronde::Milliseconds(1500));
  CHECK(*parse_seconds("x", "0.0001", Zero::refused, 10) == ronde::Milliseconds(1));
  CHECK(*parse_seconds("x", "0", Zero::allowed, 10) == ronde::Milliseconds(0));
  CHECK(*parse_seconds("x", "10", Zero::allowed, 10) == ronde::Milliseconds(10'000));
  for (const char* text : {"", "0", "10.001", "-1", "nan", "inf", "1s", "1e1", " 1"}) {
    INFO(text);
    CHECK_FALSE(parse_seconds("x", text, Zero::refused, 10).ok());
  }
  CHECK(parse_seconds("--grace", "11", Zero::allowed, 10).status().message() ==
        "--grace wants a number of seconds from 0 to 10, not '11'");
  CHECK(parse_seconds("--timeout", "0", Zero::refused, 10).status().message() ==
        "--timeout wants a number of seconds above 0, at most 10, not '0'");
}

TEST_CASE("hosts are split from the number behind them") {
  const auto is = [](std::string_view text, std::string_view host, std::optional<std::string_view> number) {
    const auto split = split_host(text);
    return split.ok() && split->host == host && split->number == number;
  };
  CHECK(is("node1", "node1", std::nullopt));
  CHECK(is("node1:4", "node1", "4"));
  CHECK(is("node1:", "node1", ""));
  CHECK(is("fd00::1", "fd00::1", std::nullopt));
  CHECK(is("[fd00::1]", "fd00::1", std::nullopt));
  CHECK(is("[fd00::1]:4", "fd00::1", "4"));
  for (const char* text : {"", ":4", "[]:4", "[fd00::1", "[fd00::1]4"}) {
    INFO(text);
    CHECK_FALSE(split_host(text).ok());
  }
}
