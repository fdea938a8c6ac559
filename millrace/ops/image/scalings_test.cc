// Images scaled and moved: what is refused, and that the gradient is the transpose of what it is
// of. Values are in the examples, and beside TensorFlow.
#include <cmath>

#include "doctest/doctest.h"

#include "millrace/ops/image/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

const OpRegistry& scaling_ops() {
  static const OpRegistry* const kOps = [] {
    auto* made = new OpRegistry;
    REQUIRE(register_scalings(*made).ok());
    return made;
  }();
  return *kOps;
}

Tensor pair(float rows, float columns) { return Tensor::vector<float>({rows, columns}); }

Result<Tensor> scaled(Tensor images, int32_t rows, int32_t columns, Tensor scale,
                      Tensor translation, std::string filter = "lanczos3") {
  MR_ASSIGN(auto outputs, run_op(scaling_ops(), "ScaleAndTranslate",
                                 {std::move(images), Tensor::vector<int32_t>({rows, columns}),
                                  std::move(scale), std::move(translation)},
                                 {{"T", DType::f32}, {"kernel_type", std::move(filter)}}));
  return outputs[0];
}
Tensor blank(const Shape& shape) { return *Tensor::zeros(DType::f32, shape); }

TEST_CASE("scales, sizes and filters that make no sense are refused") {
  const auto words = [](const Result<Tensor>& made) { return made.status().message(); };
  const Tensor image = blank({1, 2, 2, 1}), none = pair(0, 0);
  CHECK(words(scaled(image, 0, 2, pair(1, 1), none)) == "output dimensions must be positive");
  CHECK(words(scaled(image, 2, 2, pair(1, 0), none)) ==
        "Scale must be greater than zero, not 1, 0");
  CHECK(words(scaled(image, 2, 2, pair(NAN, 1), none))
            .starts_with("Scale must be greater than zero"));
  CHECK(words(scaled(image, 2, 2, Tensor::scalar(1.f), none)) ==
        "scale must be 1-dimensional of two elements, not []");
  CHECK(words(scaled(blank({1, 0, 2, 1}), 2, 2, pair(1, 1), none)) ==
        "input image must be of non-zero size");
  CHECK(words(scaled(image, 2, 2, pair(1, 1), none, "sinc"))
            .starts_with("Unrecognized kernel type: sinc"));
  CHECK(scaled(blank({0, 2, 2, 1}), 3, 3, pair(1, 1), none)->shape() == Shape{0, 3, 3, 1});
}

TEST_CASE("scales and places beyond all bounds give pixels all the same") {
  const Tensor image = Tensor::of<float>({1, 2, 2, 1}, {1, 2, 3, 4});
  for (const float scale : {1e-30f, 1e-42f, 1e30f, HUGE_VALF}) {
    for (const float translation : {0.f, 1e30f, -1e30f, HUGE_VALF, NAN}) {
      CAPTURE(scale);
      CAPTURE(translation);
      const auto made = scaled(image, 3, 3, pair(scale, scale), pair(translation, translation));
      REQUIRE_MESSAGE(made.ok(), made.status().to_string());
      for (const float pixel : made->flat<float>()) CHECK(std::abs(pixel) <= 4);
    }
  }
}

TEST_CASE("an image that becomes one pixel is its mean, whatever the filter") {
  const Tensor image = Tensor::of<float>({1, 2, 2, 1}, {1, 2, 3, 6});
  for (const char* filter : {"lanczos1", "lanczos3", "lanczos5", "Gaussian", "box", "triangle",
                             "keyscubic", "mitchellcubic"}) {
    CAPTURE(filter);
    const auto made = scaled(image, 1, 1, pair(0.5f, 0.5f), pair(0, 0), filter);
    REQUIRE_MESSAGE(made.ok(), made.status().to_string());
    CHECK(std::abs(made->item<float>() - 3) < 1e-5);
  }
}

TEST_CASE("the gradient of a scaled image is what each old pixel gave to the new ones") {
  const Tensor translation = pair(0.25f, -0.5f), scale = pair(1.5f, 0.75f);
  const Tensor arriving = Tensor::of<float>({1, 3, 2, 1}, {1, -2, 3, 0.5f, 4, -1});
  const auto back = run_op(scaling_ops(), "ScaleAndTranslateGrad",
                           {arriving, blank({1, 2, 3, 1}), scale, translation});
  REQUIRE_MESSAGE(back.ok(), back.status().to_string());
  for (size_t i = 0; i < 6; ++i) {
    CAPTURE(i);
    Tensor image = blank({1, 2, 3, 1});
    image.mutable_flat<float>()[i] = 1;
    const Tensor made = *scaled(image, 3, 2, scale, translation);
    float sum = 0;
    for (size_t k = 0; k < 6; ++k) sum += made.flat<float>()[k] * arriving.flat<float>()[k];
    CHECK(std::abs((*back)[0].flat<float>()[i] - sum) < 1e-5);
  }
  CHECK(run_op(scaling_ops(), "ScaleAndTranslateGrad",
               {arriving, blank({2, 2, 3, 1}), scale, translation})
            .status()
            .message() == "gradient [1,3,2,1] is not that of images [2,2,3,1] scaled");
}

}  // namespace
}  // namespace millrace
