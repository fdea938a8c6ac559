// Random programs over random faults, for as many seeds as a minute allows. More by hand:
// build/bin/simulate --help.
#include "tests/simulation/fuzz.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/ops/all.h"

namespace millrace::simulation {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr uint64_t kSeeds = 10;  // it makes them some fifty times slower
#else
constexpr uint64_t kSeeds = 200;
#endif
constexpr double kSeconds = 600;

std::string transcript_of(const OpRegistry& ops, uint64_t seed) {
  std::string transcript;
  (void)fuzz(ops, {.seed = seed, .seconds = kSeconds, .tell = [&](const std::string& line) {
                     str_append(&transcript, line, "\n");
                   }});
  return transcript;
}

TEST_CASE("whatever happens to a cluster, its clients are told the truth and nothing is left") {
  OpRegistry ops;
  REQUIRE(register_all_ops(ops).ok());
  uint64_t calls = 0, failed = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    CAPTURE(seed);
    const FuzzOutcome outcome = fuzz(ops, {.seed = seed, .seconds = kSeconds});
    calls += outcome.calls;
    failed += outcome.failed;
    CHECK(outcome.complaints == std::vector<std::string>{});
    if (!outcome.complaints.empty()) {
      MESSAGE(transcript_of(ops, seed));
      break;
    }
  }
  // A fuzz in which nothing happens finds nothing.
  CHECK(calls > 100 * kSeeds);
  CHECK(failed > 5 * kSeeds);
}

TEST_CASE("where nothing happens to the tasks, nothing fails but what was asked for in vain") {
  OpRegistry ops;
  REQUIRE(register_all_ops(ops).ok());
  const FuzzOutcome outcome =
      fuzz(ops, {.seed = 1, .seconds = kSeconds, .faults = FuzzOptions::Faults::none});
  CHECK(outcome.complaints == std::vector<std::string>{});
  CHECK(outcome.failed < outcome.calls / 4);
}

TEST_CASE("the same seed makes the same transcript, whether or not somebody reads it") {
  OpRegistry ops;
  REQUIRE(register_all_ops(ops).ok());
  const std::string transcript = transcript_of(ops, 3);
  CHECK(transcript.size() > 10'000);
  CHECK(transcript == transcript_of(ops, 3));
  const FuzzOutcome told =
      fuzz(ops, {.seed = 3, .seconds = kSeconds, .tell = [](const std::string&) {}});
  const FuzzOutcome untold = fuzz(ops, {.seed = 3, .seconds = kSeconds});
  CHECK(told.events == untold.events);
  CHECK(told.messages == untold.messages);
}

}  // namespace
}  // namespace millrace::simulation
