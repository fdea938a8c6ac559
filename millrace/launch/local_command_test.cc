#include "millrace/launch/local_command.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

constexpr std::chrono::seconds kLong{60};  // nothing here takes so long
constexpr std::chrono::milliseconds kShort{50};

Result<std::unique_ptr<PipedCommand>> start(const std::string& script) {
  return PipedCommand::start({"sh", "-c", script});
}

TEST_CASE("a program with pipes takes more than a pipe holds, and is heard to its end") {
  const auto counts = start("wc -c");
  REQUIRE(counts.ok());
  CHECK((*counts)->write(std::string(1 << 20, 'x'), kLong, Clock::real()).ok());
  (*counts)->close_input();
  std::string said;
  for (;;) {
    const Result<std::string> more = (*counts)->read(kLong, Clock::real());
    REQUIRE(more.ok());
    if (more->empty()) break;
    said += *more;
  }
  CHECK(said == "1048576\n");
  CHECK((*counts)->finish().code == 0);
}

TEST_CASE("a program with pipes that takes nothing is waited for as long as told") {
  const auto sleeps = start("exec sleep 600");
  REQUIRE(sleeps.ok());
  const Status status = (*sleeps)->write(std::string(1 << 20, 'x'), kShort, Clock::real());
  CHECK(status.code() == Code::deadline_exceeded);
  CHECK((*sleeps)->read(kShort, Clock::real()).status().code() == Code::deadline_exceeded);
}

TEST_CASE("what a program with pipes does not read is an error of the writer, not its end") {
  const auto ends = start("exit 3");
  REQUIRE(ends.ok());
  const Status status = (*ends)->write(std::string(1 << 20, 'x'), kLong, Clock::real());
  CHECK(status.code() == Code::unavailable);
  CHECK((*ends)->finish().code == 3);
}

TEST_CASE("of what a program says on standard error the last is kept") {
  const auto scolds = start("yes scolding | head -n 100000 >&2; echo why >&2; exit 7");
  REQUIRE(scolds.ok());
  (*scolds)->close_input();
  const Result<std::string> nothing = (*scolds)->read(kLong, Clock::real());
  REQUIRE(nothing.ok());
  CHECK(nothing->empty());
  const CommandOutput output = (*scolds)->finish();
  CHECK(output.code == 7);
  CHECK(output.err.size() <= 64 * 1024);
  CHECK(output.err.ends_with("scolding\nwhy\n"));
}

TEST_CASE("a program that is not there is told from one that fails") {
  const auto absent = run_command({"no-such-program-of-millrace"}, "", kLong, Clock::real());
  CHECK(absent.status().code() == Code::not_found);
  const auto fails = run_command({"sh", "-c", "echo no >&2; exit 4"}, "", kLong, Clock::real());
  REQUIRE(fails.ok());
  CHECK(fails->code == 4);
  CHECK(fails->err == "no\n");
}

}  // namespace
}  // namespace millrace
