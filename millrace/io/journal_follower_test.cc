// A journal whose groups go to a second place, too.
#include <utility>

#include <doctest/doctest.h>

#include "millrace/io/testing/failing_disk.h"
#include "millrace/io/testing/ledger.h"

namespace millrace::io {
namespace {

using testing::FailingDisk;
using testing::HeldTasks;
using testing::Ledger;
using GroupExtent = JournalGroup::Extent;

// Keeps what it is told, and acknowledges when the test says so.
class HeldFollower final : public JournalFollower {
 public:
  explicit HeldFollower(const FailingDisk& disk) : disk(disk) {}
  void attach(Journal* journal) override { attached = journal; }
  GroupExtent wants() override { return wanted; }
  std::string mark() override { return "7777"; }
  void begins(JournalGroup group) override {
    groups.push_back(std::move(group));
    syncs_before = disk.changes();
  }
  void wrote(const Status& kept, Done<void> acknowledge) override {
    if (!kept.ok()) return acknowledge(kept);
    waiting.push_back(std::move(acknowledge));
  }

  const FailingDisk& disk;
  int syncs_before = 0;  // what the disk had done when the last group began
  Journal* attached = nullptr;
  GroupExtent wanted = GroupExtent::unknown;
  std::vector<JournalGroup> groups;
  std::vector<Done<void>> waiting;
};

struct FollowedLedger {
  Status start() {
    MR_ASSIGN(
        journal,
        Journal::open({disk, random, tasks, tasks}, {.folder = "state", .follower = &follower},
                      ledger, [this](std::string_view record) { return ledger.replay(record); }));
    return {};
  }
  void write(int number) {
    ledger.write(number);
    journal->commit(Done<void>([this, number](const Status& status) {
      (status.ok() ? acknowledged : refused).push_back(number);
    }));
    tasks.run();
  }
  static std::string records(std::initializer_list<std::string_view> each) {
    std::string all;
    for (const std::string_view record : each) put_record(&all, record);
    return all;
  }

  std::vector<int> acknowledged, refused;  // first: what is dropped at the end comes here, too
  FailingDisk disk;
  SeededRandom random{5};
  HeldTasks tasks;
  Ledger ledger;
  HeldFollower follower{disk};
  std::unique_ptr<Journal> journal;
};

TEST_CASE("what follows a journal gets each group, and says when it is acknowledged") {
  FollowedLedger life;
  REQUIRE(life.start().ok());
  CHECK(life.follower.attached == life.journal.get());
  life.follower.wanted = GroupExtent::changes;
  life.write(1);
  life.write(2);
  REQUIRE(life.follower.groups.size() == 2);
  CHECK(life.follower.groups[1].extent == GroupExtent::changes);
  CHECK(life.follower.groups[1].records == FollowedLedger::records({"2"}));
  CHECK(life.acknowledged.empty());

  life.follower.waiting[0](Status());
  life.tasks.run();
  CHECK(life.acknowledged == std::vector<int>{1});
  life.follower.waiting[1](unavailable("gone"));
  life.tasks.run();
  CHECK(life.refused == std::vector<int>{2});
}

TEST_CASE("what follows a journal hears of a group that changes nothing, too") {
  FollowedLedger life;
  REQUIRE(life.start().ok());
  life.follower.wanted = GroupExtent::changes;
  const int before = life.disk.changes();
  life.journal->commit(Done<void>([](const Status&) {}));
  life.tasks.run();
  REQUIRE(life.follower.groups.size() == 1);
  CHECK(life.follower.groups[0].records.empty());
  CHECK(life.disk.changes() == before);
}

TEST_CASE("what follows a journal gets all of the state when it wants that, with its mark") {
  FollowedLedger life;
  REQUIRE(life.start().ok());
  life.write(1);
  CHECK(life.follower.groups[0].extent == GroupExtent::unknown);
  CHECK(life.follower.groups[0].records.empty());
  life.follower.wanted = GroupExtent::all;
  life.write(2);
  CHECK(life.follower.groups[1].extent == GroupExtent::all);
  CHECK(life.follower.groups[1].records == FollowedLedger::records({"1", "2", "7777"}));
  // The mark is in the file as well.
  FailingDisk left = life.disk.after_kill();
  std::vector<std::string> found;
  CHECK(read_journal(left, "state", [&](std::string_view record) -> Status {
          found.emplace_back(record);
          return {};
        }).ok());
  CHECK(found == std::vector<std::string>{"1", "2", "7777"});
}

TEST_CASE(
    "what follows a journal gets changes before the disk has them, and all of the state after") {
  FollowedLedger life;
  REQUIRE(life.start().ok());
  life.follower.wanted = GroupExtent::changes;
  const int before = life.disk.changes();
  life.write(1);
  CHECK(life.follower.syncs_before == before);
  CHECK(life.disk.changes() > before);
  life.follower.wanted = GroupExtent::all;
  life.write(2);
  CHECK(life.follower.syncs_before == life.disk.changes());
}

TEST_CASE(
    "a group that the disk refuses is acknowledged to nobody; the next one is all of the state") {
  FollowedLedger life;
  REQUIRE(life.start().ok());
  life.follower.wanted = GroupExtent::changes;
  life.disk.break_after(0);
  life.write(1);
  CHECK(life.refused == std::vector<int>{1});
  CHECK(life.follower.groups.size() == 1);
  // All of the state is shown when the disk has it, and that refuses it.
  life.write(2);
  CHECK(life.refused == std::vector<int>{1, 2});
  CHECK(life.follower.groups.size() == 1);
  life.disk.mend();
  life.write(3);
  REQUIRE(life.follower.groups.size() == 2);
  CHECK(life.follower.groups[1].extent == GroupExtent::all);
  CHECK(life.follower.groups[1].records == FollowedLedger::records({"1", "2", "3", "7777"}));
  REQUIRE(life.follower.waiting.size() == 1);
}

}  // namespace
}  // namespace millrace::io
