// Glimpses: where they look, what is seen beside an image, and what is refused.
#include <algorithm>
#include <limits>

#include "doctest/doctest.h"

#include "millrace/ops/image/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

const OpRegistry& glimpse_ops() {
  static const OpRegistry* const kOps = [] {
    auto* made = new OpRegistry;
    REQUIRE(register_glimpses(*made).ok());
    return made;
  }();
  return *kOps;
}

// 3 x 4 pixels of one channel: 11 12 13 14, 21 …
Tensor numbered() {
  return Tensor::of<float>({1, 3, 4, 1}, {11, 12, 13, 14, 21, 22, 23, 24, 31, 32, 33, 34});
}
Tensor window(int32_t rows, int32_t columns) { return Tensor::vector<int32_t>({rows, columns}); }
Tensor offset(float y, float x) { return Tensor::of<float>({1, 2}, {y, x}); }
Attrs::Entry flag(std::string name, bool value) { return {std::move(name), AttrValue(value)}; }

std::vector<float> seen(std::string_view op, Tensor size, Tensor at, bool centered,
                        bool normalized) {
  const auto made = run_op(glimpse_ops(), op, {numbered(), std::move(size), std::move(at)},
                           {flag("centered", centered),
                            flag("normalized", normalized),
                            flag("uniform_noise", false),
                            {"noise", AttrValue("zero")}});
  REQUIRE_MESSAGE(made.ok(), made.status().to_string());
  const auto values = (*made)[0].flat<float>();
  return {values.begin(), values.end()};
}

// Taken from TensorFlow 2.21.
TEST_CASE(
    "a glimpse is around its offset, from the middle or the first pixel, in pixels or sizes") {
  using Values = std::vector<float>;
  CHECK(seen("ExtractGlimpse", window(1, 2), offset(0, 0), true, true) == Values{22, 23});
  CHECK(seen("ExtractGlimpse", window(2, 2), offset(2, 2), false, false) == Values{22, 23, 32, 33});
  CHECK(seen("ExtractGlimpseV2", window(2, 2), offset(1, 2), false, false) ==
        Values{23, 24, 33, 34});
  CHECK(seen("ExtractGlimpseV2", window(1, 2), offset(-1, -1), true, false) == Values{12, 13});
}

TEST_CASE("beside an image is nothing that is not as large as what is in it") {
  const Tensor two = Tensor::of<float>({1, 1, 2, 2}, {1, 50, 3, 70});
  for (const char* noise : {"uniform", "gaussian"}) {
    CAPTURE(noise);
    const auto made = run_op(glimpse_ops(), "ExtractGlimpseV2", {two, window(9, 9), offset(0, 0)},
                             {flag("uniform_noise", false), {"noise", AttrValue(noise)}});
    REQUIRE_MESSAGE(made.ok(), made.status().to_string());
    const auto values = (*made)[0].flat<float>();
    CHECK(std::ranges::min(values) >= 1);
    CHECK(std::ranges::max(values) <= 70);
    CHECK(std::ranges::min(values) < std::ranges::max(values));
    // Each channel has its own normal distribution, all of them one range.
    const bool is_own = values[0] <= 3 && values[1] >= 50 && values[2] <= 3 && values[3] >= 50;
    if (std::string_view(noise) == "gaussian") CHECK(is_own);
  }
}

TEST_CASE("an offset that is none, or beyond all images, sees none of an image") {
  const float none = std::numeric_limits<float>::quiet_NaN();
  const float far = std::numeric_limits<float>::infinity();
  for (const float y : {none, far, -far, 1e30f})
    CHECK(seen("ExtractGlimpse", window(1, 1), offset(y, 0), true, true) == std::vector<float>{0});
  CHECK(seen("ExtractGlimpse", window(0, 3), offset(0, 0), true, true).empty());
}

TEST_CASE("glimpses of what is no image, and kinds of noise that don't go together, are refused") {
  const auto refused = [](std::vector<Tensor> inputs, Attrs attrs = {}) {
    return run_op(glimpse_ops(), "ExtractGlimpse", std::move(inputs), std::move(attrs))
        .status()
        .message();
  };
  const Tensor flat = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  CHECK(refused({flat, window(1, 1), offset(0, 0)}).starts_with("input must be 4-dimensional"));
  CHECK(refused({numbered(), Tensor::vector<int32_t>({1}), offset(0, 0)})
            .starts_with("size must be a vector of size 2"));
  CHECK(refused({numbered(), window(1, -1), offset(0, 0)}).find("1 x -1") != std::string::npos);
  CHECK(refused({numbered(), window(1, 1), flat})
            .starts_with("first dimension of offsets should be batch[2,2]; it is 1"));
  CHECK(refused({numbered(), window(1, 1), offset(0, 0)}, {{"noise", AttrValue("zero")}})
            .find("could not be specified at the same time") != std::string::npos);
  CHECK(refused({numbered(), window(1, 1), offset(0, 0)},
                {flag("uniform_noise", false), {"noise", AttrValue("pink")}})
            .find("could only be uniform, gaussian, or zero, got 'pink'") != std::string::npos);
}

}  // namespace
}  // namespace millrace
