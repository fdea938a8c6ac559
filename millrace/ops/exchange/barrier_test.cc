// Barriers through their ops: what is whole, what waits, what closing ends, and what is refused.
#include "doctest/doctest.h"

#include "millrace/ops/exchange/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

const OpRegistry& barrier_ops() {
  static const OpRegistry* const kOps = [] {
    auto* made = new OpRegistry;
    REQUIRE(register_exchange(*made).ok());
    return made;
  }();
  return *kOps;
}

Tensor names(std::initializer_list<std::string> keys) { return Tensor::vector<std::string>(keys); }
Tensor numbers(std::initializer_list<float> values) { return Tensor::vector<float>(values); }

// A barrier of two scalars, a float and a string.
class Crossing {
 public:
  Crossing() : bench_(barrier_ops()), handle_(make({DType::f32, DType::string}).value()) {}

  Result<Value> make(std::vector<DType> types, int capacity = -1,
                     const PartialShape& shape = PartialShape::scalar()) {
    const std::vector<PartialShape> shapes(types.size(), shape);
    MR_ASSIGN(std::vector<Value> outputs,
              bench_.run("Barrier", {},
                         {.name = "b",
                          .attrs = {{"component_types", AttrValue(std::move(types))},
                                    {"shapes", AttrValue(shapes)},
                                    {"capacity", AttrValue(capacity)},
                                    {"shared_name", AttrValue("crossing")}}}));
    return std::move(outputs[0]);
  }
  Status insert(int component, Tensor keys, Tensor values) {
    return bench_
        .run("BarrierInsertMany", {handle_, std::move(keys), std::move(values)},
             {.attrs = {{"component_index", AttrValue(component)}}})
        .status();
  }
  std::unique_ptr<Running> start_take(int32_t count, bool takes_fewer = false) {
    return bench_
        .start("BarrierTakeMany", {handle_, Tensor::scalar(count)},
               {.attrs = {{"component_types",
                           AttrValue(std::vector<DType>{DType::f32, DType::string})},
                          {"allow_small_batch", AttrValue(takes_fewer)}}})
        .value();
  }
  Status close(bool cancels = false) {
    return bench_
        .run("BarrierClose", {handle_},
             {.attrs = {{"cancel_pending_enqueues", AttrValue(cancels)}}})
        .status();
  }
  int32_t size(std::string_view which) {
    return bench_.run(str_cat("Barrier", which, "Size"), {handle_})
        .value()[0]
        .tensor.item<int32_t>();
  }
  Bench& bench() { return bench_; }

 private:
  Bench bench_;
  const Value handle_;
};

TEST_CASE("an element leaves a barrier once all of its components came, the oldest first") {
  Crossing barrier;
  REQUIRE(barrier.insert(0, names({"a", "b"}), numbers({1, 2})).ok());
  REQUIRE(barrier.insert(1, names({"c"}), names({"z"})).ok());
  REQUIRE(barrier.insert(0, names({"c"}), numbers({3})).ok());
  CHECK(barrier.size("Ready") == 1);
  CHECK(barrier.size("Incomplete") == 2);
  REQUIRE(barrier.insert(1, names({"b", "a"}), names({"y", "x"})).ok());
  const auto taken = barrier.start_take(3)->outputs().value();
  CHECK(taken[0].tensor == Tensor::vector<int64_t>({INT64_MIN, INT64_MIN, INT64_MIN + 1}));
  CHECK(taken[1].tensor == names({"b", "a", "c"}));
  CHECK(taken[2].tensor == numbers({2, 1, 3}));
  CHECK(taken[3].tensor == names({"y", "x", "z"}));
  CHECK(barrier.size("Ready") == 0);
}

TEST_CASE("a take waits for the last component that it needs") {
  Crossing barrier;
  const auto waiting = barrier.start_take(1);
  REQUIRE(barrier.insert(0, names({"a"}), numbers({1})).ok());
  CHECK_FALSE(waiting->is_done());
  REQUIRE(barrier.insert(1, names({"a"}), names({"x"})).ok());
  REQUIRE(waiting->is_done());
  CHECK(waiting->outputs().value()[2].tensor == numbers({1}));
}

TEST_CASE("a take of nothing has the components' types and shapes") {
  Crossing barrier;
  const auto taken = barrier.start_take(0)->outputs().value();
  CHECK(taken[2].tensor == numbers({}));
  CHECK(taken[3].tensor == names({}));
}

TEST_CASE("a closed barrier takes what old keys lack, and no new ones") {
  Crossing barrier;
  REQUIRE(barrier.insert(0, names({"a", "b"}), numbers({1, 2})).ok());
  const auto two = barrier.start_take(2);
  const auto three = barrier.start_take(3);
  REQUIRE(barrier.close().ok());
  CHECK(barrier.insert(0, names({"c"}), numbers({1})).message() ==
        "Barrier crossing is closed, but attempted to insert a brand new key: c.  Pending enqueues "
        "cancelled: 0.  Insertion index: 0.  Number of incomplete keys: 2.");
  CHECK_FALSE(two->is_done());
  REQUIRE(barrier.insert(1, names({"a", "b"}), names({"x", "y"})).ok());
  REQUIRE(two->is_done());
  CHECK(two->status().ok());
  // Nothing can come for it any more.
  REQUIRE(three->is_done());
  CHECK(three->status().message() ==
        "Barrier 'crossing' is closed and has insufficient elements (requested 3, total size 0)");
  CHECK(barrier.insert(0, names({"c"}), numbers({1})).code() == Code::cancelled);
  CHECK(barrier.close().message() == "Barrier 'crossing' is already closed.");
}

TEST_CASE("a take that may be small gets what there is of a closed barrier, but not nothing") {
  Crossing barrier;
  REQUIRE(barrier.insert(0, names({"a"}), numbers({1})).ok());
  REQUIRE(barrier.insert(1, names({"a"}), names({"x"})).ok());
  const auto waiting = barrier.start_take(5, true);
  CHECK_FALSE(waiting->is_done());
  REQUIRE(barrier.close().ok());
  REQUIRE(waiting->is_done());
  CHECK(waiting->outputs().value()[1].tensor == names({"a"}));
  CHECK(barrier.start_take(5, true)->status().code() == Code::out_of_range);
}

TEST_CASE("a close that cancels drops what is not whole, and may follow one that does not") {
  Crossing barrier;
  REQUIRE(barrier.insert(0, names({"a"}), numbers({1})).ok());
  REQUIRE(barrier.close().ok());
  REQUIRE(barrier.close(true).ok());
  CHECK(barrier.size("Incomplete") == 0);
  CHECK(barrier.insert(1, names({"a"}), names({"x"})).code() == Code::cancelled);
  CHECK(barrier.close(true).code() == Code::cancelled);
}

TEST_CASE("a cancelled step and a dropped barrier end a take") {
  Crossing barrier;
  const auto waiting = barrier.start_take(1);
  barrier.bench().cancellation().cancel(cancelled("enough"));
  REQUIRE(waiting->is_done());
  CHECK(waiting->status().message() == "Dequeue operation was cancelled");
  Crossing other;
  const auto left = other.start_take(1);
  other.bench().resources().clear_all(aborted("reset"));
  REQUIRE(left->is_done());
  CHECK(left->status().message() == "reset");
}

TEST_CASE("an insertion that is refused changes nothing") {
  Crossing barrier;
  REQUIRE(barrier.insert(0, names({"a"}), numbers({1})).ok());
  CHECK(barrier.insert(0, names({"b", "a"}), numbers({1, 2})).message() ==
        "Key a already has a value for component 0 in barrier crossing");
  CHECK(barrier.insert(0, names({"b", "b"}), numbers({1, 2})).message() ==
        "Key b already has a value for component 0 in barrier crossing");
  CHECK(barrier.insert(2, names({"a"}), names({"x"})).message() ==
        "The component ID is out of range 2 > num_components (= 2)");
  CHECK(barrier.insert(-1, names({"a"}), names({"x"})).code() == Code::invalid_argument);
  CHECK(barrier.insert(1, names({"a"}), numbers({1})).message().find("Signature mismatch") == 0);
  CHECK(barrier.insert(1, names({"a"}), names({"x", "y"})).code() == Code::invalid_argument);
  CHECK(barrier.insert(1, names({"a"}), Tensor::of<std::string>({1, 2}, {"x", "y"})).message() ==
        "Shape mismatch in tuple component 3. Expected [], got [2]");
  CHECK(barrier.insert(1, names({"a"}), *Tensor::zeros(DType::string, {1, 0})).message() ==
        "Tensors with no elements are not supported crossing: received shape [1,0]");
  CHECK(barrier.size("Incomplete") == 1);
  CHECK(barrier.size("Ready") == 0);
}

TEST_CASE("a second handle of a barrier must ask for the same, and bounds are refused") {
  Crossing barrier;
  CHECK(barrier.make({DType::f32}).status().message() ==
        "Shared barrier 'crossing' has component types float, string but requested component "
        "types were float");
  CHECK(barrier.make({DType::f32, DType::string}, 3)
            .status()
            .message()
            .find("Barrier only accepts capacity=-1.") == 0);
}

TEST_CASE("a component without a rank is a scalar, and one of which a dim is unknown is refused") {
  Crossing barrier;
  CHECK(barrier.make({DType::f32, DType::string}, -1, PartialShape()).ok());
  CHECK(
      barrier.make({DType::f32, DType::string}, -1, PartialShape::of_rank(1)).status().message() ==
      "All of the component shapes must be specified");
}

}  // namespace
}  // namespace millrace
