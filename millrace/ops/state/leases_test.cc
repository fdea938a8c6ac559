// Elements that are lent, and updates that are made once, through their ops. Time moves by hand.
#include <deque>
#include <limits>
#include <map>

#include "doctest/doctest.h"

#include "millrace/base/random.h"
#include "millrace/base/testing/fake_clock.h"
#include "millrace/op/once_factory.h"
#include "millrace/ops/state/device_time.h"
#include "millrace/ops/state/families.h"
#include "millrace/ops/state/held_lease.h"
#include "millrace/ops/state/lease.h"
#include "millrace/ops/state/variable.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

using std::chrono::seconds;

// Timers and work that wait until the test moves the clock.
class LeaseTimers final : public Timers {
 public:
  Timer at(Clock::Time when, Task task) override {
    const Key key{when, ++last_};
    tasks_.emplace(key, std::move(task));
    return handle(key);
  }
  void fire(Clock::Time now) {
    while (!tasks_.empty() && tasks_.begin()->first.when <= now) {
      Task task = std::move(tasks_.begin()->second);
      tasks_.erase(tasks_.begin());
      task();
    }
  }
  size_t size() const { return tasks_.size(); }

 private:
  void cancel(const Key& key) override { tasks_.erase(key); }
  uint64_t last_ = 0;
  std::map<Key, Task> tasks_;
};

class LeaseRunner final : public Runner {
 public:
  void post(Task task) override { tasks_.push_back(std::move(task)); }
  void run() {
    for (; !tasks_.empty(); tasks_.pop_front()) tasks_.front()();
  }

 private:
  std::deque<Task> tasks_;
};

class LeaseBench {
 public:
  explicit LeaseBench(int capacity = -1) : ops_(registry()), bench_(*ops_) {
    REQUIRE(bench_.resources()
                .add<DeviceTime>(DeviceTime::kContainer, "",
                                 std::make_shared<DeviceTime>(clock_, timers_, random_, runner_))
                .ok());
    queue_ = bench_
                 .run("FIFOQueueV2", {},
                      {.name = "q",
                       .attrs = {{"component_types", AttrValue(std::vector<DType>{DType::i32})},
                                 {"capacity", capacity},
                                 {"shared_name", AttrValue("names")}}})
                 .value()[0];
  }

  void enqueue(int value) {
    REQUIRE(bench_.run("QueueEnqueueV2", {queue_, Tensor::scalar<int32_t>(value)}, {.name = "put"})
                .ok());
  }
  void close() { REQUIRE(bench_.run("QueueCloseV2", {queue_}, {.name = "close"}).ok()); }
  // A session's dequeue, as long as it is kept.
  std::unique_ptr<Running> lend(const std::string& done_with = "", int attempts = 0) {
    return bench_
        .start("QueueLend", {queue_, Tensor::scalar(done_with)},
               {.name = "take",
                .attrs = {{"component_types", AttrValue(std::vector<DType>{DType::i32})},
                          {"seconds", 10.f},
                          {"attempts", attempts}}})
        .value();
  }
  Status end(const std::string& lease) {
    return bench_.run("QueueEndLease", {queue_, Tensor::scalar(lease)}, {.name = "end"}).status();
  }
  Status give_back(const std::string& lease) {
    return bench_
        .run("QueueEndLease", {queue_, Tensor::scalar(lease)},
             {.name = "back", .attrs = {{"gives_back", true}}})
        .status();
  }
  bool extend(const std::string& lease, float seconds = 10) {
    return bench_
        .run("QueueExtendLease", {queue_, Tensor::scalar(lease)},
             {.name = "extend", .attrs = {{"seconds", seconds}}})
        .value()[0]
        .tensor.item<bool>();
  }
  // "1 lent, 0 dead"
  std::string counts() {
    const auto values = bench_.run("QueueLeases", {queue_}, {.name = "count"}).value();
    return str_cat(values[0].tensor.item<int32_t>(), " lent, ", values[1].tensor.item<int32_t>(),
                   " dead");
  }
  Result<std::vector<Value>> dead_letter() {
    return bench_.run("QueueDeadLetter", {queue_},
                      {.name = "dead",
                       .attrs = {{"component_types", AttrValue(std::vector<DType>{DType::i32})}}});
  }
  void pass(seconds time) {
    clock_.advance(time);
    timers_.fire(clock_.now());
    runner_.run();
  }
  Bench& bench() { return bench_; }
  const Value& queue() const { return queue_; }
  const OpRegistry& ops() const { return *ops_; }

 private:
  static std::unique_ptr<OpRegistry> registry() {
    auto ops = std::make_unique<OpRegistry>();
    REQUIRE(register_state(*ops).ok());
    return ops;
  }

  FakeClock clock_;
  LeaseTimers timers_;
  SeededRandom random_{42};
  LeaseRunner runner_;
  std::unique_ptr<OpRegistry> ops_;
  Bench bench_;
  Value queue_;
};

// "7 a1": the element and the attempt; or the error.
std::string lent(const Running& running, std::string* lease = nullptr) {
  if (!running.is_done()) return "waits";
  auto outputs = const_cast<Running&>(running).outputs();
  if (!outputs.ok()) return std::string(code_name(outputs.status().code()));
  if (lease != nullptr) *lease = (*outputs)[1].tensor.item<std::string>();
  return str_cat((*outputs)[0].tensor.item<int32_t>(), " a", (*outputs)[2].tensor.item<int32_t>());
}

TEST_CASE("what was lent comes back when its time is over, for the next attempt") {
  LeaseBench q;
  q.enqueue(7);
  const auto first = q.lend();
  CHECK(lent(*first) == "7 a1");
  const auto second = q.lend();
  q.pass(seconds(9));
  CHECK(lent(*second) == "waits");
  CHECK(q.counts() == "1 lent, 0 dead");
  q.pass(seconds(1));
  CHECK(lent(*second) == "7 a2");
}

TEST_CASE("a lease that is extended lasts, and one that is over can't be extended") {
  LeaseBench q;
  q.enqueue(7);
  std::string lease;
  const auto taker = q.lend();
  CHECK(lent(*taker, &lease) == "7 a1");
  q.pass(seconds(9));
  CHECK(q.extend(lease));
  q.pass(seconds(9));
  CHECK(q.counts() == "1 lent, 0 dead");
  q.pass(seconds(1));
  CHECK(q.counts() == "0 lent, 0 dead");
  CHECK_FALSE(q.extend(lease));
}

TEST_CASE("it is as late as the clock of the leases says") {
  LeaseBench q;
  q.pass(seconds(90));
  CHECK(q.bench().run("Timestamp", {}, {.name = "now"}).value()[0].tensor.item<double>() == 90);
  Bench without(q.ops());
  CHECK(without.run("Timestamp", {}, {.name = "now"}).status().code() == Code::failed_precondition);
}

TEST_CASE("a lease may be made to end sooner") {
  LeaseBench q;
  q.enqueue(7);
  std::string lease;
  const auto taker = q.lend();
  CHECK(lent(*taker, &lease) == "7 a1");
  CHECK(q.extend(lease, 2));
  q.pass(seconds(2));
  CHECK(q.counts() == "0 lent, 0 dead");
}

TEST_CASE(
    "who waits for room in a queue that has more than it may, since one came back, can give up") {
  LeaseBench q(1);
  q.enqueue(7);
  const auto taker = q.lend();
  CHECK(lent(*taker) == "7 a1");
  q.enqueue(8);
  q.pass(seconds(10));
  const auto waiting =
      q.bench()
          .start("QueueEnqueueV2", {q.queue(), Tensor::scalar<int32_t>(9)}, {.name = "put"})
          .value();
  CHECK_FALSE(waiting->is_done());
  q.bench().cancellation().cancel(cancelled("enough"));
  REQUIRE(waiting->is_done());
  CHECK(waiting->status().code() == Code::cancelled);
}

TEST_CASE("what a session has comes back with the session's end") {
  LeaseBench q;
  q.enqueue(7);
  q.enqueue(8);
  auto first = q.lend();
  CHECK(lent(*first) == "7 a1");
  first.reset();
  CHECK(q.counts() == "0 lent, 0 dead");
  const auto second = q.lend();
  CHECK(lent(*second) == "7 a2");
}

TEST_CASE("a closed queue ends when all is acknowledged, and not before") {
  LeaseBench q;
  q.enqueue(7);
  q.close();
  std::string lease;
  const auto first = q.lend();
  CHECK(lent(*first, &lease) == "7 a1");
  const auto second = q.lend();
  CHECK(lent(*second) == "waits");
  CHECK(q.end(lease).ok());
  CHECK(lent(*second) == "OUT_OF_RANGE");
  CHECK(q.end(lease).ok());
}

TEST_CASE("a dequeue acknowledges what it is given, and the element is lent to nobody again") {
  LeaseBench q;
  q.enqueue(7);
  q.enqueue(8);
  std::string lease;
  auto first = q.lend();
  CHECK(lent(*first, &lease) == "7 a1");
  auto second = q.lend(lease);
  CHECK(lent(*second) == "8 a1");
  first.reset();
  second.reset();
  auto third = q.lend();
  CHECK(lent(*third) == "8 a2");
  const auto fourth = q.lend();
  CHECK(lent(*fourth) == "waits");
  third.reset();
  CHECK(lent(*fourth) == "8 a3");
}

TEST_CASE("what was acknowledged late is taken out of the queue, where it waits already") {
  LeaseBench q;
  q.enqueue(7);
  q.close();
  std::string lease;
  const auto taker = q.lend();
  CHECK(lent(*taker, &lease) == "7 a1");
  q.pass(seconds(10));
  CHECK(q.end(lease).ok());
  CHECK(lent(*q.lend()) == "OUT_OF_RANGE");
}

TEST_CASE("an element that came back as often as it may is a dead letter") {
  LeaseBench q;
  q.enqueue(7);
  q.close();
  std::string lease;
  for (int attempt = 1; attempt <= 2; ++attempt) {
    const auto taker = q.lend("", 2);
    CHECK(lent(*taker, &lease) == str_cat("7 a", attempt));
    CHECK(q.give_back(lease).ok());
  }
  CHECK(q.counts() == "0 lent, 1 dead");
  CHECK(lent(*q.lend()) == "OUT_OF_RANGE");
  CHECK(q.end(lease).code() == Code::failed_precondition);
  CHECK(q.dead_letter().value()[0].tensor == Tensor::scalar<int32_t>(7));
  CHECK(q.dead_letter().status().code() == Code::out_of_range);
}

TEST_CASE("bad leases, and bad terms, are refused with words") {
  LeaseBench q, other;
  q.enqueue(7);
  other.enqueue(8);
  std::string lease;
  const auto taker = q.lend();
  CHECK(lent(*taker, &lease) == "7 a1");
  CHECK(other.end(lease).message().find("of another queue than 'names'") != std::string::npos);
  CHECK(q.end("nonsense").message().find("are no lease") != std::string::npos);
  CHECK(q.end("").code() == Code::invalid_argument);
  for (const float bad : {0.f, -1.f, 1e9f, std::numeric_limits<float>::quiet_NaN()}) {
    CHECK(q.bench()
              .start("QueueLend", {q.queue(), Tensor::scalar(std::string())},
                     {.attrs = {{"component_types", AttrValue(std::vector<DType>{DType::i32})},
                                {"seconds", bad}}})
              .status()
              .code() == Code::invalid_argument);
  }
}

// --- updates ---

class UpdateBench {
 public:
  UpdateBench() {
    variable_ = bench()
                    .run("VariableV2", {},
                         {.name = "total",
                          .attrs = {{"dtype", DType::i32}, {"shape", PartialShape::scalar()}}})
                    .value()[0];
    *variable_.ref->tensor = Tensor::scalar<int32_t>(0);
  }
  // The step that comes is made under this lease, and was under another one before.
  void hold(const Lease& lease) {
    leases_.clear();
    bench().step().leases = &leases_;
    REQUIRE(hold_too(lease).ok());
  }
  Status hold_too(const Lease& lease, const std::string& as = "before") {
    return bench()
        .run("_HoldLease", {Tensor::scalar(encode_lease(lease))},
             {.name = "hold", .attrs = {{"held_as", as}}})
        .status();
  }
  Status add(int value, const std::string& node = "add", const std::string& as = "before") {
    return add(Tensor::scalar<int32_t>(value), node, as);
  }
  Status add(Tensor value, const std::string& node = "add", const std::string& as = "before") {
    auto outputs = bench().run("AssignAdd", {variable_, std::move(value)},
                               {.name = node, .attrs = {{std::string(kUnderLease), as}}});
    if (!outputs.ok()) return outputs.status();
    CHECK((*outputs)[0].ref != nullptr);
    return {};
  }
  int total() const { return variable_.ref->tensor->item<int32_t>(); }
  Bench& bench() { return q_.bench(); }

 private:
  LeaseBench q_;
  HeldLeases leases_;
  Value variable_;
};

Lease under(uint64_t number, uint64_t step, uint32_t attempt = 1) {
  return {.queue = 7,
          .number = number,
          .attempt = attempt,
          .step = step,
          .horizon = number + 1,
          .open = {number}};
}

TEST_CASE("an update under a lease is made once for its element and step") {
  UpdateBench b;
  b.hold(under(1, 0));
  CHECK(b.add(5).ok());
  CHECK(b.add(5).ok());
  b.hold(under(1, 0, 2));
  CHECK(b.add(5).ok());
  CHECK(b.total() == 5);
  CHECK(b.add(20, "another add").ok());
  b.hold(under(1, 1, 2));
  CHECK(b.add(100).ok());
  b.hold(under(2, 0));
  CHECK(b.add(1'000).ok());
  CHECK(b.total() == 1'125);
  CHECK(b.add(1'000).ok());
  CHECK(b.total() == 1'125);
}

TEST_CASE("what a step has taken itself it holds beside what it was given") {
  UpdateBench b;
  b.hold(under(1, 0));
  CHECK(b.add(5, "add", "after").code() == Code::internal);
  REQUIRE(b.hold_too(under(2, 0), "after").ok());
  CHECK(b.add(5, "add", "before").ok());
  CHECK(b.add(10, "add", "after").ok());
  CHECK(b.add(10, "add", "after").ok());
  CHECK(b.total() == 15);
  CHECK(b.hold_too(under(3, 0)).code() == Code::already_exists);
  CHECK(b.hold_too(under(3, 0), "between").code() == Code::invalid_argument);
}

TEST_CASE("without an element, an update is made as often as it is asked for") {
  UpdateBench b;
  b.hold(Lease());
  CHECK(b.add(5).ok());
  CHECK(b.add(5).ok());
  CHECK(b.total() == 10);
}

TEST_CASE("an update that failed can be made by the next attempt") {
  UpdateBench b;
  b.hold(under(1, 0));
  CHECK(b.add(Tensor::vector<int32_t>({1, 2})).code() == Code::invalid_argument);
  CHECK(b.add(5).ok());
  CHECK(b.add(5).ok());
  CHECK(b.total() == 5);
}

}  // namespace
}  // namespace millrace
