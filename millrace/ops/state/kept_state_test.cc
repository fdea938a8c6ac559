// A task's queues and variables over several lives of it, on a disk that fails where it is told to.
#include "millrace/ops/state/kept_state.h"

#include <doctest/doctest.h>

#include "millrace/base/testing/test_host.h"
#include "millrace/io/testing/failing_disk.h"
#include "millrace/io/testing/ledger.h"
#include "millrace/ops/state/applied_updates.h"

namespace millrace {
namespace {

using testing::FailingDisk;
using testing::HeldTasks;
using testing::TestHost;

// One life of a task: what it has on its device, and when it is kept.
class KeptLife {
 public:
  explicit KeptLife(FailingDisk& disk, uint64_t spare_bytes = 16 << 20, int devices = 1,
                    Keep keep = Keep::all)
      : host_{machine_.host.clock,
              machine_.timers,
              machine_.random,
              tasks_,
              machine_.endings,
              tasks_,
              machine_.log,
              machine_.metrics,
              disk},
        options_{.folder = "state",
                 .default_container = "job",
                 .devices = devices,
                 .keep = keep,
                 .spare_bytes = spare_bytes} {}

  Status start() {
    MR_ASSIGN(state_, KeptState::open(host_, options_));
    return {};
  }
  // As the kernels of a variable and a queue do it.
  std::shared_ptr<StoredVariable> variable(const std::string& name, DType dtype = DType::i64) {
    return shared_variable(resources(), {"", name}, dtype, {}, false).value();
  }
  std::shared_ptr<Queue> queue(const std::string& name, int64_t capacity = -1) {
    const QueueSpec spec{.op = "FIFOQueueV2", .types = {DType::i64}, .capacity = capacity};
    const auto make = [&]() -> Result<std::shared_ptr<Queue>> {
      auto made = std::make_shared<Queue>(
          spec, name, std::make_unique<KeptOrder>(order_of(spec, &machine_.random)));
      KeptNames::of(resources())->note(KeptKind::queue, resources(), {"", name}, made);
      return made;
    };
    return resources().find_or_create<Queue>("", name, make).value();
  }
  void add(const std::string& name, int64_t more) {
    const std::shared_ptr<StoredVariable> found = variable(name);
    MutexLock lock(found->mutex());
    Tensor& held = *found->tensor();
    if (!held.has_value()) held = Tensor::scalar<int64_t>(0);
    REQUIRE(unshare(held).ok());
    held.mutable_flat<int64_t>()[0] += more;
  }
  int64_t value(const std::string& name) { return variable(name)->read().item<int64_t>(); }
  void put(const std::string& name, int64_t number) {
    bool is_in = false;
    queue(name)->enqueue({Tensor::scalar(number)}, nullptr,
                         Done<void>([&](Status status) { is_in = status.ok(); }));
    REQUIRE(is_in);
  }
  int64_t take(const std::string& name) {
    int64_t number = -1;
    queue(name)->dequeue(nullptr, Done<QueueElement>([&](Result<QueueElement> taken) {
                           number = taken.value()[0].item<int64_t>();
                         }));
    return number;
  }
  // What steps do before they answer.
  Status keep() {
    Status kept = internal("not yet");
    state_->commit(Done<void>([&](Status status) { kept = std::move(status); }));
    tasks_.run();
    return kept;
  }
  Status close() { return state_->close(cancelled("the test is over")); }

  ResourceStore& resources() { return *state_->resources(0); }
  const std::string& found_text() const { return state_->found_text(); }

 private:
  TestHost machine_{1};
  HeldTasks tasks_;
  const Host host_;
  const KeptStateOptions options_;
  std::shared_ptr<KeptState> state_;
};

TEST_CASE("variables and queues go on in the next life where they were") {
  FailingDisk disk;
  {
    KeptLife life(disk);
    REQUIRE(life.start().ok());
    CHECK(life.found_text() == "0 variables and 0 queues with 0 elements in 'state'");
    life.add("sum", 3);
    life.add("sum", 4);
    for (const int64_t number : {1, 2, 3}) life.put("names", number);
    CHECK(life.take("names") == 1);
    life.put("closed", 9);
    REQUIRE(life.queue("closed")->close_queue(PendingEnqueues::keep).ok());
    REQUIRE(life.keep().ok());
  }
  FailingDisk left = disk.after_kill();
  KeptLife next(left);
  REQUIRE(next.start().ok());
  CHECK(next.found_text() == "1 variable and 2 queues with 3 elements in 'state'");
  CHECK(next.value("sum") == 7);
  CHECK(next.take("names") == 2);
  CHECK(next.take("names") == 3);
  CHECK(next.queue("names")->size() == 0);
  CHECK_FALSE(next.queue("names")->is_closed());
  CHECK(next.queue("closed")->is_closed());
  CHECK(next.take("closed") == 9);
}

TEST_CASE("what was dropped is gone in the next life, and what took its name is another") {
  FailingDisk disk;
  KeptLife life(disk);
  REQUIRE(life.start().ok());
  life.add("gone", 1);
  life.add("again", 1);
  life.put("names", 1);
  REQUIRE(life.keep().ok());
  for (const char* name : {"gone", "again"})
    REQUIRE(life.resources().remove<StoredVariable>("", name).ok());
  REQUIRE(life.resources().remove<Queue>("", "names").ok());
  life.add("again", 5);
  life.put("names", 2);
  REQUIRE(life.keep().ok());
  FailingDisk left = disk.after_kill();
  KeptLife next(left);
  REQUIRE(next.start().ok());
  CHECK(next.found_text() == "1 variable and 1 queue with 1 element in 'state'");
  CHECK(next.value("again") == 5);
  CHECK(next.take("names") == 2);
}

TEST_CASE("what is dropped because the task ends is there in the next life") {
  FailingDisk disk;
  {
    KeptLife life(disk);
    REQUIRE(life.start().ok());
    life.add("sum", 1);
    life.put("names", 1);
    REQUIRE(life.close().ok());
    life.resources().clear_all(cancelled("the task ends"));
    CHECK(life.keep() == cancelled("the test is over"));
  }
  KeptLife next(disk);
  REQUIRE(next.start().ok());
  CHECK(next.value("sum") == 1);
  CHECK(next.take("names") == 1);
}

TEST_CASE("what a waiting dequeue holds is still in the queue of the next life") {
  FailingDisk disk;
  KeptLife life(disk);
  REQUIRE(life.start().ok());
  life.put("names", 1);
  life.put("names", 2);
  const QueueSpec spec{
      .op = "FIFOQueueV2", .types = {DType::i64}, .shapes = {PartialShape::scalar()}};
  auto many =
      std::make_shared<Queue>(spec, "many", std::make_unique<KeptOrder>(order_of(spec, nullptr)));
  REQUIRE(life.resources().add<Queue>("", "many", many).ok());
  KeptNames::of(life.resources())->note(KeptKind::queue, life.resources(), {"", "many"}, many);
  many->enqueue({Tensor::scalar<int64_t>(5)}, nullptr, Done<void>([](const Status&) {}));
  many->dequeue_many(2, Shortfall::fail, nullptr, Done<QueueElement>([](const auto&) {}));
  CHECK(many->size() == 0);
  REQUIRE(life.keep().ok());
  FailingDisk left = disk.after_kill();
  KeptLife next(left);
  REQUIRE(next.start().ok());
  CHECK(next.resources().find<Queue>("", "many").value()->size() == 1);
}

TEST_CASE("what came and went between two groups is not written") {
  FailingDisk disk;
  KeptLife life(disk);
  REQUIRE(life.start().ok());
  life.put("names", 1);
  REQUIRE(life.keep().ok());
  const std::string path = "state/journal-0000000000000001";
  const size_t before = disk.bytes(path).size();
  for (int64_t number = 2; number < 100; ++number) {
    life.put("names", number);
    CHECK(life.take("names") == number - 1);
  }
  REQUIRE(life.keep().ok());
  CHECK(disk.bytes(path).size() - before < 150);  // one in, one out, a group around them
  REQUIRE(life.keep().ok());
}

TEST_CASE("a variable that did not change is not written again") {
  FailingDisk disk;
  KeptLife life(disk);
  REQUIRE(life.start().ok());
  const std::shared_ptr<StoredVariable> large = life.variable("large", DType::f32);
  {
    MutexLock lock(large->mutex());
    *large->tensor() = Tensor::zeros(DType::f32, {10'000}).value();
  }
  life.add("small", 1);
  REQUIRE(life.keep().ok());
  const std::string path = "state/journal-0000000000000001";
  const size_t before = disk.bytes(path).size();
  CHECK(before > 40'000);
  life.add("small", 1);
  REQUIRE(life.keep().ok());
  CHECK(disk.bytes(path).size() - before < 150);
}

TEST_CASE("wherever the disk ends, each acknowledged update is found once") {
  // The sum of what was added and the elements' order tell of each update.
  const auto run = [](KeptLife& life, int64_t* acknowledged, int64_t* tried) {
    for (int64_t round = 1; round <= 12; ++round) {
      life.put("names", round);
      if (round % 3 == 0) (void)life.take("names");
      life.add("sum", 1);
      ++*tried;
      if (life.keep().ok()) *acknowledged = *tried;
    }
  };
  FailingDisk whole;
  int64_t ignored = 0, rounds = 0;
  {
    KeptLife life(whole, /*spare_bytes=*/300);
    REQUIRE(life.start().ok());
    run(life, &ignored, &rounds);
  }
  SeededRandom random(9);
  for (int until = 0; until < whole.changes(); ++until) {
    for (const size_t torn : {0, 9, 33, 200}) {
      CAPTURE(until);
      CAPTURE(torn);
      FailingDisk disk;
      disk.break_after(until, torn);
      KeptLife life(disk, /*spare_bytes=*/300);
      int64_t acknowledged = 0, tried = 0;
      if (life.start().ok()) run(life, &acknowledged, &tried);
      for (FailingDisk left : {disk.after_kill(), disk.after_power_loss(random)}) {
        KeptLife next(left);
        const Status started = next.start();
        REQUIRE_MESSAGE(started.ok(), started.to_string());
        const auto sum = next.resources().find<StoredVariable>("", "sum");
        const int64_t found = sum.ok() ? next.value("sum") : 0;
        CHECK(found >= acknowledged);
        CHECK(found <= tried);
        if (found == 0) continue;
        // Of the rounds that count, each third took one from the front.
        int64_t expected = found / 3 + 1;
        CHECK(next.queue("names")->size() == static_cast<size_t>(found - found / 3));
        while (next.queue("names")->size() > 0) CHECK(next.take("names") == expected++);
      }
    }
  }
}

TEST_CASE("state of a device that the task has no more is refused, and stays") {
  FailingDisk disk;
  {
    KeptLife life(disk);
    REQUIRE(life.start().ok());
    life.add("sum", 1);
    REQUIRE(life.keep().ok());
  }
  KeptLife none(disk, 16 << 20, /*devices=*/0);
  CHECK(none.start().message() ==
        "the state of the task: there is state of device 0, and the task has 0 now; start it with "
        "--cpu-devices 1 at least");
  KeptLife next(disk);
  REQUIRE(next.start().ok());
  CHECK(next.value("sum") == 1);
}

TEST_CASE(
    "a task that keeps what asks keeps that, from the first node that asks, and nothing else") {
  FailingDisk disk;
  const auto shared = [](KeptLife& life, const std::string& name, bool asks) {
    return shared_variable(life.resources(), {"", name}, DType::i64, {}, asks).value();
  };
  {
    KeptLife life(disk, 16 << 20, 1, Keep::asked);
    REQUIRE(life.start().ok());
    shared(life, "asked", true);
    life.add("asked", 3);
    life.add("plain", 4);
    // Somebody else made it; from here on it is kept with what it has.
    life.add("late", 5);
    CHECK_FALSE(life.variable("late")->is_kept());
    CHECK(shared(life, "late", true) == life.variable("late"));
    shared(life, "replaced", true);
    life.add("replaced", 6);
    REQUIRE(life.keep().ok());
    // Another one of that name, for which nobody asked.
    REQUIRE(life.resources().remove<StoredVariable>("", "replaced").ok());
    life.add("replaced", 7);
    REQUIRE(life.keep().ok());
  }
  FailingDisk left = disk.after_kill();
  {
    KeptLife next(left, 16 << 20, 1, Keep::asked);
    REQUIRE(next.start().ok());
    CHECK(next.found_text() == "2 variables and 0 queues with 0 elements in 'state'");
    // What was kept is, also for nodes that do not ask.
    next.add("asked", 10);
    next.add("late", 10);
    REQUIRE(next.keep().ok());
  }
  FailingDisk last = left.after_kill();
  KeptLife third(last, 16 << 20, 1, Keep::asked);
  REQUIRE(third.start().ok());
  CHECK(third.value("asked") == 13);
  CHECK(third.value("late") == 15);
}

TEST_CASE("where nothing is kept a variable that asks is refused, and told what to do") {
  ResourceStore resources("job");
  const Status refused = shared_variable(resources, {"", "total"}, DType::i64, {}, true).status();
  CHECK(refused.code() == Code::failed_precondition);
  CHECK(refused.message().starts_with("'total' is to be kept (durable=True)"));
  CHECK(refused.message().find("--state DIR") != std::string::npos);
  CHECK(resources.size() == 0);
}

TEST_CASE("what has no form on the disk is refused with words") {
  FailingDisk disk;
  KeptLife life(disk);
  REQUIRE(life.start().ok());
  const Status refused =
      shared_variable(life.resources(), {"", "v"}, DType::variant, {}, false).status();
  CHECK(refused.code() == Code::unimplemented);
  CHECK(refused.message().find("without --state") != std::string::npos);
}

TEST_CASE("on a device whose state is not kept nothing is noted") {
  ResourceStore resources("job");
  CHECK(KeptNames::of(resources) == nullptr);
  CHECK_FALSE((*shared_variable(resources, {"", "v"}, DType::variant, {}, false))->is_kept());
  TestHost machine(1);  // its files don't last
  CHECK(KeptState::open(machine.host, {.folder = "state"}).status().code() ==
        Code::failed_precondition);
}

}  // namespace
}  // namespace millrace
