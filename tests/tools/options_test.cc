#include "ronderun/options.h"

#include <catch2/catch.hpp>

using namespace ronde::launcher;

namespace {

Options accepted(const std::vector<std::string>& arguments) {
  const auto result = parse_options(arguments, "me");
  const auto* refusal = std::get_if<Refusal>(&result);
  INFO((refusal != nullptr ? refusal->error : std::string()));
  REQUIRE(refusal == nullptr);
  return std::get<Options>(result);
}

Refusal refused(const std::vector<std::string>& arguments) {
  const auto result = parse_options(arguments, "me");
  REQUIRE(std::holds_alternative<Refusal>(result));
  return std::get<Refusal>(result);
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("everything after the program belongs to the program") {
  const auto options = accepted({"-n", "2", "--prefix", "prog", "-n", "7", "--", "--help", ""});
  CHECK(options.nranks == 2);
  CHECK(options.prefix);
  CHECK(options.command == Words{"prog", "-n", "7", "--", "--help", ""});
  CHECK(accepted({"-n", "2", "--", "-x"}).command == Words{"-x"});
}

TEST_CASE("options and their defaults") {
  auto options = accepted({"-n", "3", "prog"});
  CHECK(options.placements == std::vector<Placement>{{"me", true, 0, 3}});
  CHECK(options.rsh == Words{"ssh"});
  CHECK(options.grace == ronde::Milliseconds(5000));
  CHECK_FALSE(options.timeout.has_value());
  options = accepted({"--nranks=3", "-H", "a:2,b:2", "--rsh", "ssh -p 22", "--timeout", "1.5", "--grace", "0", "-x",
                      "A=1=2", "--env", "B=", "prog"});
  CHECK(options.placements == std::vector<Placement>{{"a", false, 0, 2}, {"b", false, 2, 1}});
  CHECK(options.rsh == Words{"ssh", "-p", "22"});
  CHECK(options.timeout == ronde::Milliseconds(1500));
  CHECK(options.grace == ronde::Milliseconds(0));
  CHECK(options.environment == std::vector<std::pair<std::string, std::string>>{{"A", "1=2"}, {"B", ""}});
  CHECK(accepted({"-H", "a:2,b", "prog"}).nranks == 3);
}

TEST_CASE("a wrong command line is refused with its reason") {
  const std::vector<std::pair<Words, std::string>> cases{
      {{}, "usage"},
      {{"-n", "2"}, "which program"},
      {{"prog"}, "how many ranks"},
      {{"-n", "0", "p"}, "'0'"},
      {{"-n", "2", "--no-such", "p"}, "'--no-such'"},
      {{"-np", "2", "p"}, "-np"},
      {{"-n", "2", "--timeout", "0", "p"}, "--timeout"},
      {{"-n", "2", "--timeout", "1s", "p"}, "'1s'"},
      {{"-n", "2", "--timeout", "nan", "p"}, "'nan'"},
      {{"-n", "2", "--grace", "-1", "p"}, "'-1'"},
      {{"-n", "2", "--grace", "86401", "p"}, "--grace wants a number of seconds from 0 to 86400"},
      {{"-n", "2", "--rsh", "", "p"}, "--rsh"},
      {{"-n", "2", "--rsh", "ssh 'x", "p"}, "never closed"},
      {{"-n", "2", "--env", "=1", "p"}, "=1"},
      {{"-n", "2", "--env", "RONDE_NO_SUCH_VARIABLE", "p"}, "RONDE_NO_SUCH_VARIABLE"},
      {{"-n", "2", "-H", "a", "p"}, "do not fit"},
      {{"-H", "a", "--hostfile", "f", "p"}, "both"},
      {{"--hostfile", "/no/such/file", "p"}, "/no/such/file"},
  };
  for (const auto& [arguments, words] : cases) {
    const auto refusal = refused(arguments);
    INFO(refusal.error);
    CHECK(refusal.exit_code == 2);
    CHECK(refusal.out.empty());
    CHECK(refusal.error.find(words) != std::string::npos);
  }
}

TEST_CASE("help and version go to standard output") {
  CHECK(refused({"--help"}).exit_code == 0);
  CHECK(refused({"--help"}).out.find("--nranks") != std::string::npos);
  CHECK(refused({"--version"}).out.find("ronderun ") == 0);
}

TEST_CASE("words of a command are split as by a shell") {
  CHECK(*split_words("ip netns exec") == Words{"ip", "netns", "exec"});
  CHECK(*split_words("  a\t'b c'  \"d \\\" e\" f\\ g '' 'h'i ") == Words{"a", "b c", "d \" e", "f g", "", "hi"});
}

TEST_CASE("only words that need it are quoted") {
  CHECK(quote_word("/usr/bin/ronderun") == "/usr/bin/ronderun");
  CHECK(quote_word("a b") == "'a b'");
  CHECK(quote_word("it's") == "'it'\\''s'");
  CHECK(quote_word("$(x)") == "'$(x)'");
  CHECK(quote_word("~x") == "'~x'");
  CHECK(quote_word("") == "''");
}
