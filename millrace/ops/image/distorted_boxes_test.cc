// Random parts of images: the same as TensorFlow's for the same seeds, and what is refused.
#include "doctest/doctest.h"

#include "millrace/ops/image/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

const OpRegistry& box_ops() {
  static const OpRegistry* const kOps = [] {
    auto* made = new OpRegistry;
    REQUIRE(register_distorted_boxes(*made).ok());
    return made;
  }();
  return *kOps;
}

Tensor image_of(int32_t rows, int32_t columns) {
  return Tensor::vector<int32_t>({rows, columns, 3});
}
Tensor one_box() { return Tensor::of<float>({1, 1, 4}, {.1f, .2f, .9f, .8f}); }
Tensor no_box() { return *Tensor::zeros(DType::f32, {1, 0, 4}); }
Attrs::Entry range(std::string name, std::vector<float> values) {
  return {std::move(name), AttrValue(std::move(values))};
}

Status refusal(Tensor image_size, Tensor boxes, Attrs attrs = {}) {
  return run_op(box_ops(), "SampleDistortedBoundingBox", {std::move(image_size), std::move(boxes)},
                std::move(attrs))
      .status();
}

// Taken from TensorFlow 2.21.
TEST_CASE("same seeds give TensorFlow's parts") {
  const auto stateless = run_op(box_ops(), "StatelessSampleDistortedBoundingBox",
                                {Tensor::vector<uint8_t>({40, 50, 3}), one_box(),
                                 Tensor::scalar(.5f), Tensor::vector<int32_t>({1, 2})});
  REQUIRE_MESSAGE(stateless.ok(), stateless.status().to_string());
  CHECK((*stateless)[0] == Tensor::vector<uint8_t>({12, 3, 0}));
  CHECK((*stateless)[1] == Tensor::vector<uint8_t>({26, 32, 255}));
  CHECK((*stateless)[2].flat<float>()[2] == doctest::Approx(.95));
  const auto first = run_op(box_ops(), "SampleDistortedBoundingBox", {image_of(40, 50), one_box()},
                            {{"seed", 1}, {"seed2", 2}});
  REQUIRE(first.ok());
  CHECK((*first)[0] == Tensor::vector<int32_t>({6, 1, 0}));
  CHECK((*first)[1] == Tensor::vector<int32_t>({16, 16, -1}));
  CHECK((*first)[2].flat<float>()[0] == doctest::Approx(.15));
}

TEST_CASE("where no part is found it is the whole image") {
  const auto made =
      run_op(box_ops(), "SampleDistortedBoundingBox", {image_of(40, 50), one_box()},
             {{"min_object_covered", 1.f}, range("area_range", {.05f, .05f}), {"max_attempts", 3}});
  REQUIRE(made.ok());
  CHECK((*made)[1] == Tensor::vector<int32_t>({40, 50, -1}));
  CHECK((*made)[2] == Tensor::of<float>({1, 1, 4}, {0, 0, 1, 1}));
}

TEST_CASE("images without boxes are one only where that is said") {
  CHECK(refusal(image_of(4, 5), no_box())
            .message()
            .starts_with("No bounding boxes provided as input."));
  CHECK(refusal(image_of(4, 5), no_box(), {{"use_image_if_no_bounding_boxes", true}}).ok());
}

TEST_CASE("sizes, boxes and ranges that make no sense are refused") {
  CHECK(refusal(Tensor::vector<int32_t>({4, 5}), one_box()).message() ==
        "image_size must contain 3 elements[2]");
  CHECK(refusal(image_of(-1, 5), one_box()).message().starts_with("image height cannot be"));
  CHECK(refusal(image_of(4, 2147483647), one_box()).message().starts_with("image width cannot be"));
  CHECK(refusal(image_of(4, 5), Tensor::of<float>({1, 4}, {0, 0, 1, 1}))
            .message()
            .starts_with("input boxes must be 3-dimensional [batch, num_boxes, coords]: "));
  CHECK(refusal(image_of(4, 5), Tensor::of<float>({1, 1, 4}, {0, 0, 1, 1.5f}))
            .message()
            .starts_with("All bounding box coordinates must be in [0.0, 1.0]: 1.5"));
  CHECK(refusal(image_of(4, 5), one_box(), {range("area_range", {.5f})}).message() ==
        "Area range field must specify 2 dimensions");
  CHECK(refusal(image_of(4, 5), one_box(), {range("area_range", {.5f, 1.5f})})
            .message()
            .starts_with("Area range must be less then or equal to 1.0"));
  CHECK(refusal(image_of(4, 5), one_box(), {range("aspect_ratio_range", {0, 1})})
            .message()
            .starts_with("Aspect ratio range must be non-negative"));
  CHECK(refusal(image_of(4, 5), one_box(), {{"max_attempts", 0}})
            .message()
            .starts_with("Max attempts must be non-negative"));
  CHECK(refusal(image_of(4, 5), one_box(), {{"min_object_covered", -1.f}})
            .message()
            .starts_with("Min object covered must be non-negative"));
  // What is no number, or beyond all images.
  CHECK(refusal(image_of(2147483646, 2147483646), one_box(),
                {range("aspect_ratio_range", {1e-30f, 1e30f})})
            .ok());
}

}  // namespace
}  // namespace millrace
