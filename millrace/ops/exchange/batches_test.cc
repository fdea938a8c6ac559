// Batch, Unbatch, UnbatchGrad and BatchFunction, run by steps at once. Time moves by hand.
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "doctest/doctest.h"

#include "millrace/base/testing/fake_clock.h"
#include "millrace/base/testing/held_tasks.h"
#include "millrace/ops/exchange/families.h"
#include "millrace/ops/exchange/unbatcher.h"
#include "millrace/ops/state/device_time.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

using std::chrono::microseconds;

class BatchTimers final : public Timers {
 public:
  Timer at(Clock::Time when, Task task) override {
    const Key key{when, ++last_};
    tasks_.emplace(key, std::move(task));
    return handle(key);
  }
  void fire(Clock::Time now) {
    while (!tasks_.empty() && tasks_.begin()->first.when <= now) {
      Task task = std::move(tasks_.extract(tasks_.begin()).mapped());
      task();
    }
  }
  size_t size() const { return tasks_.size(); }

 private:
  void cancel(const Key& key) override { tasks_.erase(key); }
  uint64_t last_ = 0;
  std::map<Key, Task> tasks_;
};

// One call of a function that the test ends, or that doubles what it is given.
class HeldFunction final : public GraphFunction {
 public:
  explicit HeldFunction(std::vector<DType> takes) : takes_(std::move(takes)) {}
  const std::vector<DType>& argument_types() const override { return takes_; }
  const std::vector<DType>& result_types() const override { return gives_; }
  void run(std::shared_ptr<FunctionRun> run) override { calls.push_back(std::move(run)); }

  // Ends the oldest call: each element with what is captured added.
  void end_well() {
    const auto run = take();
    const int32_t more = run->arguments.size() > 1 ? run->arguments[1].item<int32_t>() : 0;
    Tensor sums = run->arguments[0].clone().value();
    for (int32_t& element : sums.mutable_flat<int32_t>()) element += more;
    run->results = {sums};
    run->ended({});
  }
  void end(Status why) { take()->ended(std::move(why)); }
  void end_with(Tensor result) {
    const auto run = take();
    run->results = {std::move(result)};
    run->ended({});
  }

  std::vector<std::shared_ptr<FunctionRun>> calls;

 private:
  std::shared_ptr<FunctionRun> take() {
    auto run = calls.front();
    calls.erase(calls.begin());
    return run;
  }
  const std::vector<DType> takes_;
  const std::vector<DType> gives_ = {DType::i32};
};

class HeldFunctions final : public FunctionSpace {
 public:
  explicit HeldFunctions(std::shared_ptr<HeldFunction> function) : function_(std::move(function)) {}
  Result<std::shared_ptr<GraphFunction>> instantiate(const FunctionRef&) override {
    return std::shared_ptr<GraphFunction>(function_);
  }
  Status check_stateless(const FunctionRef&) const override { return {}; }

 private:
  const std::shared_ptr<HeldFunction> function_;
};

Tensor rows(std::initializer_list<int32_t> values) { return Tensor::vector<int32_t>(values); }

std::string shown(const Running& running) {
  return running.is_done() ? running.status().to_string() : "waits";
}

// Taken out of it: once.
std::vector<Tensor> outputs(Running& running) {
  REQUIRE_MESSAGE(running.is_done(), "it waits");
  auto values = running.outputs();
  REQUIRE_MESSAGE(values.ok(), values.status().to_string());
  std::vector<Tensor> tensors;
  for (Value& value : *values) tensors.push_back(std::move(value.tensor));
  return tensors;
}
Tensor output(Running& running) { return outputs(running)[0]; }

class BatchBench {
 public:
  BatchBench() : ops_(registry()), bench_(*ops_) {
    REQUIRE(bench_.resources()
                .add<DeviceTime>(DeviceTime::kContainer, "",
                                 std::make_shared<DeviceTime>(clock_, timers_, random_, pool_))
                .ok());
    bench_.device().random = &random_;
    set_function({DType::i32});
  }

  void set_function(std::vector<DType> takes) {
    function_ = std::make_shared<HeldFunction>(std::move(takes));
    functions_ = std::make_shared<HeldFunctions>(function_);
    bench_.set_functions(functions_);
  }
  HeldFunction& function() { return *function_; }

  std::unique_ptr<Running> start(std::string_view op, std::vector<Value> inputs, Attrs attrs,
                                 std::string name = "node") {
    auto running = bench_.start(op, std::move(inputs), {.name = name, .attrs = std::move(attrs)});
    REQUIRE_MESSAGE(running.ok(), running.status().to_string());
    pool_.run();
    return *std::move(running);
  }
  std::unique_ptr<Running> batch(Tensor x, Attrs more = {}) {
    Attrs attrs{{"num_batch_threads", 1},
                {"max_batch_size", 2},
                {"batch_timeout_micros", 1000},
                {"grad_timeout_micros", 0}};
    for (const auto& [name, value] : more) attrs.set(name, value);
    return start("Batch", {std::move(x)}, std::move(attrs));
  }
  std::unique_ptr<Running> call(std::vector<Value> inputs, Attrs more = {}) {
    Attrs attrs{{"f", FunctionRef{"f", {}}},
                {"num_batch_threads", 1},
                {"max_batch_size", 2},
                {"batch_timeout_micros", 1000},
                {"Tin", std::vector<DType>{DType::i32}},
                {"Tcaptured", std::vector<DType>(inputs.size() - 1, DType::i32)},
                {"Tout", std::vector<DType>{DType::i32}}};
    for (const auto& [name, value] : more) attrs.set(name, value);
    return start("BatchFunction", std::move(inputs), std::move(attrs));
  }
  std::unique_ptr<Running> unbatch(Tensor x, Tensor index, int64_t id, int64_t micros = 1000) {
    return start("Unbatch", {std::move(x), std::move(index), Tensor::scalar(id)},
                 {{"timeout_micros", micros}});
  }
  void pass(microseconds time) {
    clock_.advance(time);
    timers_.fire(clock_.now());
    pool_.run();
  }
  Bench& bench() { return bench_; }
  testing::HeldTasks& pool() { return pool_; }
  BatchTimers& timers() { return timers_; }

 private:
  static std::unique_ptr<OpRegistry> registry() {
    auto ops = std::make_unique<OpRegistry>();
    REQUIRE(register_exchange(*ops).ok());
    return ops;
  }

  FakeClock clock_;
  BatchTimers timers_;
  SeededRandom random_{42};
  testing::HeldTasks pool_;
  std::unique_ptr<OpRegistry> ops_;
  Bench bench_;
  std::shared_ptr<HeldFunction> function_;
  std::shared_ptr<HeldFunctions> functions_;
};

TEST_CASE("the last of a full batch gets its rows, the others get none, and the index says whose") {
  BatchBench bench;
  const auto first = bench.batch(rows({1}));
  CHECK(shown(*first) == "waits");
  const auto second = bench.batch(rows({2}));
  const auto nothing = outputs(*first), all = outputs(*second);
  CHECK(nothing[0].num_elements() == 0);
  CHECK(nothing[1].shape() == Shape{0, 3});
  const auto one = nothing[2].item<int64_t>(), two = all[2].item<int64_t>();
  CHECK(one != two);
  CHECK(all[0] == rows({1, 2}));
  CHECK(all[1] == Tensor::of<int64_t>({2, 3}, {one, 0, 1, two, 1, 2}));
}

TEST_CASE("a batch that does not fill goes when its time is over, padded with its first row") {
  BatchBench bench;
  const auto only =
      bench.batch(rows({5, 6, 7}),
                  {{"max_batch_size", 8}, {"allowed_batch_sizes", std::vector<int64_t>{2, 5, 8}}});
  bench.pass(microseconds(999));
  CHECK(shown(*only) == "waits");
  bench.pass(microseconds(1));
  const auto padded = outputs(*only);
  CHECK(padded[0] == rows({5, 6, 7, 5, 5}));
  CHECK(padded[1].shape() == Shape{1, 3});
}

TEST_CASE("rows of other shapes, and other queues, make batches of their own") {
  BatchBench bench;
  const auto narrow = bench.batch(Tensor::of<int32_t>({1, 1}, {1}));
  const auto wide = bench.batch(Tensor::of<int32_t>({1, 2}, {2, 3}));
  const auto elsewhere = bench.batch(rows({4}), {{"batching_queue", "other"}});
  CHECK(output(*narrow) == Tensor::of<int32_t>({1, 1}, {1}));  // another one waits behind it
  CHECK(shown(*wide) == "waits");
  CHECK(shown(*elsewhere) == "waits");
  bench.pass(microseconds(1000));
  CHECK(output(*wide) == Tensor::of<int32_t>({1, 2}, {2, 3}));
  CHECK(output(*elsewhere) == rows({4}));
}

TEST_CASE("a cancelled step leaves its batch, and nobody waits for it") {
  BatchBench bench;
  const auto gone = bench.batch(rows({1}));
  bench.bench().cancellation().cancel(cancelled("no more"));
  CHECK(gone->status().code() == Code::cancelled);
  bench.pass(microseconds(2000));
  CHECK(bench.timers().size() == 0);
  const auto late = bench.batch(rows({2}));
  CHECK(late->status().code() == Code::cancelled);
}

TEST_CASE("what is dropped from its device answers those who wait") {
  BatchBench bench;
  const auto waiting = bench.batch(rows({1}));
  const auto unbatched = bench.unbatch(rows({1}), Tensor::of<int64_t>({1, 3}, {8, 0, 1}), 9);
  bench.bench().resources().clear("", aborted("reset"));
  CHECK(shown(*waiting) == "ABORTED: reset");
  CHECK(shown(*unbatched) == "ABORTED: reset");
}

TEST_CASE("rules that contradict themselves and rows that do not fit are refused") {
  BatchBench bench;
  const auto refused = [&](std::vector<Value> inputs, Attrs attrs) {
    auto running = bench.bench().run("Batch", std::move(inputs), {.attrs = std::move(attrs)});
    return running.status().to_string();
  };
  const Attrs usual{{"num_batch_threads", 1},
                    {"max_batch_size", 2},
                    {"batch_timeout_micros", 0},
                    {"grad_timeout_micros", 0}};
  const auto with = [&](std::string_view name, AttrValue value) {
    Attrs attrs = usual;
    attrs.set(name, std::move(value));
    return attrs;
  };
  CHECK(refused({rows({1, 2, 3})}, usual) ==
        "INVALID_ARGUMENT: Task size 3 is larger than maximum input batch size 2");
  CHECK(refused({Tensor::scalar<int32_t>(1)}, usual).find("must have at least one dimension") !=
        std::string::npos);
  CHECK(refused({rows({1}), rows({1, 2})}, usual).find("must have equal 0th-dimension size") !=
        std::string::npos);
  CHECK(refused({rows({1})}, with("num_batch_threads", 0)) ==
        "INVALID_ARGUMENT: num_batch_threads must be positive; was 0");
  CHECK(refused({rows({1})}, with("max_batch_size", 0)) ==
        "INVALID_ARGUMENT: input_batch_size_limit must be positive; was 0");
  CHECK(refused({rows({1})}, with("batch_timeout_micros", -1)) ==
        "INVALID_ARGUMENT: batch_timeout_micros must be non-negative; was -1");
  CHECK(refused({rows({1})}, with("allowed_batch_sizes", std::vector<int64_t>{2, 1}))
            .find("must be monotonically increasing") != std::string::npos);
  CHECK(refused({rows({1})}, with("allowed_batch_sizes", std::vector<int64_t>{1}))
            .find("final entry in allowed_batch_sizes must equal max_batch_size") !=
        std::string::npos);
}

TEST_CASE("each step takes its own rows of what was made of a batch") {
  BatchBench bench;
  const Tensor none = Tensor::zeros(DType::i64, {0, 3}).value();
  const auto early = bench.unbatch(rows({}), none, 7);
  CHECK(shown(*early) == "waits");
  const auto owner = bench.unbatch(rows({1, 2, 3, 1}),
                                   Tensor::of<int64_t>({3, 3}, {7, 0, 1, 8, 1, 2, 9, 2, 3}), 9);
  CHECK(output(*early) == rows({1}));
  CHECK(output(*owner) == rows({3}));
  const auto late = bench.unbatch(rows({}), none, 8);
  CHECK(output(*late) == rows({2}));
}

TEST_CASE("who waits too long for rows is told so, and rows that nobody takes are dropped") {
  BatchBench bench;
  const Tensor none = Tensor::zeros(DType::i64, {0, 3}).value();
  const auto waiting = bench.unbatch(rows({}), none, 7);
  bench.pass(microseconds(1000));
  CHECK(shown(*waiting) == "DEADLINE_EXCEEDED: Batched data did not arrive within timeout window.");
  const auto owner =
      bench.unbatch(rows({1, 2}), Tensor::of<int64_t>({2, 3}, {8, 0, 1, 9, 1, 2}), 9);
  CHECK(output(*owner) == rows({2}));
  bench.pass(microseconds(2000));
  bench.pass(microseconds(2000));
  CHECK(bench.timers().size() == 0);
  CHECK(bench.bench().resources().list().back().description ==
        "unbatcher 'node': 0 wait to be taken, 0 are waited for");
}

TEST_CASE("an index that says nonsense is refused") {
  BatchBench bench;
  const auto refused = [&](Tensor x, Tensor index, Tensor id) {
    return bench.bench()
        .run("Unbatch", {std::move(x), std::move(index), std::move(id)},
             {.attrs = {{"timeout_micros", 1000}}})
        .status()
        .message();
  };
  const Tensor id = Tensor::scalar<int64_t>(7);
  CHECK(refused(rows({1}), Tensor::of<int64_t>({1, 3}, {7, 0, 1}), Tensor::vector<int64_t>({7}))
            .starts_with("Input id should be scalar;"));
  CHECK(refused(rows({1}), Tensor::of<int64_t>({2, 3}, {7, 0, 1, 8, 1, 2}), id) ==
        "Wrong shape for index tensor. Expected 0th dimension size to be no greater than 1; Got: "
        "2.");
  CHECK(refused(rows({1, 2}), Tensor::of<int64_t>({1, 2}, {7, 0}), id)
            .starts_with("Wrong shape for index tensor. Expected 1st dimension size to be 3"));
  CHECK(refused(rows({1, 2}), Tensor::of<int64_t>({1, 3}, {7, 0, 3}), id)
            .starts_with("Sum of split sizes must not exceed dim0-size"));
  CHECK(refused(rows({1, 2}), Tensor::of<int64_t>({1, 3}, {7, 1, 0}), id) ==
        "batch_index says that 7 has the rows from 1 to 0");
}

TEST_CASE("the gradients of all rows come together where the batch is, zeros for what padded it") {
  BatchBench bench;
  const auto bring = [&](Tensor original, Tensor index, Tensor gradient, int64_t id) {
    return bench.start(
        "UnbatchGrad",
        {std::move(original), std::move(index), std::move(gradient), Tensor::scalar(id)}, {});
  };
  const Tensor none = Tensor::zeros(DType::i64, {0, 3}).value();
  const auto owner =
      bring(rows({1, 2, 1}), Tensor::of<int64_t>({2, 3}, {7, 0, 1, 8, 1, 2}), rows({80}), 8);
  CHECK(shown(*owner) == "waits");
  const auto other = bring(rows({}), none, rows({70}), 7);
  CHECK(output(*other).num_elements() == 0);
  CHECK(output(*owner) == rows({70, 80, 0}));
  CHECK(bring(rows({1}), none, rows({1}), 5)->status().message() ==
        "batch_index is empty while the tensor isn't.");
}

TEST_CASE("a batch whose gradient was dropped is told so, and what is wanted is not dropped") {
  const auto gatherer = std::make_shared<GradientGatherer>("g");
  constexpr auto kMost = static_cast<int64_t>(GradientGatherer::kMostKept);
  const auto bring = [&](int64_t id) {
    return gatherer->bring(id, Tensor::vector<float>({static_cast<float>(id)}));
  };
  const auto wanting = [&](std::vector<int64_t> ids) {
    auto told = std::make_shared<std::optional<Result<std::vector<Tensor>>>>();
    gatherer->take(std::move(ids), nullptr, Done<std::vector<Tensor>>([told](auto result) {
                     told->emplace(std::move(result));
                   }));
    return told;
  };
  REQUIRE(bring(0).ok());
  REQUIRE(bring(1).ok());
  CHECK(bring(1).to_string() == "INVALID_ARGUMENT: Two runs with the same batch key 1");
  const auto waits = wanting({0, kMost + 1});
  for (int64_t id = 2; id <= kMost; ++id) REQUIRE(bring(id).ok());
  CHECK_FALSE(waits->has_value());
  const auto lost = wanting({1, kMost + 2});
  REQUIRE(lost->has_value());
  CHECK((*lost)->status().to_string() ==
        "RESOURCE_EXHAUSTED: the gradient of batch key 1 was dropped: more than 4096 wait for the "
        "steps that have their batches; have fewer steps run at once");
  REQUIRE(bring(kMost + 1).ok());
  REQUIRE(waits->has_value());
  REQUIRE((*waits)->ok());
  CHECK((**waits)->at(0).item<float>() == 0);
  // It may be brought anew.
  REQUIRE(bring(1).ok());
  CHECK(wanting({1})->has_value());
}

TEST_CASE("a function is called once for the rows of many steps, with what the last one captured") {
  BatchBench bench;
  bench.set_function({DType::i32, DType::i32});
  const auto first = bench.call({rows({1}), Tensor::scalar<int32_t>(10)});
  CHECK(bench.function().calls.empty());
  const auto second = bench.call({rows({2}), Tensor::scalar<int32_t>(20)});
  REQUIRE(bench.function().calls.size() == 1);
  bench.function().end_well();
  CHECK(output(*first) == rows({21}));
  CHECK(output(*second) == rows({22}));
}

TEST_CASE("as many batches are worked on at once as there are threads for it") {
  BatchBench bench;
  const auto first = bench.call({rows({1, 2})});
  const auto second = bench.call({rows({3, 4})});
  CHECK(bench.function().calls.size() == 1);
  bench.function().end_well();
  bench.pool().run();
  CHECK(output(*first) == rows({1, 2}));
  REQUIRE(bench.function().calls.size() == 1);
  bench.function().end_well();
  CHECK(output(*second) == rows({3, 4}));
}

TEST_CASE("a large task goes through several batches and comes back whole") {
  BatchBench bench;
  const auto large =
      bench.call({rows({1, 2, 3, 4, 5})}, {{"num_batch_threads", 2},
                                           {"max_batch_size", 5},
                                           {"allowed_batch_sizes", std::vector<int64_t>{1, 2}},
                                           {"enable_large_batch_splitting", true}});
  CHECK(bench.function().calls.size() == 2);
  bench.function().end_well();
  bench.function().end_well();
  bench.pass(microseconds(1000));
  CHECK(shown(*large) == "waits");
  bench.function().end_well();
  CHECK(output(*large) == rows({1, 2, 3, 4, 5}));
}

TEST_CASE("a failure of the function, and rows that it does not give, are told to all") {
  BatchBench bench;
  const auto first = bench.call({rows({1})}), second = bench.call({rows({2})});
  bench.function().end(invalid("no good"));
  CHECK(shown(*first) == "INVALID_ARGUMENT: no good");
  CHECK(shown(*second) == "INVALID_ARGUMENT: no good");
  bench.pool().run();
  const auto third = bench.call({rows({1, 2})});
  bench.function().end_with(rows({1}));
  CHECK(third->status().message().starts_with(
      "Batched output tensor's 0th dimension does not equal the sum"));
  bench.pool().run();
  const auto fourth = bench.call({rows({1, 2})});
  bench.function().end_with(Tensor::scalar<int32_t>(1));
  CHECK(fourth->status().message().starts_with("Batched output tensor has 0 dimensions"));
}

TEST_CASE("a function whose steps have all ended is told to stop") {
  BatchBench bench;
  const auto only = bench.call({rows({1, 2})});
  REQUIRE(bench.function().calls.size() == 1);
  const std::shared_ptr<FunctionRun> run = bench.function().calls[0];
  CHECK(!run->cancellation.cancelled());
  bench.bench().cancellation().cancel(cancelled("no more"));
  CHECK(only->status().code() == Code::cancelled);
  CHECK(run->cancellation.cancelled());
  bench.function().end(cancelled("stopped"));
}

TEST_CASE("a function that takes other arguments is refused by their number") {
  BatchBench bench;
  bench.set_function({DType::i32, DType::i32});
  CHECK(bench.call({rows({1})})->status().message() ==
        "Function takes 2 argument(s) but 1 argument(s) were passed");
}

}  // namespace
}  // namespace millrace
