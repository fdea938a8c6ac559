// A journal on a disk that ends at every change, and tears what it was given: what is found after.
#include <doctest/doctest.h>

#include "millrace/io/testing/failing_disk.h"
#include "millrace/io/testing/ledger.h"

namespace millrace::io {
namespace {

using testing::FailingDisk;
using testing::LedgerLife;

constexpr uint64_t kSpare = 150;  // so that there is a new file every few groups
constexpr int kRounds = 14;

// Writes numbers in groups of one to three, from `next` on; the number after the last one.
int write_rounds(LedgerLife& life, int next) {
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i <= round % 3; ++i) life.write(next++);
    life.turn();
  }
  return next;
}

// Opens what is left; the numbers must be those from 0 on, each once, at least `least` and at most
// `most` of them.
size_t check_left(FailingDisk left, size_t least, size_t most) {
  LedgerLife life(left, kSpare);
  const Status started = life.start();
  REQUIRE_MESSAGE(started.ok(), started.to_string());
  const std::vector<int>& found = life.numbers();
  CHECK(found.size() >= least);
  CHECK(found.size() <= most);
  for (size_t i = 0; i < found.size(); ++i) REQUIRE(found[i] == static_cast<int>(i));
  return found.size();
}

int changes_of_a_life() {
  FailingDisk disk;
  LedgerLife life(disk, kSpare);
  REQUIRE(life.start().ok());
  write_rounds(life, 0);
  return disk.changes();
}

TEST_CASE("wherever the disk ends, what was acknowledged is found, each once") {
  const int changes = changes_of_a_life();
  REQUIRE(changes > 60);
  SeededRandom random(3);
  for (int until = 0; until < changes; ++until) {
    for (const size_t torn : {0, 1, 7, 20, 24, 40, 1000}) {
      CAPTURE(until);
      CAPTURE(torn);
      FailingDisk disk;
      disk.break_after(until, torn);
      LedgerLife life(disk, kSpare);
      const bool is_started = life.start().ok();
      int written = 0;
      if (is_started) written = write_rounds(life, 0);
      const auto most = static_cast<size_t>(written);
      const size_t least = life.acknowledged().size();
      CHECK(life.acknowledged().size() + life.refused().size() == most);
      check_left(disk.after_kill(), least, most);
      for (int i = 0; i < 4; ++i) check_left(disk.after_power_loss(random), least, most);
    }
  }
}

TEST_CASE("a disk that ends twice, the second time while the first is mended, loses nothing") {
  const int changes = changes_of_a_life();
  SeededRandom random(4);
  for (int until = 5; until < changes; until += 3) {
    for (int again = 0; again < 40; ++again) {
      CAPTURE(until);
      CAPTURE(again);
      FailingDisk first;
      first.break_after(until, random.next() % 60);
      size_t least = 0;
      int written = 0;
      {
        LedgerLife life(first, kSpare);
        if (life.start().ok()) written = write_rounds(life, 0);
        least = life.acknowledged().size();
      }
      FailingDisk second = again % 2 == 0 ? first.after_kill() : first.after_power_loss(random);
      second.break_after(again, random.next() % 60);
      LedgerLife life(second, kSpare);
      auto most = static_cast<size_t>(written);
      if (life.start().ok()) {
        least = life.numbers().size();
        most = static_cast<size_t>(write_rounds(life, static_cast<int>(least)));
        least += life.acknowledged().size();
      }
      check_left(second.after_kill(), least, most);
      check_left(second.after_power_loss(random), least, most);
    }
  }
}

TEST_CASE("a disk that has room again keeps what it had refused, once") {
  const int changes = changes_of_a_life();
  SeededRandom random(5);
  for (int until = 6; until < changes; ++until) {
    CAPTURE(until);
    FailingDisk disk;
    LedgerLife life(disk, kSpare);
    REQUIRE(life.start().ok());
    disk.break_after(until, random.next() % 60);
    int written = write_rounds(life, 0);
    disk.mend();
    life.write(written++);
    life.turn();
    REQUIRE(life.acknowledged().back() == written - 1);
    const auto all = static_cast<size_t>(written);
    check_left(disk.after_kill(), all, all);
    check_left(disk.after_power_loss(random), all, all);
  }
}

}  // namespace
}  // namespace millrace::io
