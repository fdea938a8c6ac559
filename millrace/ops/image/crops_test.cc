// Gradients of crops: what is refused. Values are in the examples, and beside TensorFlow.
#include "doctest/doctest.h"

#include "millrace/ops/image/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

const OpRegistry& crop_ops() {
  static const OpRegistry* const kOps = [] {
    auto* made = new OpRegistry;
    REQUIRE(register_crops(*made).ok());
    return made;
  }();
  return *kOps;
}

Tensor zeros(const Shape& shape) { return *Tensor::zeros(DType::f32, shape); }
Tensor ints(std::initializer_list<int32_t> values) { return Tensor::vector<int32_t>(values); }

Status image_gradient(Tensor grads, Tensor size, int32_t which = 0) {
  return run_op(crop_ops(), "CropAndResizeGradImage",
                {std::move(grads), zeros({1, 4}), ints({which}), std::move(size)},
                {{"T", DType::f32}})
      .status();
}

TEST_CASE("gradients of images of sizes that make no sense are refused") {
  const Tensor grads = zeros({1, 2, 2, 3});
  CHECK(image_gradient(grads, ints({1, 5, 5, 3})).ok());
  CHECK(image_gradient(grads, ints({1, 5, 5})).message() ==
        "image_size must have 4 elements, not 3");
  CHECK(image_gradient(grads, ints({1, 0, 5, 3})).message() == "image dimensions must be positive");
  CHECK(image_gradient(grads, ints({-1, 5, 5, 3})).code() == Code::invalid_argument);
  CHECK(image_gradient(grads, ints({1, 5, 5, 2})).message() ==
        "image_size and grads are incompatible: 2 and 3 channels");
  CHECK(image_gradient(grads, ints({1 << 20, 1 << 20, 1, 3})).code() == Code::resource_exhausted);
  CHECK(image_gradient(zeros({1, 2, 3}), ints({1, 5, 5, 3})).message() ==
        "grads image must be 4-D[1,2,3]");
  CHECK(image_gradient(zeros({2, 2, 2, 3}), ints({1, 5, 5, 3}))
            .message()
            .starts_with("boxes and grads have incompatible shape"));
}

TEST_CASE("a box of an image that is not there is out of range, for gradients as well") {
  for (const int32_t which : {-1, 1}) {
    CHECK(image_gradient(zeros({1, 2, 2, 3}), ints({1, 5, 5, 3}), which).code() ==
          Code::out_of_range);
    CHECK(run_op(crop_ops(), "CropAndResizeGradBoxes",
                 {zeros({1, 2, 2, 3}), zeros({1, 5, 5, 3}), zeros({1, 4}), ints({which})})
              .status()
              .code() == Code::out_of_range);
  }
}

}  // namespace
}  // namespace millrace
