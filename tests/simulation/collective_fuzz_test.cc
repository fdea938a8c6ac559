// Replicas that meet in collectives while random faults happen. More by hand:
// build/bin/simulate --collectives.
#include "tests/simulation/collective_fuzz.h"

#include <string>
#include <vector>

#include "tests/simulation/meetings.h"
#include <doctest/doctest.h>

#include "millrace/ops/all.h"

namespace millrace::simulation {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr uint64_t kCollectiveSeeds = 5;  // it makes them some fifty times slower
#else
constexpr uint64_t kCollectiveSeeds = 40;
#endif
constexpr double kCollectiveSeconds = 600;

std::string collective_transcript_of(const OpRegistry& ops, uint64_t seed) {
  std::string transcript;
  (void)fuzz_collectives(
      ops, {.seed = seed, .seconds = kCollectiveSeconds, .tell = [&](const std::string& line) {
              str_append(&transcript, line, "\n");
            }});
  return transcript;
}

TEST_CASE(
    "whatever happens to members of a group, they get the same or the cause, and meet again") {
  OpRegistry ops;
  REQUIRE(register_all_ops(ops).ok());
  uint64_t calls = 0, failed = 0;
  for (uint64_t seed = 1; seed <= kCollectiveSeeds; ++seed) {
    CAPTURE(seed);
    const FuzzOutcome outcome =
        fuzz_collectives(ops, {.seed = seed, .seconds = kCollectiveSeconds});
    calls += outcome.calls;
    failed += outcome.failed;
    CHECK(outcome.complaints == std::vector<std::string>{});
    if (!outcome.complaints.empty()) {
      MESSAGE(collective_transcript_of(ops, seed));
      break;
    }
  }
  // A fuzz in which nothing happens finds nothing.
  CHECK(calls > 300 * kCollectiveSeeds);
  CHECK(failed > 30 * kCollectiveSeeds);
}

TEST_CASE("a fuzz of collectives goes the same way twice, whether or not somebody reads it") {
  OpRegistry ops;
  REQUIRE(register_all_ops(ops).ok());
  const std::string transcript = collective_transcript_of(ops, 2);
  CHECK(transcript.size() > 10'000);
  CHECK(transcript == collective_transcript_of(ops, 2));
  const FuzzOutcome untold = fuzz_collectives(ops, {.seed = 2, .seconds = kCollectiveSeconds});
  const FuzzOutcome told = fuzz_collectives(
      ops, {.seed = 2, .seconds = kCollectiveSeconds, .tell = [](const std::string&) {}});
  CHECK(told.events == untold.events);
}

TEST_CASE("what members of a group get is what all of them brought to one step each") {
  using Kind = Meetings::Kind;
  Meetings meetings(2);
  const int64_t a = meetings.next(0), b = meetings.next(1), later = meetings.next(1);
  const auto row = [](int64_t x, int64_t y) { return Tensor::vector<int64_t>({x, y}); };
  const auto met = [&](size_t member, int64_t number, const std::vector<Kind>& kinds,
                       const std::vector<Tensor>& got) {
    return meetings.met(member, number, 0, 1, kinds, got);
  };
  CHECK(met(0, a, {Kind::ring}, {row(a, b)}).empty());
  CHECK(met(1, b, {Kind::ring}, {row(a, b)}).empty());
  CHECK(meetings.times_met(0) == 1);
  // Of another step than the one that it met; of none; of two; one who got something else.
  CHECK_FALSE(met(1, later, {Kind::ring}, {row(a, later)}).empty());
  CHECK_FALSE(met(1, later, {Kind::ring}, {row(77, later)}).empty());
  const int64_t c = meetings.next(0), d = meetings.next(1);
  CHECK_FALSE(met(0, c, {Kind::ring, Kind::gather}, {row(c, d), row(c, later)}).empty());
  CHECK_FALSE(met(0, c, {Kind::ring}, {row(a, d)}).empty());
  CHECK(met(1, d, {Kind::broadcast}, {Tensor::vector<int64_t>({c})}).empty());
  CHECK_FALSE(met(1, d, {Kind::broadcast}, {Tensor::vector<int64_t>({b})}).empty());
}

}  // namespace
}  // namespace millrace::simulation
