// Boxes that hide each other: what is refused, and what scores become. Values are in the examples,
// and beside TensorFlow.
#include "doctest/doctest.h"

#include "millrace/ops/image/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

const OpRegistry& suppressing_ops() {
  static const OpRegistry* const kOps = [] {
    auto* made = new OpRegistry;
    REQUIRE(register_suppressions(*made).ok());
    REQUIRE(register_combined_suppressions(*made).ok());
    return made;
  }();
  return *kOps;
}

Tensor floats(std::initializer_list<float> values) { return Tensor::vector<float>(values); }
Tensor boxes_of(int64_t number) { return *Tensor::zeros(DType::f32, {number, 4}); }

Result<std::vector<Tensor>> softly(Tensor boxes, Tensor scores, int32_t most, float overlap,
                                   float sigma, bool pads = false) {
  return run_op(suppressing_ops(), "NonMaxSuppressionV5",
                {std::move(boxes), std::move(scores), Tensor::scalar(most), Tensor::scalar(overlap),
                 Tensor::scalar(0.f), Tensor::scalar(sigma)},
                {{"T", DType::f32}, {"pad_to_max_output_size", pads}});
}
std::string_view words(const Result<std::vector<Tensor>>& outcome) {
  return outcome.status().message();
}

TEST_CASE("limits that make no sense, and scores of other boxes, are refused") {
  CHECK(words(softly(boxes_of(1), floats({1}), 1, 1.5f, 0)) == "iou_threshold must be in [0, 1]");
  CHECK(words(softly(boxes_of(1), floats({1}), 1, NAN, 0)) == "iou_threshold must be in [0, 1]");
  CHECK(words(softly(boxes_of(1), floats({1}), 1, 0.5f, -1)).starts_with("soft_nms_sigma_val"));
  CHECK(words(softly(boxes_of(1), floats({1}), 1, 0.5f, NAN)).starts_with("soft_nms_sigma_val"));
  CHECK(words(softly(boxes_of(2), floats({1}), 1, 0.5f, 1)) ==
        "scores has incompatible shape: [1] for 2 boxes");
  CHECK(words(softly(floats({1, 2, 3, 4}), floats({1}), 1, 0.5f, 1)) == "boxes must be 2-D[4]");
  const Tensor table = *Tensor::zeros(DType::f32, {2, 3});
  CHECK(words(run_op(suppressing_ops(), "NonMaxSuppressionWithOverlaps",
                     {table, floats({1, 2}), Tensor::scalar<int32_t>(1), Tensor::scalar(0.5f),
                      Tensor::scalar(0.f)})) == "overlaps must be square[2,3]");
}

TEST_CASE("scores and corners that are no numbers end nothing but their own box") {
  const Tensor boxes = Tensor::of<float>({3, 4}, {0, 0, 1, 1, NAN, NAN, NAN, NAN, 0, 0, 1, 2});
  const auto made = softly(boxes, floats({0.5f, 0.25f, NAN}), 3, 0.5f, 0.5f);
  REQUIRE_MESSAGE(made.ok(), made.status().to_string());
  CHECK((*made)[0] == Tensor::vector<int32_t>({0, 1}));
}

TEST_CASE("more places than there is memory for are refused, not filled") {
  const auto combined =
      run_op(suppressing_ops(), "CombinedNonMaxSuppression",
             {*Tensor::zeros(DType::f32, {64, 1, 1, 4}), *Tensor::zeros(DType::f32, {64, 1, 1}),
              Tensor::scalar<int32_t>(2147483647), Tensor::scalar<int32_t>(2147483647),
              Tensor::scalar(0.5f), Tensor::scalar(0.f)});
  CHECK(combined.status().code() == Code::resource_exhausted);
}

Result<std::vector<Tensor>> combined(const Shape& boxes, const Shape& scores, int32_t of_class = 1,
                                     int32_t in_all = 1) {
  return run_op(suppressing_ops(), "CombinedNonMaxSuppression",
                {*Tensor::zeros(DType::f32, boxes), *Tensor::zeros(DType::f32, scores),
                 Tensor::scalar(of_class), Tensor::scalar(in_all), Tensor::scalar(0.5f),
                 Tensor::scalar(0.f)});
}

TEST_CASE("boxes of all classes are one for each class, or one for all") {
  CHECK(combined({1, 5, 1, 4}, {1, 5, 3}).ok());
  CHECK(combined({1, 5, 3, 4}, {1, 5, 3}).ok());
  CHECK(words(combined({1, 5, 2, 4}, {1, 5, 3})) ==
        "third dimension of boxes must be either 1 or num classes, 3, not 2");
  CHECK(words(combined({1, 5, 1, 3}, {1, 5, 3})) == "boxes must have 4 columns");
  CHECK(words(combined({1, 5, 1, 4}, {1, 4, 3})) ==
        "scores has incompatible shape: [1,4,3] for 5 boxes");
  CHECK(words(combined({2, 5, 1, 4}, {1, 5, 3})) ==
        "boxes and scores must have same batch size, not 2 and 1");
  CHECK(words(combined({1, 5, 1, 4}, {1, 5, 3}, 0)) ==
        "max_size_per_class must be positive, not 0");
  CHECK(words(combined({1, 5, 1, 4}, {1, 5, 3}, 1, -1)) ==
        "max_total_size must be positive, not -1");
}

TEST_CASE("no classes have no boxes, however many are said to be there") {
  const auto made = combined({1, int64_t{1} << 50, 0, 4}, {1, int64_t{1} << 50, 0});
  REQUIRE_MESSAGE(made.ok(), made.status().to_string());
  CHECK((*made)[3] == Tensor::vector<int32_t>({0}));
}

}  // namespace
}  // namespace millrace
