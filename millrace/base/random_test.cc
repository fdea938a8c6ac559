#include "millrace/base/random.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include <doctest/doctest.h>

namespace millrace {
namespace {

TEST_CASE("processes that are forked off draw numbers of their own, again and again") {
  const std::unique_ptr<Random> random = make_random();
  static_cast<void>(random->next());
  std::array<uint64_t, 3> drawn{};
  for (uint64_t& number : drawn) {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const uint64_t mine = random->next();
      ::_exit(::write(ends[1], &mine, sizeof mine) == sizeof mine ? 0 : 1);
    }
    int status = 1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(status == 0);
    REQUIRE(::read(ends[0], &number, sizeof number) == sizeof number);
    for (const int end : ends) ::close(end);
  }
  const uint64_t mine = random->next();
  CHECK(drawn[0] != mine);
  CHECK(drawn[0] != drawn[1]);
  CHECK(drawn[1] != drawn[2]);
}

TEST_CASE("a seed gives the same numbers each time, and none of them is 0") {
  SeededRandom a(5), b(5);
  for (int i = 0; i < 100; ++i) {
    const uint64_t number = a.next();
    CHECK(number == b.next());
    CHECK(number != 0);
  }
}

}  // namespace
}  // namespace millrace
