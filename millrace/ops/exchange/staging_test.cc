// Staging areas and maps, and mutexes, through their ops: what waits, what ends it, what is
// refused.
#include "doctest/doctest.h"

#include "millrace/ops/exchange/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

const OpRegistry& staging_ops() {
  static const OpRegistry* const kOps = [] {
    auto* made = new OpRegistry;
    REQUIRE(register_exchange(*made).ok());
    return made;
  }();
  return *kOps;
}

Tensor count(float value) { return Tensor::scalar(value); }

// Tuples of a float and a string.
class Stage {
 public:
  explicit Stage(int capacity = 0, int memory_limit = 0)
      : bench_(staging_ops()), capacity_(capacity), memory_limit_(memory_limit) {}

  std::unique_ptr<Running> start(std::string_view op, std::vector<Tensor> inputs = {},
                                 std::vector<DType> types = {DType::f32, DType::string}) {
    Attrs attrs{{"capacity", AttrValue(capacity_)},
                {"memory_limit", AttrValue(memory_limit_)},
                {"dtypes", AttrValue(std::move(types))},
                {"shared_name", AttrValue("area")}};
    return bench_
        .start(op,
               std::vector<Value>(std::make_move_iterator(inputs.begin()),
                                  std::make_move_iterator(inputs.end())),
               {.attrs = std::move(attrs)})
        .value();
  }
  Status status(std::string_view op, std::vector<Tensor> inputs = {},
                std::vector<DType> types = {DType::f32, DType::string}) {
    const auto running = start(op, std::move(inputs), std::move(types));
    REQUIRE(running->is_done());
    return running->status();
  }
  std::vector<Value> outputs(std::string_view op, std::vector<Tensor> inputs = {},
                             std::vector<DType> types = {DType::f32, DType::string}) {
    const auto running = start(op, std::move(inputs), std::move(types));
    REQUIRE(running->is_done());
    return running->outputs().value();
  }
  int32_t size(std::string_view op) { return outputs(op)[0].tensor.item<int32_t>(); }
  Bench& bench() { return bench_; }

 private:
  Bench bench_;
  const int capacity_, memory_limit_;
};

Tensor text(std::string value) { return Tensor::scalar(std::move(value)); }
Tensor key(int64_t value) { return Tensor::scalar(value); }
Tensor at(std::initializer_list<int32_t> indices) { return Tensor::vector<int32_t>(indices); }

TEST_CASE("tuples leave a staging area in the order in which they came") {
  Stage stage;
  REQUIRE(stage.status("Stage", {count(1), text("a")}).ok());
  REQUIRE(stage.status("Stage", {count(2), text("b")}).ok());
  CHECK(stage.outputs("StagePeek", {Tensor::scalar<int32_t>(1)})[1].tensor == text("b"));
  CHECK(stage.size("StageSize") == 2);
  const auto first = stage.outputs("Unstage");
  CHECK(first[0].tensor == count(1));
  CHECK(first[1].tensor == text("a"));
  REQUIRE(stage.status("StageClear").ok());
  CHECK(stage.size("StageSize") == 0);
}

TEST_CASE("who takes from an empty area waits, and who puts into a full one") {
  Stage stage(1);
  const auto taking = stage.start("Unstage");
  const auto peeking = stage.start("StagePeek", {Tensor::scalar<int32_t>(0)});
  CHECK_FALSE(taking->is_done());
  REQUIRE(stage.status("Stage", {count(1), text("a")}).ok());
  REQUIRE(taking->is_done());
  CHECK_FALSE(peeking->is_done());
  REQUIRE(stage.status("Stage", {count(2), text("b")}).ok());
  CHECK(peeking->is_done());
  const auto putting = stage.start("Stage", {count(3), text("c")});
  CHECK_FALSE(putting->is_done());
  CHECK(stage.outputs("Unstage")[0].tensor == count(2));
  CHECK(putting->is_done());
}

TEST_CASE("bytes bound an area as well, and what can never fit is refused at once") {
  Stage stage(0, 48);
  const Tensor ten = *Tensor::zeros(DType::f32, {10});
  REQUIRE(stage.status("Stage", {ten}, {DType::f32}).ok());
  const auto putting = stage.start("Stage", {ten}, {DType::f32});
  CHECK_FALSE(putting->is_done());
  CHECK(stage.outputs("Unstage", {}, {DType::f32})[0].tensor == ten);
  CHECK(putting->is_done());
  const Status status = stage.status("Stage", {*Tensor::zeros(DType::f32, {13})}, {DType::f32});
  CHECK(status.code() == Code::resource_exhausted);
  CHECK(status.message() ==
        "Attempted to insert tensors with combined size of '52' bytes into Staging Area with a "
        "memory limit of '48'.");
}

TEST_CASE("a cancelled step and a dropped container end each wait of a staging area") {
  for (const char* op : {"Unstage", "OrderedMapUnstage", "MapPeek", "MapUnstageNoKey"}) {
    CAPTURE(op);
    std::vector<Tensor> inputs;
    if (std::string_view(op).find("Map") != std::string_view::npos) inputs = {key(1), at({0, 1})};
    if (std::string_view(op).ends_with("NoKey")) inputs = {at({0, 1})};
    Stage cancelled_stage, dropped_stage;
    const auto first = cancelled_stage.start(op, inputs);
    cancelled_stage.bench().cancellation().cancel(cancelled("enough"));
    REQUIRE(first->is_done());
    CHECK(first->status().message() == "Unstage operation was cancelled");
    const auto second = dropped_stage.start(op, inputs);
    dropped_stage.bench().resources().clear_all(aborted("reset"));
    REQUIRE(second->is_done());
    CHECK(second->status().message() == "reset");
  }
}

TEST_CASE("what was staged must be taken as what it is") {
  Stage stage;
  REQUIRE(stage.status("Stage", {count(1), text("a")}).ok());
  REQUIRE(stage.status("Stage", {count(1), text("a")}).ok());
  CHECK(stage.status("Unstage", {}, {DType::f32}).message() == "Mismatch stage/unstage: 2 vs. 1");
  CHECK(stage.status("Unstage", {}, {DType::f32, DType::f32}).message() ==
        "Mismatch stage/unstage: component 1 is string, and 'node' takes float");
  CHECK(stage.status("StagePeek", {Tensor::scalar<int32_t>(-1)}).message() ==
        "index must be at least 0, not -1");
}

TEST_CASE("a tuple of a map is whole once all of its components came, in any order") {
  for (const std::string prefix : {"Map", "OrderedMap"}) {
    CAPTURE(prefix);
    Stage stage;
    const auto waiting = stage.start(prefix + "Unstage", {key(7), at({0, 1})});
    REQUIRE(stage.status(prefix + "Stage", {key(7), at({1}), text("b")}).ok());
    CHECK(stage.size(prefix + "IncompleteSize") == 1);
    CHECK(stage.size(prefix + "Size") == 0);
    CHECK_FALSE(waiting->is_done());
    REQUIRE(stage.status(prefix + "Stage", {key(7), at({0}), count(1)}).ok());
    REQUIRE(waiting->is_done());
    CHECK(waiting->outputs().value()[1].tensor == text("b"));
    CHECK(stage.size(prefix + "IncompleteSize") == 0);
    CHECK(stage.size(prefix + "Size") == 0);
  }
}

TEST_CASE("components can be taken one by one, and once") {
  Stage stage;
  REQUIRE(stage.status("MapStage", {key(1), at({0, 1}), count(1), text("a")}).ok());
  CHECK(stage.outputs("MapUnstage", {key(1), at({0})}, {DType::f32})[0].tensor == count(1));
  CHECK(stage.status("MapUnstage", {key(1), at({0})}, {DType::f32}).message() ==
        "Tensor at index '0' for key '1' has already been removed.");
  CHECK(stage.size("MapSize") == 1);
  CHECK(stage.outputs("MapUnstage", {key(1), at({1})}, {DType::string})[0].tensor == text("a"));
  CHECK(stage.size("MapSize") == 0);
}

TEST_CASE("who takes a part may come first, before it is known how much there will be") {
  Stage stage;
  const auto waiting = stage.start("MapUnstage", {key(1), at({1})}, {DType::string});
  REQUIRE(stage.status("MapStage", {key(1), at({0, 1}), count(1), text("a")}).ok());
  REQUIRE(waiting->is_done());
  CHECK(waiting->outputs().value()[0].tensor == text("a"));
  REQUIRE(stage.status("MapStage", {key(2), at({0}), count(1)}).ok());
  CHECK(
      stage
          .status("MapStage", {key(2), at({1}), text("a")}, {DType::f32, DType::string, DType::f32})
          .message() == "The tuple for key '2' was begun with 2 components, and goes on with 3");
}

TEST_CASE("an ordered map gives the tuple of the least key, and maps of both kinds are apart") {
  Stage stage;
  for (const int64_t k : {5, 3, 4}) {
    const auto value = static_cast<float>(k);
    REQUIRE(stage.status("OrderedMapStage", {key(k), at({0, 1}), count(value), text("a")}).ok());
  }
  CHECK(stage.size("MapSize") == 0);
  CHECK(stage.outputs("OrderedMapPeek", {key(5), at({0, 1})})[0].tensor == count(5));
  const std::vector<DType> types{DType::f32, DType::string};
  for (const int64_t k : {3, 4, 5}) {
    const auto taken = stage.outputs("OrderedMapUnstageNoKey", {at({0, 1})}, types);
    CHECK(taken[0].tensor == key(k));
    CHECK(taken[1].tensor == count(static_cast<float>(k)));
  }
  REQUIRE(stage.status("OrderedMapClear").ok());
}

TEST_CASE("a map that is full makes who puts wait") {
  Stage stage(1);
  REQUIRE(stage.status("MapStage", {key(1), at({0, 1}), count(1), text("a")}).ok());
  const auto putting = stage.start("MapStage", {key(2), at({0, 1}), count(2), text("b")});
  CHECK_FALSE(putting->is_done());
  REQUIRE(stage.status("MapUnstage", {key(1), at({0, 1})}).ok());
  CHECK(putting->is_done());
}

TEST_CASE("indices that make no sense are refused by maps") {
  Stage stage;
  const auto put = [&](Tensor indices, std::vector<Tensor> values) {
    std::vector<Tensor> inputs{key(1), std::move(indices)};
    inputs.insert(inputs.end(), values.begin(), values.end());
    return stage.status("MapStage", std::move(inputs)).message();
  };
  CHECK(put(at({}), {count(1)}) == "'node' has 0 indices for 1 values; give one for each");
  CHECK(put(at({1, 0}), {text("a"), count(1)}) == "Indices are not strictly ordered");
  CHECK(put(at({2}), {count(1)}) == "Index '2' for key '1' was out of bounds '2'.");
  CHECK(put(at({-1}), {count(1)}) == "Index '-1' for key '1' was out of bounds '2'.");
  CHECK(put(at({0}), {count(1)}).empty());
  CHECK(put(at({0}), {count(1)}) ==
        "The tensor for index '0' for key '1' was already initialized '2'.");
  CHECK(stage.status("MapUnstage", {Tensor::vector<int64_t>({1, 2}), at({0, 1})}).message() ==
        "key must be an int64 scalar, got tensor with shape: [2]");
}

TEST_CASE("one lock at a time is held, until its last copy is gone") {
  Bench bench(staging_ops());
  const Value mutex = bench.run("MutexV2", {}, {.name = "m"}).value()[0];
  auto first = bench.run("MutexLock", {mutex}).value();
  const auto second = bench.start("MutexLock", {mutex}).value();
  const auto third = bench.start("MutexLock", {mutex}).value();
  CHECK_FALSE(second->is_done());
  REQUIRE(bench.run("ConsumeMutexLock", {std::move(first[0])}).ok());
  REQUIRE(second->is_done());
  CHECK_FALSE(third->is_done());
  bench.cancellation().cancel(cancelled("enough"));
  REQUIRE(third->is_done());
  CHECK(third->status().code() == Code::cancelled);
  const Tensor no_lock = Tensor::scalar(Variant());
  CHECK(bench.run("ConsumeMutexLock", {no_lock}).status().code() == Code::invalid_argument);
}

}  // namespace
}  // namespace millrace
