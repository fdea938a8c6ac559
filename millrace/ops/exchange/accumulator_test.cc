// Accumulators through their ops: what is stale, what waits, means and sums, and what is refused.
#include "doctest/doctest.h"

#include "millrace/ops/exchange/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

const OpRegistry& exchange_ops() {
  static const OpRegistry* const kOps = [] {
    auto* made = new OpRegistry;
    REQUIRE(register_exchange(*made).ok());
    return made;
  }();
  return *kOps;
}

Tensor row(float a, float b) { return Tensor::vector<float>({a, b}); }

class Gathering {
 public:
  explicit Gathering(std::string_view op = "ResourceConditionalAccumulator",
                     std::string_view reduction = "MEAN", PartialShape shape = {2})
      : bench_(exchange_ops()),
        prefix_(op.starts_with("Resource") ? "Resource"
                : op.starts_with("Sparse") ? "Sparse"
                                           : ""),
        handle_(make(op, reduction, std::move(shape)).value()) {}

  Result<Value> make(std::string_view op, std::string_view reduction, PartialShape shape) {
    MR_ASSIGN(std::vector<Value> outputs,
              bench_.run(op, {},
                         {.name = "sum",
                          .attrs = {{"dtype", DType::f32},
                                    {"shape", AttrValue(std::move(shape))},
                                    {"shared_name", AttrValue("all")},
                                    {"reduction_type", AttrValue(std::string(reduction))}}}));
    return std::move(outputs[0]);
  }
  Status apply(int64_t step, Tensor gradient) {
    return bench_
        .run(prefix_ + "AccumulatorApplyGradient", {handle_, Tensor::scalar(step), gradient})
        .status();
  }
  Status apply_rows(int64_t step, std::vector<int64_t> indices, Tensor values) {
    return bench_
        .run("SparseAccumulatorApplyGradient",
             {handle_, Tensor::scalar(step),
              Tensor::vector<int64_t>(std::span<const int64_t>(indices)), std::move(values),
              Tensor::vector<int64_t>({})},
             {.attrs = {{"has_known_shape", AttrValue(false)}}})
        .status();
  }
  std::unique_ptr<Running> start_take(int32_t required) {
    return bench_
        .start(prefix_ + "AccumulatorTakeGradient", {handle_, Tensor::scalar(required)},
               {.attrs = {{"dtype", DType::f32}}})
        .value();
  }
  Result<std::vector<Value>> take(int32_t required) { return start_take(required)->outputs(); }
  int32_t count() {
    return bench_.run((prefix_ == "Sparse" ? "" : prefix_) + "AccumulatorNumAccumulated", {handle_})
        .value()[0]
        .tensor.item<int32_t>();
  }
  Status set_step(int64_t step) {
    return bench_.run(prefix_ + "AccumulatorSetGlobalStep", {handle_, Tensor::scalar(step)})
        .status();
  }
  Bench& bench() { return bench_; }

 private:
  Bench bench_;
  const std::string prefix_;
  const Value handle_;
};

TEST_CASE("what is taken is the mean of what came, and the next starts from nothing") {
  for (const char* op : {"ConditionalAccumulator", "ResourceConditionalAccumulator"}) {
    CAPTURE(op);
    Gathering sum(op);
    REQUIRE(sum.apply(0, row(1, 2)).ok());
    REQUIRE(sum.apply(0, row(3, 6)).ok());
    CHECK(sum.count() == 2);
    CHECK(sum.take(1).value()[0].tensor == row(2, 4));
    CHECK(sum.count() == 0);
    REQUIRE(sum.apply(1, row(5, 5)).ok());
    CHECK(sum.take(1).value()[0].tensor == row(5, 5));
  }
}

TEST_CASE("what came is not changed by what comes after") {
  Gathering sum;
  const Tensor first = row(1, 2);
  REQUIRE(sum.apply(0, first).ok());
  REQUIRE(sum.apply(0, row(10, 10)).ok());
  CHECK(first == row(1, 2));
}

TEST_CASE("the other reduction is a sum") {
  Gathering sum("ConditionalAccumulator", "SUM");
  REQUIRE(sum.apply(0, row(1, 2)).ok());
  REQUIRE(sum.apply(0, row(3, 6)).ok());
  CHECK(sum.take(2).value()[0].tensor == row(4, 8));
}

TEST_CASE("a gradient from before the accumulator's step is dropped without a word") {
  Gathering sum;
  REQUIRE(sum.set_step(3).ok());
  CHECK(sum.apply(2, row(1, 2)).ok());
  CHECK(sum.count() == 0);
  CHECK(sum.apply(3, row(1, 2)).ok());
  CHECK(sum.count() == 1);
  REQUIRE(sum.take(1).ok());
  CHECK(sum.apply(3, row(1, 2)).ok());  // the take moved the step on
  CHECK(sum.count() == 0);
}

TEST_CASE("a take waits for the last gradient that it needs, and the first take is served first") {
  Gathering sum;
  const auto first = sum.start_take(2);
  const auto second = sum.start_take(1);
  REQUIRE(sum.apply(0, row(1, 2)).ok());
  CHECK_FALSE(first->is_done());
  CHECK_FALSE(second->is_done());
  REQUIRE(sum.apply(0, row(1, 4)).ok());
  REQUIRE(first->is_done());
  CHECK(first->outputs().value()[0].tensor == row(1, 3));
  CHECK_FALSE(second->is_done());
  REQUIRE(sum.apply(1, row(7, 7)).ok());
  CHECK(second->outputs().value()[0].tensor == row(7, 7));
}

TEST_CASE("a cancelled step ends its take, and what came stays") {
  Gathering sum;
  const auto waiting = sum.start_take(2);
  REQUIRE(sum.apply(0, row(1, 2)).ok());
  sum.bench().cancellation().cancel(cancelled("enough"));
  REQUIRE(waiting->is_done());
  CHECK(waiting->status().message() == "TakeGrad operation was cancelled");
  CHECK(sum.count() == 1);
}

TEST_CASE("dropping the accumulator ends what waits on it") {
  Gathering sum;
  const auto waiting = sum.start_take(1);
  sum.bench().resources().clear_all(aborted("reset"));
  REQUIRE(waiting->is_done());
  CHECK(waiting->status().message() == "reset");
}

TEST_CASE("gradients of another shape or type, and takes of none, are refused") {
  Gathering sum("ResourceConditionalAccumulator", "MEAN", {kUnknownDim});
  CHECK(sum.apply(0, Tensor::scalar(1.f)).message() == "Shape mismatch: expected [?], got []");
  REQUIRE(sum.apply(0, row(1, 2)).ok());
  CHECK(sum.apply(0, Tensor::vector<float>({1})).message() ==
        "Shape mismatch: expected [2], got [1]");
  CHECK(sum.apply(0, Tensor::vector<double>({1, 2})).message().find("Signature mismatch") == 0);
  CHECK(sum.take(0).status().message() == "Argument num_required must be positive, but got 0");
  CHECK(sum.count() == 1);
}

TEST_CASE("a second handle must ask for the same") {
  Gathering sum;
  CHECK(sum.make("ResourceConditionalAccumulator", "SUM", {2}).status().message() ==
        "Shared conditional accumulator 'all' has reduction type MEAN but requested SUM");
  CHECK(sum.make("ResourceConditionalAccumulator", "MEAN", {3}).status().message() ==
        "Shared conditional accumulator 'all' has shape [2] but requested shape [3]");
}

TEST_CASE("rows are added by index, and the mean of a row is over those that had it") {
  Gathering sum("SparseConditionalAccumulator", "MEAN", {kUnknownDim, 2});
  REQUIRE(sum.apply_rows(0, {0, 2}, Tensor::of<float>({2, 2}, {1, 2, 3, 4})).ok());
  REQUIRE(sum.apply_rows(0, {1, 2}, Tensor::of<float>({2, 2}, {5, 6, 5, 8})).ok());
  CHECK(sum.count() == 2);
  const auto taken = sum.take(2).value();
  CHECK(taken[0].tensor == Tensor::vector<int64_t>({0, 1, 2}));
  CHECK(taken[1].tensor == Tensor::of<float>({3, 2}, {1, 2, 5, 6, 4, 6}));
  CHECK(taken[2].tensor == Tensor::vector<int64_t>({-1, 2}));
}

TEST_CASE("rows that don't fit are refused in words that say where") {
  Gathering sum("SparseConditionalAccumulator", "MEAN", {3, 2});
  CHECK(sum.apply_rows(0, {0}, Tensor::of<float>({2, 2}, {1, 2, 3, 4})).message() ==
        "Expected 1 non-empty input values, got 2");
  CHECK(sum.apply_rows(0, {3}, Tensor::of<float>({1, 2}, {1, 2})).message() ==
        "Shape mismatch: index of slice 0 exceeded limits of shape; index is 3 exceeded 3");
  CHECK(sum.apply_rows(0, {0}, Tensor::of<float>({1, 3}, {1, 2, 3})).message() ==
        "Shape mismatch: expected values dim 1 to be 2, got 3");
  CHECK(sum.apply_rows(0, {}, Tensor::scalar(1.f)).message() == "Values cannot be 0-dimensional.");
}

}  // namespace
}  // namespace millrace
