// Elements that are lent and updates that are made once, over several lives of the task that keeps
// its state, on a disk that fails where it is told to.
#include <atomic>
#include <thread>

#include <doctest/doctest.h>

#include "millrace/base/testing/test_host.h"
#include "millrace/io/testing/failing_disk.h"
#include "millrace/io/testing/ledger.h"
#include "millrace/ops/state/kept_state.h"

namespace millrace {
namespace {

using testing::FailingDisk;
using testing::HeldTasks;
using testing::TestHost;

// One life of a task that has a queue, a sum and what was applied to that.
class LendingLife {
 public:
  explicit LendingLife(FailingDisk& disk)
      : host_{machine_.host.clock,
              machine_.timers,
              machine_.random,
              tasks_,
              machine_.endings,
              tasks_,
              machine_.log,
              machine_.metrics,
              disk} {}

  Status start() {
    MR_ASSIGN(state_,
              KeptState::open(host_,
                              {.folder = "state", .default_container = "job", .spare_bytes = 300}));
    return {};
  }
  Queue& queue() {
    const QueueSpec spec{.op = "FIFOQueueV2", .types = {DType::i64}, .capacity = -1};
    const auto make = [&]() -> Result<std::shared_ptr<Queue>> {
      auto made = std::make_shared<Queue>(
          spec, "names", std::make_unique<KeptOrder>(order_of(spec, &machine_.random)));
      KeptNames::of(resources())->note(KeptKind::queue, resources(), {"", "names"}, made);
      return made;
    };
    queue_ = resources().find_or_create<Queue>("", "names", make).value();
    return *queue_;
  }
  void put(int64_t value, std::shared_ptr<const UpdateName> made_by = nullptr) {
    QueueElement element{Tensor::scalar(value)};
    element.made_by = std::move(made_by);
    queue().enqueue(std::move(element), nullptr, Done<void>([](const Status&) {}));
  }
  // As the kernels do it: nobody hears of what is not on the disk.
  Result<LentElement> lend(uint32_t attempts = 0) {
    Result<LentElement> lent = internal("it waits");
    Cancellation cancellation;
    queue().lend({.holder = queue().new_holder(),
                  .duration = std::chrono::hours(1),
                  .attempts = attempts,
                  .time = time_},
                 {}, &cancellation,
                 Done<LentElement>([&](Result<LentElement> given) { lent = std::move(given); }));
    cancellation.cancel(cancelled("there is nothing"));
    if (!lent.ok()) return lent;
    if (Status kept = keep(); !kept.ok()) {
      (void)queue().give_back(lent->lease);
      return kept;
    }
    return lent;
  }
  AppliedUpdates& updates() { return *AppliedUpdates::of(resources()).value(); }
  bool is_to_run(const Lease& lease, const std::string& update) {
    bool is_to_run = false;
    updates().begin(lease, update, nullptr,
                    Done<bool>([&](Result<bool> answer) { is_to_run = answer.value(); }));
    return is_to_run;
  }
  // An addition that is made once.
  Status add(const Lease& lease, int64_t more) {
    if (is_to_run(lease, "add")) {
      const AppliedUpdates::AtOnce at_once(updates());
      const std::shared_ptr<StoredVariable> sum = variable();
      {
        MutexLock lock(sum->mutex());
        Tensor& held = *sum->tensor();
        if (!held.has_value()) held = Tensor::scalar<int64_t>(0);
        REQUIRE(unshare(held).ok());
        held.mutable_flat<int64_t>()[0] += more;
      }
      updates().end(lease, "add", AppliedBook::Outcome::applied);
    }
    return keep();
  }
  int64_t sum() {
    const Tensor value = variable()->read();
    return value.has_value() ? value.item<int64_t>() : 0;
  }
  Status keep() {
    Status kept = internal("not yet");
    state_->commit(Done<void>([&](Status status) { kept = std::move(status); }));
    tasks_.run();
    return kept;
  }
  ResourceStore& resources() { return *state_->resources(0); }

 private:
  std::shared_ptr<StoredVariable> variable() {
    return shared_variable(resources(), {"", "sum"}, DType::i64, {}, false).value();
  }

  TestHost machine_{1};
  HeldTasks tasks_;
  const Host host_;
  const std::shared_ptr<DeviceTime> time_ =
      std::make_shared<DeviceTime>(machine_.host.clock, machine_.timers, machine_.random, tasks_);
  std::shared_ptr<KeptState> state_;
  std::shared_ptr<Queue> queue_;
};

int64_t value_of(const LentElement& lent) { return lent.element[0].item<int64_t>(); }

TEST_CASE("what was lent is back in the next life, under its identity, and what ended is not") {
  FailingDisk disk;
  LendingLife life(disk);
  REQUIRE(life.start().ok());
  for (const int64_t value : {10, 20, 30, 40}) life.put(value);
  const Lease first = life.lend().value().lease, second = life.lend().value().lease;
  const Lease third = life.lend().value().lease;
  REQUIRE(life.queue().end_lease(first).ok());
  REQUIRE(life.keep().ok());

  FailingDisk left = disk.after_kill();
  LendingLife next(left);
  REQUIRE(next.start().ok());
  CHECK(next.queue().size() == 3);
  // Who has a lease from the life before has it no more, but may say that its element is done.
  CHECK_FALSE(next.queue().extend_lease(second, std::chrono::hours(1)).value());
  CHECK(next.queue().give_back(second).ok());
  CHECK(next.queue().end_lease(first).ok());
  CHECK(next.queue().end_lease(third).ok());
  const LentElement again = next.lend().value();
  CHECK(value_of(again) == 20);
  CHECK(again.lease.queue == second.queue);
  CHECK(again.lease.number == second.number);
  CHECK(again.lease.attempt == 2);
  CHECK(again.lease.open == std::vector<uint64_t>{second.number});
  const LentElement fresh = next.lend().value();
  CHECK(value_of(fresh) == 40);
  CHECK(fresh.lease.number == third.number + 1);
  REQUIRE(next.queue().end_lease(again.lease).ok());
  REQUIRE(next.keep().ok());

  FailingDisk at_last = left.after_kill();
  LendingLife last(at_last);
  REQUIRE(last.start().ok());
  CHECK(last.queue().size() == 1);
  CHECK(last.lend().value().lease.number == fresh.lease.number);
}

TEST_CASE("dead letters are kept, and that the task died is no attempt that failed") {
  FailingDisk disk;
  LendingLife life(disk);
  REQUIRE(life.start().ok());
  life.put(10);
  life.put(20);
  const Lease dead = life.lend(1).value().lease;
  REQUIRE(life.queue().give_back(dead).ok());
  REQUIRE(life.lend(1).ok());

  FailingDisk left = disk.after_kill();
  LendingLife next(left);
  REQUIRE(next.start().ok());
  CHECK(next.queue().end_lease(dead).code() == Code::failed_precondition);
  CHECK(next.queue().lease_counts().dead == 1);
  const LentElement again = next.lend(1).value();
  CHECK(value_of(again) == 20);
  CHECK(again.lease.attempt == 2);
  CHECK((*next.queue().take_dead_letter())[0].item<int64_t>() == 10);
  REQUIRE(next.keep().ok());

  FailingDisk at_last = left.after_kill();
  LendingLife last(at_last);
  const Status started = last.start();
  REQUIRE_MESSAGE(started.ok(), started.to_string());
  CHECK(last.queue().lease_counts().dead == 0);
  CHECK(last.queue().size() == 1);
  CHECK(last.queue().end_lease(dead).code() == Code::failed_precondition);
}

TEST_CASE("an update that was on the disk is not made again, and one that was not is") {
  FailingDisk disk;
  LendingLife life(disk);
  REQUIRE(life.start().ok());
  life.put(10);
  life.put(20);
  const Lease first = life.lend().value().lease, second = life.lend().value().lease;
  REQUIRE(life.add(first, 10).ok());
  CHECK(life.is_to_run(second, "add"));  // it is under way when the task dies
  REQUIRE(life.keep().ok());

  FailingDisk left = disk.after_kill();
  LendingLife next(left);
  REQUIRE(next.start().ok());
  CHECK(next.sum() == 10);
  CHECK(next.add(first, 10).ok());
  CHECK(next.sum() == 10);
  CHECK(next.add(second, 20).ok());
  CHECK(next.sum() == 30);
}

TEST_CASE("what an update put into a queue is there once, also if it is gone when it is told") {
  FailingDisk disk;
  LendingLife life(disk);
  REQUIRE(life.start().ok());
  const Lease lease{.queue = 7, .number = 1, .attempt = 1, .horizon = 2, .open = {1}};
  // The elements are in, and the book has not heard of it: that is what a thread may come to.
  for (const char* update : {"stays", "goes"}) {
    REQUIRE(life.is_to_run(lease, update));
    life.put(5, std::make_shared<const UpdateName>(UpdateName{7, 1, 0, update}));
  }
  life.queue().dequeue(nullptr, Done<QueueElement>([](const Result<QueueElement>&) {}));
  REQUIRE(life.keep().ok());
  for (FailingDisk left : {disk.after_kill(), [&] {
                             // Told in a group of its own, the book still has it.
                             life.put(6);
                             REQUIRE(life.is_to_run(lease, "another"));
                             REQUIRE(life.keep().ok());
                             return disk.after_kill();
                           }()}) {
    LendingLife next(left);
    REQUIRE(next.start().ok());
    CHECK_FALSE(next.is_to_run(lease, "stays"));
    CHECK_FALSE(next.is_to_run(lease, "goes"));
    CHECK(next.is_to_run(lease, "another"));
  }
}

TEST_CASE("an update and what the book says of it are looked at together") {
  FailingDisk disk;
  LendingLife life(disk);
  REQUIRE(life.start().ok());
  const std::shared_ptr<AppliedUpdates> updates = AppliedUpdates::of(life.resources()).value();
  for (int round = 0; round < 200; ++round) {
    std::atomic<bool> comes = false;
    std::atomic<int> changed = 0;
    int seen = -1;
    auto at_once = std::make_unique<AppliedUpdates::AtOnce>(*updates);
    std::thread looker([&] {
      comes = true;
      const AppliedUpdates::Still still(updates);
      seen = changed;
    });
    while (!comes) std::this_thread::yield();
    changed = 1;
    std::this_thread::yield();
    changed = 2;
    at_once.reset();
    looker.join();
    CHECK(seen == 2);
  }
}

// Takes what there is, and adds it under its lease, as long as the disk is there.
void work(LendingLife& life) {
  while (life.queue().size() > 0) {
    const auto lent = life.lend();
    if (!lent.ok() || !life.add(lent->lease, value_of(*lent)).ok()) return;
    (void)life.queue().end_lease(lent->lease);
    if (!life.keep().ok()) return;
  }
}

TEST_CASE("wherever the disk ends, each element is in the sum once in the end") {
  const auto fill = [](LendingLife& life) {
    for (const int64_t value : {1, 10, 100, 1000}) life.put(value);
    return life.keep().ok();
  };
  FailingDisk whole;
  {
    LendingLife life(whole);
    REQUIRE(life.start().ok());
    REQUIRE(fill(life));
    work(life);
    REQUIRE(life.sum() == 1111);
  }
  SeededRandom random(9);
  for (int until = 0; until < whole.changes(); ++until) {
    for (const size_t torn : {0, 9, 33, 200}) {
      CAPTURE(until);
      CAPTURE(torn);
      FailingDisk disk;
      disk.break_after(until, torn);
      LendingLife life(disk);
      if (!life.start().ok() || !fill(life)) continue;
      work(life);
      for (FailingDisk left : {disk.after_kill(), disk.after_power_loss(random)}) {
        LendingLife next(left);
        const Status started = next.start();
        REQUIRE_MESSAGE(started.ok(), started.to_string());
        work(next);
        CHECK(next.queue().size() == 0);
        CHECK(next.sum() == 1111);
      }
    }
  }
}

}  // namespace
}  // namespace millrace
