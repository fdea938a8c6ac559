// Ragged tensors beside their examples: variants there and back, and what is refused.
#include <limits>

#include <doctest/doctest.h>

#include "millrace/op/registry.h"
#include "millrace/ops/ragged/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

const OpRegistry& ragged_ops() {
  static const OpRegistry* const kOps = [] {
    auto* made = new OpRegistry;
    REQUIRE(register_ragged(*made).ok());
    return made;
  }();
  return *kOps;
}

const Tensor kSplits = Tensor::vector<int64_t>({0, 2, 2, 5});
const Tensor kValues = Tensor::vector<float>({1, 2, 3, 4, 5});

std::vector<Tensor> made_by(std::string_view op, std::vector<Tensor> inputs, Attrs attrs = {}) {
  const auto made = run_op(ragged_ops(), op, std::move(inputs), std::move(attrs));
  REQUIRE_MESSAGE(made.ok(), made.status().to_string());
  return *made;
}

std::string refusal_of(std::string_view op, std::vector<Tensor> inputs, Attrs attrs = {}) {
  const auto made = run_op(ragged_ops(), op, std::move(inputs), std::move(attrs));
  return made.ok() ? "it ran" : std::string(made.status().message());
}

bool says(const std::string& message, std::string_view words) {
  CAPTURE(message);
  return message.find(words) != std::string::npos;
}

Attrs boxing(int64_t rank, bool is_batch) {
  return {{"RAGGED_RANK", rank}, {"batched_input", is_batch}, {"Tsplits", DType::i64}};
}

Attrs unboxing(int64_t input_rank, int64_t output_rank) {
  return {{"input_ragged_rank", input_rank},
          {"output_ragged_rank", output_rank},
          {"Tvalues", DType::f32},
          {"Tsplits", DType::i64}};
}

TEST_CASE("a ragged tensor in variants comes out as it went in") {
  for (const bool is_batch : {true, false}) {
    const Tensor boxed =
        made_by("RaggedTensorToVariant", {kSplits, kValues}, boxing(1, is_batch))[0];
    CHECK(boxed.shape() == (is_batch ? Shape{3} : Shape()));
    CHECK(made_by("RaggedTensorFromVariant", {boxed}, unboxing(is_batch ? 0 : 1, 1)) ==
          std::vector<Tensor>{kSplits, kValues});
    CHECK(made_by("RaggedTensorFromVariant", {boxed}, unboxing(-1, 1)).size() == 2);
  }
  const Tensor outer = Tensor::vector<int64_t>({0, 1, 3});
  const Tensor boxed =
      made_by("RaggedTensorToVariant", {outer, kSplits, kValues}, boxing(2, true))[0];
  CHECK(made_by("RaggedTensorFromVariant", {boxed}, unboxing(1, 2)) ==
        std::vector<Tensor>{outer, kSplits, kValues});
}

TEST_CASE("rows of a dense tensor are boxed, too") {
  const Tensor matrix = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  const Tensor boxed = made_by("RaggedTensorToVariant", {matrix}, boxing(0, true))[0];
  CHECK(boxed.shape() == Shape{2});
  const auto whole = made_by("RaggedTensorFromVariant", {boxed}, unboxing(0, 1));
  CHECK(whole[0] == Tensor::vector<int64_t>({0, 2, 4}));
  CHECK(whole[1] == Tensor::vector<float>({1, 2, 3, 4}));
}

TEST_CASE("variants of nothing make a ragged tensor without rows") {
  const Tensor none = *Tensor::allocate(DType::variant, {0});
  const auto made = made_by("RaggedTensorFromVariant", {none}, unboxing(0, 1));
  CHECK(made[0] == Tensor::vector<int64_t>({0}));
  CHECK(made[1].num_elements() == 0);
}

TEST_CASE("more rows of nothing than memory holds are refused") {
  const Tensor none = *Tensor::allocate(DType::variant, {int64_t{1} << 50, 0});
  const auto made = run_op(ragged_ops(), "RaggedTensorFromVariant", {none}, unboxing(0, 2));
  CHECK(made.status().code() == Code::resource_exhausted);
}

TEST_CASE("what arrives at the variants goes to the values") {
  const Tensor boxed = made_by("RaggedTensorToVariant", {kSplits, kValues}, boxing(1, true))[0];
  const Attrs attrs = {{"Tvalues", DType::f32}};
  const auto gradient = [&](const Tensor& encoded, int32_t rows) {
    return std::vector<Tensor>{encoded, kSplits, Tensor::vector<int32_t>({rows})};
  };
  CHECK(made_by("RaggedTensorToVariantGradient", gradient(boxed, 5), attrs)[0] == kValues);
  CHECK(says(refusal_of("RaggedTensorToVariantGradient", gradient(boxed, 4), attrs),
             "have more elements than [4]"));
  CHECK(says(refusal_of("RaggedTensorToVariantGradient", gradient(boxed, 6), attrs),
             "have 5 elements, not those of [6]"));
  // Of the first row nothing was used.
  Tensor holed = *boxed.clone();
  holed.mutable_flat<Variant>()[0] = Variant{};
  CHECK(made_by("RaggedTensorToVariantGradient", gradient(holed, 5), attrs)[0] ==
        Tensor::vector<float>({0, 0, 3, 4, 5}));
  const Tensor short_splits = Tensor::vector<int64_t>({0, 5});
  Tensor empty = *boxed.clone();
  for (Variant& each : empty.mutable_flat<Variant>()) each = Variant{};
  CHECK(says(refusal_of("RaggedTensorToVariantGradient",
                        {empty, short_splits, Tensor::vector<int32_t>({5})}, attrs),
             "gradients of more than 1 rows, but row_splits say 1"));
  const Tensor nothing = Tensor::scalar(Variant{});
  CHECK(made_by("RaggedTensorToVariantGradient", gradient(nothing, 2), attrs)[0] ==
        Tensor::vector<float>({0, 0}));
}

TEST_CASE("splits that do not split the values are refused") {
  const auto box = [](std::initializer_list<int64_t> splits) {
    return refusal_of("RaggedTensorToVariant", {Tensor::vector<int64_t>(splits), kValues},
                      boxing(1, true));
  };
  const auto sparse = [](std::initializer_list<int64_t> splits) {
    return refusal_of("RaggedTensorToSparse", {Tensor::vector<int64_t>(splits), kValues},
                      {{"RAGGED_RANK", int64_t{1}}});
  };
  CHECK(box({0, 5}) == "it ran");
  CHECK(says(box({}), "must have at least one splits"));
  CHECK(says(box({1, 5}), "first element of ragged splits must be 0 but is 1"));
  CHECK(says(box({0, 4}), "must be the number of ragged values(5) but is 4"));
  CHECK(says(box({0, 3, 2, 5}), "ragged_splits[2]=2 is smaller than row_splits[1]=3"));
  CHECK(says(box({-1, 5}), "splits[0] = -1 < 0"));
  CHECK(says(box({0, 6}), "the last is 6, but there are only 5"));
  // The same in the words that TensorFlow has for this op.
  CHECK(sparse({0, 5}) == "it ran");
  CHECK(says(sparse({}), "ragged splits may not be empty"));
  CHECK(says(sparse({1, 5}), "First value of ragged splits must be 0, but is 1 in level 0"));
  CHECK(says(sparse({0, 4}),
             "Final value of ragged splits must match the length of what they "
             "split, 5, but is 4 in level 0"));
  CHECK(says(sparse({0, 3, 2, 5}), "ragged_splits[2]=2 is smaller than row_splits[1]=3"));
  CHECK(says(sparse({-1, 5}), "First value of ragged splits must be 0"));
  CHECK(says(sparse({0, 6}), "Final value of ragged splits must match"));
}

TEST_CASE("what is no ragged tensor of the rank and types is not taken out of a variant") {
  const Tensor boxed = made_by("RaggedTensorToVariant", {kSplits, kValues}, boxing(1, true))[0];
  const auto take = [&](const Tensor& from, Attrs attrs) {
    return refusal_of("RaggedTensorFromVariant", {from}, std::move(attrs));
  };
  CHECK(says(take(boxed, unboxing(1, 2)), "has ragged_rank=0.  Expected ragged_rank=1"));
  CHECK(says(take(boxed, unboxing(1, 1)), "output_ragged_rank must be equal to input_ragged_rank"));
  CHECK(says(take(*Tensor::allocate(DType::variant, {1}), unboxing(0, 1)),
             "doesn't hold a RaggedTensorVariant"));
  Attrs other = unboxing(0, 1);
  other.set("Tvalues", DType::i32);
  CHECK(says(take(boxed, other), "Expected values Tensor dtype: int32, found: float"));
}

TEST_CASE("gathers refuse rows that are not there and ranks that do not come out") {
  const auto gather = [](std::initializer_list<int64_t> rows, int64_t rank) {
    return refusal_of("RaggedGather", {kSplits, kValues, Tensor::vector<int64_t>(rows)},
                      {{"PARAMS_RAGGED_RANK", int64_t{1}}, {"OUTPUT_RAGGED_RANK", rank}});
  };
  CHECK(gather({2, 0}, 1) == "it ran");
  CHECK(says(gather({3}, 1), "indices[0] = 3 is not in [0, 3)"));
  CHECK(says(gather({-1}, 1), "indices[0] = -1 is not in [0, 3)"));
  CHECK(says(gather({0}, 2), "OUTPUT_RAGGED_RANK = 2 must be"));
}

TEST_CASE("ranges refuse a delta of 0, shapes that differ and more numbers than memory") {
  const auto range = [](std::initializer_list<int64_t> starts,
                        std::initializer_list<int64_t> limits, int64_t delta) {
    return refusal_of("RaggedRange", {Tensor::vector<int64_t>(starts),
                                      Tensor::vector<int64_t>(limits), Tensor::scalar(delta)});
  };
  const int64_t low = std::numeric_limits<int64_t>::min(),
                high = std::numeric_limits<int64_t>::max();
  CHECK(range({0, 5}, {3, 5}, 2) == "it ran");
  // Three steps, although the double that is nearest to each of them says a little more.
  CHECK(made_by("RaggedRange", {Tensor::scalar(0.f), Tensor::scalar(0.6f),
                                Tensor::scalar(0.2f)})[0] == Tensor::vector<int64_t>({0, 3}));
  CHECK(says(range({0}, {3}, 0), "Requires delta != 0"));
  CHECK(says(range({0, 1}, {3}, 1), "must have the same shape"));
  CHECK(says(range({low}, {high}, 1), "has too many elements"));
  CHECK(says(range({low}, {high}, 1), "Requires ((limit - start) / delta) <="));
  CHECK(range({0}, {int64_t{1} << 61}, 1) != "it ran");
  CHECK(says(refusal_of("RaggedRange",
                        {Tensor::vector<int64_t>({0, 0}),
                         Tensor::vector<int64_t>({std::numeric_limits<int32_t>::max(), 1}),
                         Tensor::scalar<int64_t>(1)},
                        {{"Tsplits", DType::i32}}),
             "The total range size overflowed in row 1 of 2"));
  CHECK(range({low}, {high}, high) == "it ran");
  CHECK(range({high}, {low}, low) == "it ran");
  const float inf = std::numeric_limits<float>::infinity();
  CHECK(says(
      refusal_of("RaggedRange", {Tensor::scalar(0.f), Tensor::scalar(inf), Tensor::scalar(1.f)}),
      "has too many elements"));
}

TEST_CASE("rows become dense, or it is said why not") {
  const auto dense = [](std::initializer_list<int64_t> shape, const Tensor& partition,
                        const Tensor& standard, const std::string& kind = "ROW_SPLITS") {
    return refusal_of("RaggedTensorToTensor",
                      {Tensor::vector<int64_t>(shape), kValues, standard, partition},
                      {{"num_row_partition_tensors", int64_t{1}},
                       {"row_partition_types", std::vector<std::string>{kind}}});
  };
  const Tensor zero = Tensor::scalar(0.f);
  CHECK(dense({4, 4}, kSplits, zero) == "it ran");
  CHECK(says(dense({-1}, kSplits, zero), "rt_input.rank = 2 but shape.rank = 1"));
  CHECK(says(dense({-1, -2}, kSplits, zero), "Invalid dimension size: -2"));
  CHECK(says(dense({-1, -1}, kSplits, kValues), "default value must broadcast"));
  CHECK(says(dense({-1, -1}, kSplits, zero, "NONSENSE"), "Unknown string for partition info type"));
  CHECK(says(dense({-1, -1}, kSplits, zero, "VALUE_ROWIDS"), "Cannot handle VALUE_ROWIDS"));
  CHECK(says(dense({-1, -1}, Tensor::vector<int64_t>({1, 5}), zero), "Invalid row split size"));
  CHECK(says(dense({-1, -1}, Tensor::vector<int64_t>({0, 3, 2}), zero), "is below 3"));
  CHECK(says(dense({-1, -1}, Tensor::vector<int64_t>({0, 9}), zero),
             "have 9 values, but there are 5"));
  CHECK(dense({-1, -1}, Tensor::vector<int64_t>({0, int64_t{1} << 61}), zero) != "it ran");
  CHECK(dense({int64_t{1} << 40, int64_t{1} << 40}, kSplits, zero) != "it ran");
  const auto by_ids = [&](int64_t rows, std::initializer_list<int64_t> ids) {
    return refusal_of(
        "RaggedTensorToTensor",
        {Tensor::scalar(int64_t{-1}), kValues, zero, Tensor::scalar(rows),
         Tensor::vector<int64_t>(ids)},
        {{"num_row_partition_tensors", int64_t{2}},
         {"row_partition_types", std::vector<std::string>{"FIRST_DIM_SIZE", "VALUE_ROWIDS"}}});
  };
  CHECK(by_ids(3, {0, 0, 2, 2, 2}) == "it ran");
  CHECK(says(by_ids(3, {0, 0, 2, 2, 7}), "= 7 which is not in [0, 3)"));
  CHECK(says(by_ids(3, {-1, 0, 2, 2, 2}), "= -1 which is not in [0, 3)"));
  CHECK(says(by_ids(3, {2, 0, 2, 2, 2}), "value_rowids fall"));
  CHECK(says(by_ids(-3, {}), "must not be negative"));
}

TEST_CASE("what can't be counted in a ragged tensor is refused") {
  const Tensor splits = Tensor::vector<int64_t>({0, 1, 3});
  const Tensor values = Tensor::vector<int32_t>({1, 2, 1}), size = Tensor::scalar<int32_t>(3);
  const Tensor none = Tensor::vector<float>({});
  const auto refusal = [&](const Tensor& rows, const Tensor& what, const Tensor& weights) {
    return refusal_of("RaggedBincount", {rows, what, size, weights});
  };
  CHECK(says(refusal(Tensor::vector<int64_t>({}), values, none), "Splits must be non-empty"));
  CHECK(says(refusal(Tensor::vector<int64_t>({1, 2, 3}), values, none), "must be 0 but is 1"));
  CHECK(says(refusal(Tensor::vector<int64_t>({0, 2}), values, none), "ragged values(3) but is 2"));
  CHECK(says(refusal(Tensor::vector<int64_t>({0, 5}), values, none), "the last is 5"));
  // TensorFlow counts rows that overlap twice, and reads behind weights that are too few.
  CHECK(says(refusal(Tensor::vector<int64_t>({0, 2, 1, 3}), values, none), "is smaller than"));
  CHECK(says(refusal(splits, values, Tensor::vector<float>({1, 2})), "but there are 2 and 3"));
  CHECK(says(refusal(splits, Tensor::vector<int32_t>({1, -2, 1}), none), "non-negative"));
}

TEST_CASE("what can't be counted in the rows of a ragged tensor one by one is refused") {
  const Tensor splits = Tensor::vector<int64_t>({0, 1, 3});
  const Tensor values = Tensor::vector<int32_t>({1, 2, 1}), none = Tensor::vector<float>({});
  const auto refusal = [&](const Tensor& rows, const Tensor& what, const Tensor& weights) {
    return refusal_of("RaggedCountSparseOutput", {rows, what, weights}, {{"binary_output", false}});
  };
  CHECK(refusal(splits, values, none) == "it ran");
  CHECK(says(refusal(Tensor::vector<int64_t>({0}), Tensor::vector<int32_t>({}), none),
             "at least 2 elements for the splits"));
  CHECK(says(refusal(Tensor::vector<int64_t>({1, 2, 3}), values, none), "must be 0 but is 1"));
  CHECK(says(refusal(Tensor::vector<int64_t>({0, 2}), values, none), "ragged values(3) but is 2"));
  CHECK(says(refusal(Tensor::vector<int64_t>({0, 2, 1, 3}), values, none), "is smaller than"));
  CHECK(says(refusal(splits, values, Tensor::vector<float>({1, 2})), "must have the same shape"));
  CHECK(says(refusal(splits, Tensor::vector<int32_t>({1, -2, 1}), none),
             "must all be non-negative, but there is -2 at place 1"));
  // A number that no size is above, which the sum of one more would make negative.
  const Tensor huge = Tensor::vector<int64_t>({1, std::numeric_limits<int64_t>::max(), 1});
  CHECK(says(refusal(splits, huge, none), "too large to be counted"));
}

Attrs crossing(std::string order, std::vector<DType> ragged, std::vector<DType> sparse,
               std::vector<DType> dense) {
  return {{"input_order", std::move(order)},
          {"Nsparse", static_cast<int64_t>(sparse.size())},
          {"hashed_output", false},
          {"num_buckets", 0},
          {"hash_key", 0},
          {"ragged_values_types", ragged},
          {"ragged_splits_types", std::vector<DType>(ragged.size(), DType::i64)},
          {"sparse_values_types", sparse},
          {"dense_types", dense},
          {"out_values_type", DType::string},
          {"out_row_splits_type", DType::i64}};
}

TEST_CASE("features of a sparse tensor are crossed with those of its row, as far as rows ascend") {
  const Tensor places = Tensor::of<int64_t>({3, 2}, {0, 0, 2, 1, 1, 0});
  const std::vector<Tensor> inputs = {Tensor::vector<int64_t>({1, 2, 3, 4, 5}), kSplits, places,
                                      Tensor::vector<std::string>({"a", "b", "c"}),
                                      Tensor::vector<int64_t>({3, 2})};
  const auto made =
      made_by("RaggedCross", inputs, crossing("SR", {DType::i64}, {DType::string}, {}));
  CHECK(made[0] == Tensor::vector<std::string>({"a_X_1", "a_X_2", "b_X_3", "b_X_4", "b_X_5"}));
  CHECK(made[1] == Tensor::vector<int64_t>({0, 2, 2, 5}));
  CHECK(made_by("RaggedCross", {}, crossing("", {}, {}, {}))[1] == Tensor::vector<int64_t>({0}));
}

TEST_CASE("features that can't be crossed are refused") {
  const Tensor texts = Tensor::vector<std::string>({"a", "b"});
  const auto refused = [&](Tensor splits, std::string order, std::vector<Tensor> more = {}) {
    std::vector<Tensor> inputs = {texts, std::move(splits)};
    const std::vector<DType> dense(more.size(), DType::string);
    for (Tensor& each : more) inputs.push_back(std::move(each));
    return refusal_of("RaggedCross", std::move(inputs),
                      crossing(std::move(order), {DType::string}, {}, dense));
  };
  const Tensor good = Tensor::vector<int64_t>({0, 1, 2});
  CHECK(says(refused(good, "RR"), "Invalid length for input_order"));
  CHECK(says(refused(good, "X"), "Unexpected input_order value"));
  CHECK(says(refused(Tensor::vector<int64_t>({0, 1, 3}), "R"), "Invalid ragged splits"));
  CHECK(says(refused(Tensor::vector<int64_t>({1, 2}), "R"), "Invalid ragged splits"));
  CHECK(says(refused(good, "RD", {Tensor::of<std::string>({1, 1}, {"x"})}),
             "inputs must all have the same batch dimension size"));
  CHECK(says(refused(good, "RD", {texts}), "only supports inputs with rank=2"));
}

}  // namespace
}  // namespace millrace
