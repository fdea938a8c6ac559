// Images: what is refused; values are in the ops' examples, and beside TensorFlow.
#include "doctest/doctest.h"

#include "millrace/ops/image/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

const OpRegistry& image_ops() {
  static const OpRegistry* const kOps = [] {
    auto* made = new OpRegistry;
    REQUIRE(register_image(*made).ok());
    return made;
  }();
  return *kOps;
}

std::string refused(std::string_view op, std::vector<Tensor> inputs, Attrs attrs = {}) {
  return run_op(image_ops(), op, std::move(inputs), std::move(attrs)).status().message();
}
Tensor size(int32_t rows, int32_t columns) { return Tensor::vector<int32_t>({rows, columns}); }
Tensor images(const Shape& shape) { return *Tensor::zeros(DType::f32, shape); }

TEST_CASE("sizes and images that make no sense are refused by every way to resize") {
  for (const char* op :
       {"ResizeBilinear", "ResizeBicubic", "ResizeArea", "ResizeNearestNeighbor"}) {
    CAPTURE(op);
    CHECK(refused(op, {images({1, 2, 2, 1}), size(0, 2)}) == "output dimensions must be positive");
    CHECK(refused(op, {images({1, 2, 2, 1}), Tensor::vector<int32_t>({1})})
              .starts_with("shape_t must have two elements"));
    CHECK(refused(op, {images({2, 2, 1}), size(2, 2)}).starts_with("input must be 4-dimensional"));
    CHECK(refused(op, {images({1, 0, 2, 1}), size(2, 2)}) ==
          "input image must be of non-zero size");
    const auto none = run_op(image_ops(), op, {images({0, 2, 2, 1}), size(3, 3)});
    REQUIRE_MESSAGE(none.ok(), none.status().to_string());
    CHECK((*none)[0].shape() == Shape{0, 3, 3, 1});
  }
}

TEST_CASE("corners are aligned, or pixels have middles, but not both") {
  CHECK(refused("ResizeBilinear", {images({1, 2, 2, 1}), size(2, 2)},
                {{"align_corners", AttrValue(true)}, {"half_pixel_centers", AttrValue(true)}}) ==
        "If half_pixel_centers is True, align_corners must be False.");
}

TEST_CASE("a size out of all bounds is no memory, not a crash") {
  const Code code = run_op(image_ops(), "ResizeNearestNeighbor",
                           {images({1, 1, 1, 1 << 20}), size(1 << 30, 1 << 30)})
                        .status()
                        .code();
  CHECK((code == Code::resource_exhausted || code == Code::invalid_argument));
}

TEST_CASE("gradients of other images than were resized are refused") {
  CHECK(refused("ResizeBilinearGrad", {images({2, 2, 2, 1}), images({1, 2, 2, 1})})
            .starts_with("gradient [2,2,2,1] is not that"));
  CHECK(refused("ResizeBilinearGrad", {images({1, 0, 2, 1}), images({1, 2, 2, 1})})
            .starts_with("images must be of non-zero size"));
}

TEST_CASE("colours are three, and contrast is of images") {
  CHECK(refused("RGBToHSV", {images({2, 2})}) ==
        "input must have 3 channels but instead has 2 channels.");
  CHECK(refused("RGBToHSV", {Tensor::scalar(1.f)}).starts_with("input must be at least 1-D"));
  CHECK(refused("AdjustHue", {images({1, 3}), Tensor::scalar(1.f)})
            .starts_with("input must be at least 3-D"));
  CHECK(refused("AdjustContrastv2", {images({2, 2}), Tensor::scalar(1.f)})
            .starts_with("input must be at least 3-D"));
}

}  // namespace
}  // namespace millrace
