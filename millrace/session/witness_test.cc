#include "millrace/session/witness.h"

#include <optional>

#include <doctest/doctest.h>

#include "millrace/base/testing/held_tasks.h"
#include "millrace/base/testing/test_host.h"
#include "millrace/io/testing/failing_disk.h"

namespace millrace {
namespace {

using testing::FailingDisk;
using testing::HeldTasks;
using testing::OneTimer;

constexpr const char* kState = "/job:ps/replica:0/task:0";

// One life of a witness on a disk that outlives it.
struct WitnessLife {
  explicit WitnessLife(FailingDisk& disk)
      : host{Clock::real(), timers,      machine.random,  tasks, tasks,
             tasks,         machine.log, machine.metrics, disk} {
    auto opened = Witness::open(host, "witness");
    REQUIRE_MESSAGE(opened.ok(), opened.status().to_string());
    witness = *std::move(opened);
  }
  // Answered in `reply` once it is.
  void ask(WitnessRequest request) {
    reply.reset();
    witness->witness(std::move(request), {}, Done<WitnessReply>([this](Result<WitnessReply> told) {
                       reply = std::move(told);
                     }));
  }
  // The term that holds after asking for one.
  Term propose(const Term& wanted, const std::string& address) {
    ask({.state = kState, .wanted = wanted, .address = address});
    tasks.run();
    REQUIRE(reply);
    REQUIRE_MESSAGE(reply->ok(), reply->status().to_string());
    REQUIRE((*reply)->states.size() == 1);
    return (*reply)->states[0].term;
  }

  testing::TestHost machine;
  HeldTasks tasks;
  OneTimer timers;
  const Host host;
  std::optional<Result<WitnessReply>> reply;
  std::shared_ptr<Witness> witness;
};

const Term kFirst{.number = 1, .owner = 11, .since = 1};
const Term kOther{.number = 1, .owner = 22, .since = 1};
const Term kSecond{.number = 2, .owner = 22, .since = 2};

TEST_CASE("of two who want to follow one term, the first does, and the next life knows it") {
  FailingDisk disk;
  {
    WitnessLife life(disk);
    CHECK(life.propose(kFirst, "a:1") == kFirst);
    CHECK(life.propose(kOther, "b:2") == kFirst);
    CHECK((*life.reply)->states[0].address == "a:1");
  }
  FailingDisk left = disk.after_kill();
  WitnessLife next(left);
  next.ask({.state = kState});
  next.tasks.run();
  CHECK((*next.reply)->states == std::vector<WitnessedState>{{kState, kFirst, "a:1"}});
  CHECK(next.propose(kSecond, "b:2") == kSecond);
}

TEST_CASE("a witness answers when its disk has the term, and not before") {
  FailingDisk disk;
  WitnessLife life(disk);
  life.ask({.state = kState, .wanted = kFirst, .address = "a:1"});
  CHECK_FALSE(life.reply);
  disk.break_after(0);
  life.tasks.run();
  REQUIRE(life.reply);
  CHECK_FALSE(life.reply->ok());
  // What it could not keep may hold all the same: nobody gets another one in its place.
  disk.mend();
  CHECK(life.propose(kOther, "b:2") == kFirst);
}

TEST_CASE("who waits for news hears of the next term, or that there is none, in time") {
  FailingDisk disk;
  WitnessLife life(disk);
  life.ask({});
  life.tasks.run();
  const uint64_t version = (*life.reply)->version;

  std::optional<Result<WitnessReply>> news;
  life.witness->witness(
      {.newer_than = version}, {},
      Done<WitnessReply>([&](Result<WitnessReply> told) { news = std::move(told); }));
  life.tasks.run();
  CHECK_FALSE(news);
  (void)life.propose(kFirst, "a:1");
  REQUIRE(news);
  CHECK((*news)->states == std::vector<WitnessedState>{{kState, kFirst, "a:1"}});
  CHECK((*news)->version != version);

  life.ask({.newer_than = (*news)->version});
  life.tasks.run();
  CHECK_FALSE(life.reply);
  REQUIRE(life.timers.is_set());
  life.timers.fire();
  life.tasks.run();
  REQUIRE(life.reply);
  CHECK((*life.reply)->version == (*news)->version);
}

TEST_CASE("a witness refuses what is no task, and an owner that can't be reached") {
  FailingDisk disk;
  WitnessLife life(disk);
  life.ask({.state = "everything", .wanted = kFirst, .address = "a:1"});
  life.tasks.run();
  CHECK(life.reply->status().code() == Code::invalid_argument);
  life.ask({.state = kState, .wanted = kFirst, .address = "nowhere"});
  life.tasks.run();
  CHECK(life.reply->status().code() == Code::invalid_argument);
  life.ask({});
  life.tasks.run();
  CHECK((*life.reply)->states.empty());
}

}  // namespace
}  // namespace millrace
