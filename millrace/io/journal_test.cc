// What a journal promises, seen by who asks it to keep something.
#include "millrace/io/journal.h"

#include <doctest/doctest.h>

#include "millrace/base/testing/scratch_directory.h"
#include "millrace/io/local_files.h"
#include "millrace/io/testing/failing_disk.h"
#include "millrace/io/testing/ledger.h"

namespace millrace::io {
namespace {

using testing::FailingDisk;
using testing::LedgerLife;

std::vector<int> numbers_up_to(int end) {
  std::vector<int> all;
  for (int number = 0; number < end; ++number) all.push_back(number);
  return all;
}

TEST_CASE("what was acknowledged is there in the next life") {
  FailingDisk disk;
  {
    LedgerLife life(disk);
    REQUIRE(life.start().ok());
    CHECK(life.journal().found().generation == 0);
    for (const int number : numbers_up_to(5)) life.write(number);
    CHECK(life.acknowledged().empty());
    life.turn();
    CHECK(life.acknowledged() == numbers_up_to(5));
  }
  LedgerLife next(disk);
  REQUIRE(next.start().ok());
  CHECK(next.numbers() == numbers_up_to(5));
  CHECK(next.journal().found().ended_well);
  CHECK(next.journal().found().records == 5);
  CHECK(disk.names() == std::set<std::string>{"state/journal-0000000000000002"});
}

TEST_CASE("all who wait at one time are kept by one write and one sync") {
  FailingDisk disk;
  LedgerLife life(disk);
  REQUIRE(life.start().ok());
  const auto cost_of = [&](int first, int end) {
    const int before = disk.changes();
    for (int number = first; number < end; ++number) life.write(number);
    life.turn();
    return disk.changes() - before;
  };
  const int one = cost_of(0, 1);
  CHECK(cost_of(1, 51) == one);
  CHECK(life.acknowledged() == numbers_up_to(51));
}

TEST_CASE("what asks and changed nothing costs nothing") {
  FailingDisk disk;
  LedgerLife life(disk);
  REQUIRE(life.start().ok());
  const int before = disk.changes();
  bool is_kept = false;
  life.journal().commit(Done<void>([&](Status status) { is_kept = status.ok(); }));
  life.turn();
  CHECK(is_kept);
  CHECK(disk.changes() == before);
}

TEST_CASE("a journal stays within its bounds however long it is written") {
  FailingDisk disk;
  LedgerLife life(disk, /*spare_bytes=*/500);
  REQUIRE(life.start().ok());
  size_t longest = 0;
  for (int number = 0; number < 2'000; ++number) {
    life.write(number);
    life.turn();
    const std::set<std::string> names = disk.names();
    REQUIRE(names.size() == 1);
    longest = std::max(longest, disk.bytes(*names.begin()).size());
  }
  // Of the last snapshot each number takes some 12 bytes, and a group 40.
  CHECK(longest < 2 * 12 * 2'000 + 1'000);
  CHECK(life.acknowledged() == numbers_up_to(2'000));
  CHECK(LedgerLife(disk).start().code() == Code::failed_precondition);  // it is locked
  FailingDisk left = disk.after_kill();
  LedgerLife next(left);
  REQUIRE(next.start().ok());
  CHECK(next.numbers() == numbers_up_to(2'000));
}

TEST_CASE("a full disk refuses those who wait, with words, and is used again when it has room") {
  FailingDisk disk;
  LedgerLife life(disk);
  REQUIRE(life.start().ok());
  life.write(0);
  life.turn();
  disk.break_after(0, /*torn=*/10);
  for (const int number : {1, 2}) {
    life.write(number);
    life.turn();
  }
  CHECK(life.refused() == std::vector<int>{1, 2});
  CHECK(life.last_refusal().code() == Code::resource_exhausted);
  CHECK(life.last_refusal().message() == "keeping the state in 'state': No space left on device");
  {
    FailingDisk left = disk.after_kill();
    LedgerLife other(left);
    REQUIRE(other.start().ok());
    CHECK(other.numbers() == numbers_up_to(1));
    CHECK(other.journal().found().torn_bytes == 10);
  }
  disk.mend();
  life.write(3);
  life.turn();
  CHECK(life.acknowledged() == std::vector<int>{0, 3});
  FailingDisk left = disk.after_kill();
  LedgerLife next(left);
  REQUIRE(next.start().ok());
  CHECK(next.numbers() == numbers_up_to(4));
}

TEST_CASE("a closed journal has kept what was asked for, and refuses more with the reason") {
  FailingDisk disk;
  LedgerLife life(disk);
  REQUIRE(life.start().ok());
  REQUIRE(life.close().ok());
  life.write(1);
  CHECK(life.last_refusal() == cancelled("the test is over"));
  CHECK(life.close().ok());
}

TEST_CASE("on the local disk a folder is one process's, and is made with all above it") {
  const testing::ScratchDirectory scratch;
  LocalFiles files;
  SeededRandom random(1);
  testing::HeldTasks tasks;
  testing::Ledger ledger;
  const JournalMachine machine{files, random, tasks, tasks};
  const JournalOptions options{.folder = scratch.path("a/b/c")};
  const auto replay = [&](std::string_view record) { return ledger.replay(record); };
  {
    const auto journal = Journal::open(machine, options, ledger, replay).value();
    const auto second = Journal::open(machine, options, ledger, replay);
    CHECK(second.status().code() == Code::failed_precondition);
    CHECK(second.status().message() == options.folder + "/lock; another process has it locked");
    ledger.write(7);
    bool is_kept = false;
    journal->commit(Done<void>([&](Status status) { is_kept = status.ok(); }));
    tasks.run();
    CHECK(is_kept);
  }
  testing::Ledger again;
  const auto journal = Journal::open(machine, options, again, [&](std::string_view record) {
                         return again.replay(record);
                       }).value();
  CHECK(again.numbers() == std::vector<int>{7});
  CHECK(journal->found().generation == 1);
}

TEST_CASE("a folder that can't be made, or is a file, is refused with its name") {
  const testing::ScratchDirectory scratch;
  LocalFiles files;
  REQUIRE((*files.create(scratch.path("file")))->close().ok());
  SeededRandom random(1);
  testing::HeldTasks tasks;
  testing::Ledger ledger;
  for (const std::string& folder : {scratch.path("file"), scratch.path("file/below")}) {
    const Status status = Journal::open({files, random, tasks, tasks}, {.folder = folder}, ledger,
                                        [](std::string_view) { return Status(); })
                              .status();
    CHECK(status.code() == Code::failed_precondition);
    CHECK(status.message().find(scratch.path("file")) != std::string::npos);
  }
}

}  // namespace
}  // namespace millrace::io
