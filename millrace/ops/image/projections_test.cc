// Images seen from elsewhere: what is refused, and what lies beyond the horizon. Values are in the
// examples, and beside TensorFlow.
#include "doctest/doctest.h"

#include "millrace/ops/image/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

const OpRegistry& projecting_ops() {
  static const OpRegistry* const kOps = [] {
    auto* made = new OpRegistry;
    REQUIRE(register_projections(*made).ok());
    return made;
  }();
  return *kOps;
}

const Tensor& small_image() {
  static const Tensor* const kImage =
      new Tensor(Tensor::of<float>({1, 2, 3, 1}, {1, 2, 3, 4, 5, 6}));
  return *kImage;
}
Tensor identity() { return Tensor::of<float>({1, 8}, {1, 0, 0, 0, 1, 0, 0, 0}); }

Result<Tensor> projected(Tensor images, Tensor transforms, Tensor size, float filling = 0,
                         Attrs attrs = {{"interpolation", "NEAREST"}}) {
  attrs.set("dtype", images.dtype());
  MR_ASSIGN(auto outputs, run_op(projecting_ops(), "ImageProjectiveTransformV3",
                                 {std::move(images), std::move(transforms), std::move(size),
                                  Tensor::scalar(filling)},
                                 std::move(attrs)));
  return outputs[0];
}
Tensor size_of(int32_t rows, int32_t columns) { return Tensor::vector<int32_t>({rows, columns}); }

TEST_CASE("projections, sizes and words that make no sense are refused") {
  const auto words = [](const Result<Tensor>& made) { return made.status().message(); };
  CHECK(words(projected(small_image(), Tensor::vector<float>({1, 0}), size_of(2, 3)))
            .starts_with("Input transform should be num_images x 8 or 1 x 8, not [2]"));
  CHECK(words(projected(small_image(), *Tensor::zeros(DType::f32, {2, 8}), size_of(2, 3)))
            .starts_with("Input transform should be num_images x 8 or 1 x 8, not [2,8]"));
  CHECK(words(projected(small_image(), identity(), size_of(0, 3))) ==
        "output dimensions must be positive, not 0, 3");
  CHECK(words(projected(small_image(), identity(), Tensor::scalar<int32_t>(2))) ==
        "output shape must be 1-dimensional of two elements, not []");
  CHECK(words(projected(small_image(), identity(), size_of(2, 3), 0, {{"interpolation", "CUBIC"}}))
            .starts_with("Invalid interpolation CUBIC"));
  CHECK(words(projected(small_image(), identity(), size_of(2, 3), 0,
                        {{"interpolation", "NEAREST"}, {"fill_mode", "MIRROR"}}))
            .starts_with("Invalid mode MIRROR"));
  CHECK(words(projected(*Tensor::zeros(DType::u8, {1, 2, 2, 1}), identity(), size_of(2, 2), 256)) ==
        "fill_value 256 is no uint8");
}

TEST_CASE("an image seen as it is stays as it is, whatever is made of its outside") {
  for (const char* interpolation : {"NEAREST", "BILINEAR"}) {
    for (const char* mode : {"REFLECT", "WRAP", "CONSTANT", "NEAREST"}) {
      CAPTURE(interpolation);
      CAPTURE(mode);
      CHECK(projected(small_image(), identity(), size_of(2, 3), 9,
                      {{"interpolation", interpolation}, {"fill_mode", mode}})
                .value() == small_image());
    }
  }
}

TEST_CASE("what comes from beyond the horizon, or from no place, is filled") {
  const float kFar[] = {3e38f, -3e38f, HUGE_VALF, NAN};
  for (const char* mode : {"REFLECT", "WRAP", "CONSTANT", "NEAREST"}) {
    for (const float far : kFar) {
      CAPTURE(mode);
      CAPTURE(far);
      const Tensor transform = Tensor::of<float>({1, 8}, {far, far, far, far, far, far, 0, 0});
      const auto made = projected(small_image(), transform, size_of(2, 3), 9,
                                  {{"interpolation", "BILINEAR"}, {"fill_mode", mode}});
      REQUIRE_MESSAGE(made.ok(), made.status().to_string());
      for (const float pixel : made->flat<float>()) CHECK((pixel >= 1 && pixel <= 9));
    }
  }
  const Tensor horizon = Tensor::of<float>({1, 8}, {1, 0, 0, 0, 1, 0, -1, 0});
  CHECK(projected(small_image(), horizon, size_of(1, 2), 9).value() ==
        Tensor::of<float>({1, 1, 2, 1}, {1, 9}));
}

TEST_CASE("half a pixel beyond the edge is half of the filling") {
  const Tensor half_left = Tensor::of<float>({1, 8}, {1, 0, -0.5F, 0, 1, 0, 0, 0});
  CHECK(projected(small_image(), half_left, size_of(1, 4), 9, {{"interpolation", "BILINEAR"}})
            .value() == Tensor::of<float>({1, 1, 4, 1}, {5, 1.5F, 2.5F, 6}));
}

TEST_CASE("no image has no pixels, and an image without pixels is filled") {
  CHECK(projected(*Tensor::zeros(DType::f32, {0, 2, 2, 1}), identity(), size_of(5, 5))
            .value()
            .shape() == Shape{0, 5, 5, 1});
  CHECK(projected(*Tensor::zeros(DType::f32, {1, 0, 0, 1}), identity(), size_of(1, 2), 3,
                  {{"interpolation", "BILINEAR"}, {"fill_mode", "REFLECT"}})
            .value() == Tensor::of<float>({1, 1, 2, 1}, {3, 3}));
}

}  // namespace
}  // namespace millrace
