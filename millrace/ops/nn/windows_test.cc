// Windows over images, for inputs that no example shows: sizes at the edge, images that are empty
// or do not fit, many threads, and errors in the words that TensorFlow's clients know.
#include "millrace/ops/nn/windows.h"

#include <cmath>

#include <doctest/doctest.h>

#include "millrace/base/str_cat.h"
#include "millrace/base/thread_pool.h"
#include "millrace/ops/nn/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

using Ints = std::vector<int64_t>;

struct Imaging {
  OpRegistry ops;
  ThreadPool pool{4};
  Imaging() { REQUIRE(register_nn(ops).ok()); }

  Result<Tensor> try_run(std::string_view op, std::vector<Tensor> inputs, Attrs attrs,
                         Runner* shared = nullptr) {
    Bench bench(ops);
    bench.step().pool = shared;
    MR_ASSIGN(auto outputs,
              bench.run(op, {inputs.begin(), inputs.end()}, {.attrs = std::move(attrs)}));
    return outputs[0].tensor;
  }
  Tensor run(std::string_view op, std::vector<Tensor> inputs, Attrs attrs,
             Runner* shared = nullptr) {
    auto made = try_run(op, std::move(inputs), std::move(attrs), shared);
    REQUIRE_MESSAGE(made.ok(), made.status().to_string());
    return *made;
  }
  std::string error(std::string_view op, std::vector<Tensor> inputs, Attrs attrs) {
    return try_run(op, std::move(inputs), std::move(attrs)).status().to_string();
  }
};

template <class T>
Tensor noise(const Shape& shape, uint32_t seed) {
  Tensor made = *Tensor::allocate(dtype_of<T>, shape);
  for (T& x : made.mutable_flat<T>()) {
    seed = seed * 1664525U + 1013904223U;
    x = static_cast<T>(static_cast<double>(seed >> 8) / (1 << 23) - 1);
  }
  return made;
}
Tensor sizes(std::initializer_list<int32_t> values) { return Tensor::vector<int32_t>(values); }

Attrs windows(Ints strides, std::string padding, Attrs more = {}) {
  more.set("strides", std::move(strides));
  more.set("padding", std::move(padding));
  return more;
}
Attrs pooling(Ints ksize, Ints strides, std::string padding) {
  return windows(std::move(strides), std::move(padding), {{"ksize", std::move(ksize)}});
}

bool agrees_with(const Tensor& floats, const Tensor& doubles) {
  if (floats.shape() != doubles.shape()) return false;
  for (int64_t i = 0; i < floats.num_elements(); ++i) {
    const double a = floats.flat<float>()[i], b = doubles.flat<double>()[i];
    if (!(std::abs(a - b) <= 1e-4 * (1 + std::abs(b)))) return false;
  }
  return true;
}

// Images, filter and outputs of a convolution that is large enough for oneDNN.
template <class T>
struct Case {
  Tensor images = noise<T>({6, 17, 15, 16}, 1), filter = noise<T>({3, 3, 16, 32}, 2);
  Tensor outputs = noise<T>({6, 9, 8, 32}, 3);
  Tensor of_images = sizes({6, 17, 15, 16}), of_filter = sizes({3, 3, 16, 32});
  Attrs attrs = windows({1, 2, 2, 1}, "SAME");
};

TEST_CASE("a convolution of float32 is that of float64, by images and by filter as well") {
  Imaging f;
  const Case<float> a;
  const Case<double> b;
  CHECK(agrees_with(f.run("Conv2D", {a.images, a.filter}, a.attrs),
                    f.run("Conv2D", {b.images, b.filter}, b.attrs)));
  CHECK(agrees_with(f.run("Conv2DBackpropInput", {a.of_images, a.filter, a.outputs}, a.attrs),
                    f.run("Conv2DBackpropInput", {b.of_images, b.filter, b.outputs}, b.attrs)));
  CHECK(agrees_with(f.run("Conv2DBackpropFilter", {a.images, a.of_filter, a.outputs}, a.attrs),
                    f.run("Conv2DBackpropFilter", {b.images, b.of_filter, b.outputs}, b.attrs)));
}

TEST_CASE("a single image, cut into slabs, is convolved as a whole one") {
  Imaging f;
  struct Way {
    const char* padding;
    int64_t stride;
  };
  for (const Way& way : {Way{"SAME", 1}, {"VALID", 1}, {"SAME", 2}}) {
    const std::string padding = way.padding;
    const int64_t stride = way.stride;
    CAPTURE(padding);
    CAPTURE(stride);
    const Attrs attrs = windows({1, stride, stride, 1}, padding);
    const Shape image{1, 49 * stride, 48 * stride, 32}, filter{3, 3, 32, 32};
    const Tensor made =
        f.run("Conv2D", {noise<float>(image, 1), noise<float>(filter, 2)}, attrs, &f.pool);
    CHECK(agrees_with(made,
                      f.run("Conv2D", {noise<double>(image, 1), noise<double>(filter, 2)}, attrs)));
  }
}

TEST_CASE("one thread and many give the same bits") {
  Imaging f;
  const Case<float> a;
  const Case<double> b;
  const auto same = [&](const char* op, const std::vector<Tensor>& inputs, const Attrs& attrs) {
    CAPTURE(op);
    CHECK(f.run(op, inputs, attrs) == f.run(op, inputs, attrs, &f.pool));
  };
  same("Conv2D", {a.images, a.filter}, a.attrs);
  same("Conv2D", {b.images, b.filter}, b.attrs);
  same("Conv2DBackpropInput", {b.of_images, b.filter, b.outputs}, b.attrs);
  same("Conv2DBackpropFilter", {a.images, a.of_filter, a.outputs}, a.attrs);
  same("Conv2DBackpropFilter", {b.images, b.of_filter, b.outputs}, b.attrs);
  const Tensor images = noise<float>({8, 32, 32, 32}, 4);
  const Attrs pool = pooling({1, 3, 3, 1}, {1, 2, 2, 1}, "SAME");
  same("MaxPool", {images}, pool);
  same("AvgPool", {images}, pool);
  const Tensor outputs = f.run("MaxPool", {images}, pool);
  same("MaxPoolGrad", {images, outputs, outputs}, pool);
  same("AvgPoolGrad", {sizes({8, 32, 32, 32}), outputs}, pool);
}

TEST_CASE(
    "poolings of float32 are those of float64, whatever windows have in common and however many "
    "channels") {
  Imaging f;
  for (const int64_t channels : {3, 8, 43}) {
    for (const auto& sizes_of : {std::pair{3, 2}, {2, 2}, {2, 3}, {3, 1}, {1, 2}}) {
      const int64_t window = sizes_of.first, stride = sizes_of.second;
      for (const char* padding : {"SAME", "VALID"}) {
        CAPTURE(channels);
        CAPTURE(window);
        CAPTURE(stride);
        CAPTURE(padding);
        const Attrs attrs = pooling({1, window, window, 1}, {1, stride, stride, 1}, padding);
        const Shape shape{2, 9, 8, channels};
        const Tensor x = noise<float>(shape, 1), y = noise<double>(shape, 1);
        const Tensor of_x = f.run("MaxPool", {x}, attrs), of_y = f.run("MaxPool", {y}, attrs);
        CHECK(agrees_with(of_x, of_y));
        CHECK(agrees_with(f.run("AvgPool", {x}, attrs), f.run("AvgPool", {y}, attrs)));
        const Tensor dx = noise<float>(of_x.shape(), 2), dy = noise<double>(of_x.shape(), 2);
        CHECK(agrees_with(f.run("MaxPoolGrad", {x, of_x, dx}, attrs),
                          f.run("MaxPoolGrad", {y, of_y, dy}, attrs)));
        const Tensor of = sizes({2, 9, 8, static_cast<int32_t>(channels)});
        CHECK(agrees_with(f.run("AvgPoolGrad", {of, dx}, attrs),
                          f.run("AvgPoolGrad", {of, dy}, attrs)));
      }
    }
  }
}

// Each element of an image meets the windows that have it, and no others.
TEST_CASE("the windows over a place are those in which it lies") {
  for (const int64_t window : {1, 2, 3, 5}) {
    for (const int64_t stride : {1, 2, 4}) {
      for (const int64_t before : {0, 1, 2}) {
        const Slide slide{.in = 11, .out = 5, .window = window, .stride = stride, .before = before};
        for (int64_t place = 0; place < slide.in; ++place) {
          const Slide::Span over = slide.covering(place);
          for (int64_t at = 0; at < slide.out; ++at) {
            const Slide::Span inside = slide.inside(at);
            const bool lies_in = inside.first <= place && place < inside.last;
            CHECK((over.first <= at && at < over.last) == lies_in);
          }
        }
      }
    }
  }
}

TEST_CASE("channels that come first give what channels that come last give") {
  Imaging f;
  const auto turned = [&](const Tensor& t, std::array<int, 4> axes) {
    const auto dim = [&](int i) { return t.shape().dim(axes[i]); };
    Tensor made = *Tensor::allocate(t.dtype(), {dim(0), dim(1), dim(2), dim(3)});
    int64_t to = 0;
    std::array<int64_t, 4> at{};
    for (at[axes[0]] = 0; at[axes[0]] < dim(0); ++at[axes[0]])
      for (at[axes[1]] = 0; at[axes[1]] < dim(1); ++at[axes[1]])
        for (at[axes[2]] = 0; at[axes[2]] < dim(2); ++at[axes[2]])
          for (at[axes[3]] = 0; at[axes[3]] < dim(3); ++at[axes[3]])
            made.mutable_flat<float>()[to++] =
                t.flat<float>()[((at[0] * t.shape().dim(1) + at[1]) * t.shape().dim(2) + at[2]) *
                                    t.shape().dim(3) +
                                at[3]];
    return made;
  };
  const Tensor images = noise<float>({2, 7, 6, 4}, 5), filter = noise<float>({3, 2, 4, 6}, 6);
  const Tensor first = turned(images, {0, 3, 1, 2});
  const Attrs last = windows({1, 2, 1, 1}, "VALID");
  const Attrs chw = windows({1, 1, 2, 1}, "VALID", {{"data_format", "NCHW"}});
  CHECK(f.run("Conv2D", {first, filter}, chw) ==
        turned(f.run("Conv2D", {images, filter}, last), {0, 3, 1, 2}));
  Attrs pool_last = last, pool_first = chw;
  pool_last.set("ksize", Ints{1, 3, 2, 1});
  pool_first.set("ksize", Ints{1, 1, 3, 2});
  for (const char* op : {"MaxPool", "AvgPool"}) {
    CHECK(f.run(op, {first}, pool_first) == turned(f.run(op, {images}, pool_last), {0, 3, 1, 2}));
  }
}

TEST_CASE("a depthwise convolution is one with a group for each channel") {
  Imaging f;
  const Tensor images = noise<float>({2, 6, 6, 5}, 7), filter = noise<float>({3, 3, 5, 2}, 8);
  const Tensor grouped = *filter.reshaped({3, 3, 1, 10});
  const Attrs attrs = windows({1, 1, 1, 1}, "SAME");
  CHECK(f.run("DepthwiseConv2dNative", {images, filter}, attrs) ==
        f.run("Conv2D", {images, grouped}, attrs));
}

TEST_CASE("images without elements give outputs without, and gradients of zeros") {
  Imaging f;
  const auto none = [](const Shape& shape) { return *Tensor::zeros(DType::f32, shape); };
  const Attrs attrs = windows({1, 1, 1, 1}, "VALID");
  const Tensor filter = noise<float>({2, 2, 3, 4}, 9);
  CHECK(f.run("Conv2D", {none({0, 5, 5, 3}), filter}, attrs).shape() == Shape{0, 4, 4, 4});
  CHECK(f.run("Conv2D", {none({2, 1, 5, 3}), filter}, attrs).shape() == Shape{2, 0, 4, 4});
  CHECK(f.run("Conv2DBackpropFilter", {none({0, 5, 5, 3}), sizes({2, 2, 3, 4}), none({0, 4, 4, 4})},
              attrs) == none({2, 2, 3, 4}));
  CHECK(f.run("Conv2DBackpropInput", {sizes({2, 1, 5, 3}), filter, none({2, 0, 4, 4})}, attrs) ==
        none({2, 1, 5, 3}));
  const Attrs pool = pooling({1, 2, 2, 1}, {1, 1, 1, 1}, "VALID");
  CHECK(f.run("MaxPool", {none({0, 5, 5, 3})}, pool).shape() == Shape{0, 4, 4, 3});
  CHECK(f.run("AvgPool", {none({2, 5, 5, 0})}, pool).shape() == Shape{2, 4, 4, 0});
}

TEST_CASE("the first of equals has the gradient, and NaN does not take it from what came before") {
  Imaging f;
  const Attrs pool = pooling({1, 1, 3, 1}, {1, 1, 3, 1}, "VALID");
  const auto by = [&](std::initializer_list<float> image) {
    return f.run("MaxPoolGrad",
                 {Tensor::of<float>({1, 1, 3, 1}, image), Tensor::of<float>({1, 1, 1, 1}, {0}),
                  Tensor::of<float>({1, 1, 1, 1}, {7})},
                 pool);
  };
  CHECK(by({2, 2, 1}) == Tensor::of<float>({1, 1, 3, 1}, {7, 0, 0}));
  CHECK(by({1, NAN, 0}) == Tensor::of<float>({1, 1, 3, 1}, {7, 0, 0}));
}

TEST_CASE("the fused gradient of a pooling and a Relu is that of one after the other") {
  Imaging im;
  Tensor x = noise<float>({2, 7, 6, 9}, 1);
  x.mutable_flat<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  for (const Attrs& attrs :
       {pooling({1, 2, 2, 1}, {1, 2, 2, 1}, "SAME"), pooling({1, 3, 3, 1}, {1, 2, 1, 1}, "VALID"),
        pooling({1, 2, 2, 1}, {1, 2, 2, 1}, "VALID")}) {
    const Tensor y = im.run("MaxPool", {x}, attrs);
    Tensor arriving = noise<float>(y.shape(), 2);
    const Tensor given = im.run("MaxPoolGrad", {x, y, arriving}, attrs);
    const Tensor expected = im.run("ReluGrad", {given, x}, {});
    CHECK(im.run("_MaxPoolReluGrad", {x, y, arriving}, attrs) == expected);
    // What is infinite is no number where it does not go through.
    for (float& number : arriving.mutable_flat<float>()) number = INFINITY;
    const Tensor made = im.run("_MaxPoolReluGrad", {x, y, arriving}, attrs);
    const Tensor of_infinite = im.run("MaxPoolGrad", {x, y, arriving}, attrs);
    const Tensor stepped = im.run("ReluGrad", {of_infinite, x}, {});
    for (size_t i = 0; i < made.flat<float>().size(); ++i)
      CHECK(std::isnan(made.flat<float>()[i]) == std::isnan(stepped.flat<float>()[i]));
  }
}

TEST_CASE("the gradient of a pooling may lie in the buffer of its images") {
  Imaging im;
  for (const std::string padding : {"SAME", "VALID"}) {  // VALID leaves a column that none covers
    const Attrs attrs = pooling({1, 2, 2, 1}, {1, 2, 2, 1}, padding);
    Tensor x = noise<float>({2, 6, 7, 9}, 1);
    const Tensor y = im.run("MaxPool", {x}, attrs);
    const Tensor arriving = noise<float>(y.shape(), 2);
    const Tensor kept = im.run("MaxPoolGrad", {x, y, arriving}, attrs);
    const void* const place = x.data();
    std::vector<Value> inputs;
    inputs.emplace_back(std::move(x));
    inputs.emplace_back(y);
    inputs.emplace_back(arriving);
    const auto made = Bench(im.ops).run("MaxPoolGrad", std::move(inputs), {.attrs = attrs});
    REQUIRE_MESSAGE(made.ok(), made.status().to_string());
    CHECK(((*made)[0].tensor.data() == place) == (padding == "SAME"));
    CHECK((*made)[0].tensor.bytes() == kept.bytes());
  }
}

TEST_CASE("sizes that can't be are refused in TensorFlow's words") {
  Imaging f;
  const Tensor images = noise<float>({1, 4, 4, 3}, 1), filter = noise<float>({2, 2, 3, 4}, 2);
  const auto refused = [&](Tensor x, Tensor w, Attrs attrs) {
    return f.error("Conv2D", {std::move(x), std::move(w)}, std::move(attrs));
  };
  const Attrs valid = windows({1, 1, 1, 1}, "VALID");
  CHECK(refused(noise<float>({4, 4, 3}, 1), filter, valid) ==
        "INVALID_ARGUMENT: input must be 4-dimensional: [4,4,3]");
  CHECK(refused(images, noise<float>({2, 2}, 1), valid) ==
        "INVALID_ARGUMENT: filter must be 4-dimensional: [2,2]");
  CHECK(refused(images, noise<float>({2, 2, 2, 4}, 1), valid) ==
        "INVALID_ARGUMENT: input depth must be evenly divisible by filter depth: 3 vs 2");
  CHECK(refused(images, noise<float>({2, 0, 3, 4}, 1), valid) ==
        "INVALID_ARGUMENT: filter must not have zero elements (i.e. all dimensions must be "
        "non-zero): [2,0,3,4]");
  CHECK(refused(images, noise<float>({7, 2, 3, 4}, 1), valid) ==
        "INVALID_ARGUMENT: Computed output size would be negative: -2 [input_size: 4, "
        "effective_filter_size: 7, stride: 1]");
  CHECK(refused(images, filter, windows({1, 0, 1, 1}, "VALID")) ==
        "INVALID_ARGUMENT: Sliding window strides should be larger than 0. Stride must be > 0, "
        "but got 0");
  CHECK(refused(images, filter, windows({2, 1, 1, 1}, "VALID")) ==
        "UNIMPLEMENTED: Current implementation does not yet support strides in the batch and "
        "depth dimensions.");
  CHECK(refused(images, filter, windows({1, 1, 1}, "VALID")) ==
        "INVALID_ARGUMENT: Conv2D requires the stride attribute to contain 4 values, but got: 3; "
        "sliding window strides field must specify 4 dimensions");
  CHECK(
      refused(images, filter, windows({1, 1, 1, 1}, "VALID", {{"dilations", Ints{1, -1, 1, 1}}})) ==
      "INVALID_ARGUMENT: Dilated rates should be larger than 0, but got -1");
  CHECK(refused(images, filter, windows({1, 1, 1, 1}, "EXPLICIT")) ==
        "INVALID_ARGUMENT: explicit_paddings attribute must contain 8 values, but got: 0");
  CHECK(refused(
            images, filter,
            windows({1, 1, 1, 1}, "SAME", {{"explicit_paddings", Ints{0, 0, 1, 1, 1, 1, 0, 0}}})) ==
        "INVALID_ARGUMENT: explicit_paddings attribute must be empty if the padding attribute is "
        "not EXPLICIT");
  CHECK(f.error("MaxPool", {images}, pooling({1, 0, 1, 1}, {1, 1, 1, 1}, "VALID")) ==
        "INVALID_ARGUMENT: Sliding window ksize must be positive, but got 0");
  CHECK(f.error("MaxPool", {images}, pooling({2, 1, 1, 1}, {1, 1, 1, 1}, "VALID")) ==
        "UNIMPLEMENTED: Pooling is not yet supported on the batch dimension.");
}

TEST_CASE("sizes that overflow, or would take more memory than there is, end in a status") {
  Imaging f;
  const Tensor images = noise<float>({1, 4, 4, 1}, 1), filter = noise<float>({1, 1, 1, 1}, 2);
  constexpr int64_t kMost = 2147483647, kMore = int64_t{1} << 62;
  const auto refused = [&](const char* op, std::vector<Tensor> inputs, Attrs attrs) {
    const auto made = f.try_run(op, std::move(inputs), std::move(attrs));
    CHECK_FALSE(made.ok());
    return made.status().code();
  };
  CHECK(refused("Conv2D", {images, filter},
                windows({1, 1, 1, 1}, "EXPLICIT",
                        {{"explicit_paddings", Ints{0, 0, kMost, kMost, kMost, kMost, 0, 0}}})) !=
        Code::internal);
  CHECK(refused("Conv2D", {images, filter}, windows({1, kMore, 1, 1}, "SAME")) ==
        Code::invalid_argument);
  CHECK(refused("MaxPool", {images}, pooling({1, kMore, 1, 1}, {1, 1, 1, 1}, "SAME")) ==
        Code::invalid_argument);
  CHECK(refused("Conv2DBackpropInput", {sizes({kMost, kMost, kMost, kMost}), filter, images},
                windows({1, 1, 1, 1}, "VALID")) == Code::invalid_argument);
  CHECK(refused("Conv2DBackpropInput", {sizes({-1, 4, 4, 1}), filter, images},
                windows({1, 1, 1, 1}, "VALID")) == Code::invalid_argument);
  CHECK(refused("Conv2DBackpropFilter", {images, sizes({kMost, kMost, 1, 1}), images},
                windows({1, 1, 1, 1}, "SAME")) != Code::internal);
  CHECK(refused("AvgPoolGrad", {sizes({1, kMost, kMost, 1}), images},
                pooling({1, 1, 1, 1}, {1, 1, 1, 1}, "VALID")) == Code::invalid_argument);
  // A window far larger than the image looks at the image only.
  CHECK(f.run("MaxPool", {images}, pooling({1, kMost, kMost, 1}, {1, kMost, kMost, 1}, "SAME"))
            .num_elements() == 1);
}

TEST_CASE("gradients say which outputs they expected") {
  Imaging f;
  const Tensor filter = noise<float>({2, 2, 1, 1}, 2), outputs = noise<float>({1, 2, 3, 1}, 3);
  CHECK(f.error("Conv2DBackpropInput", {sizes({1, 4, 4, 1}), filter, outputs},
                windows({1, 1, 1, 1}, "VALID")) ==
        "INVALID_ARGUMENT: Conv2DBackpropInput: Size of out_backprop doesn't match computed: "
        "actual = 2, computed = 3 spatial_dim: 1 input: 4 filter: 2 output: 2 stride: 1 dilation: "
        "1");
  const Tensor images = noise<float>({1, 4, 4, 1}, 4);
  CHECK(f.error("MaxPoolGrad", {images, outputs, outputs},
                pooling({1, 2, 2, 1}, {1, 2, 2, 1}, "VALID")) ==
        "INVALID_ARGUMENT: Expected orig_output shape to be [1,2,2,1], but got [1,2,3,1]");
}

TEST_CASE("what follows a convolution may be fused with it") {
  Imaging f;
  const Tensor images = noise<float>({2, 5, 5, 3}, 1), filter = noise<float>({2, 2, 3, 4}, 2);
  const Tensor bias = noise<float>({4}, 3), offset = noise<float>({4}, 4);
  const Tensor mean = noise<float>({4}, 5), variance = Tensor::vector<float>({1, 2, 3, 4});
  const auto fused = [&](std::vector<Tensor> inputs, std::vector<std::string> ops) {
    Attrs attrs = windows({1, 1, 1, 1}, "SAME", {{"fused_ops", std::move(ops)}});
    const auto number = static_cast<int64_t>(inputs.size()) - 2;
    attrs.set("num_args", number);
    attrs.set("num_host_args", int64_t{0});
    attrs.set("TArgs", std::vector<DType>(static_cast<size_t>(number), DType::f32));
    attrs.set("T", DType::f32);
    return f.try_run("_FusedConv2D", std::move(inputs), std::move(attrs));
  };
  const Tensor plain = f.run("Conv2D", {images, filter}, windows({1, 1, 1, 1}, "SAME"));
  const Tensor biased = f.run("BiasAdd", {plain, bias}, {});
  CHECK(*fused({images, filter, bias}, {"BiasAdd"}) == biased);
  CHECK(*fused({images, filter, bias}, {"BiasAdd", "LeakyRelu"}) ==
        f.run("LeakyRelu", {biased}, {}));
  const Tensor normal =
      f.run("FusedBatchNorm", {plain, bias, offset, mean, variance}, {{"is_training", false}});
  CHECK(*fused({images, filter, bias, offset, mean, variance}, {"FusedBatchNorm"}) == normal);
  CHECK(fused({images, filter, bias}, {"BiasAdd", "Swish"}).status().to_string() ==
        "UNIMPLEMENTED: Fusion is not implemented: {\"BiasAdd\", \"Swish\"} of _FusedConv2D");
  CHECK(fused({images, filter, bias, bias}, {"BiasAdd"}).status().message() ==
        "Fused BiasAdd must have 1 extra arguments, not 2");
  CHECK(fused({images, filter, noise<float>({3}, 1)}, {"BiasAdd"}).status().code() ==
        Code::invalid_argument);
}

TEST_CASE("a batch without images has a mean that is no number, and no more") {
  Imaging f;
  const Tensor none = *Tensor::zeros(DType::f32, {0, 2, 2, 3}),
               ones = Tensor::vector<float>({1, 1, 1});
  Bench bench(f.ops);
  std::vector<Value> inputs = {none, ones, ones, none.reshaped({0}).value(),
                               none.reshaped({0}).value()};
  const auto made = bench.run("FusedBatchNorm", std::move(inputs), {.attrs = {{"T", DType::f32}}});
  REQUIRE_MESSAGE(made.ok(), made.status().to_string());
  CHECK((*made)[0].tensor.shape() == Shape{0, 2, 2, 3});
  CHECK(std::isnan((*made)[1].tensor.flat<float>()[2]));
}

TEST_CASE("a channel that has an infinite number has an infinite mean, and the others their own") {
  Imaging f;
  Tensor images = *Tensor::allocate(DType::f32, {1, 100, 10, 2});
  for (int64_t i = 0; i < images.num_elements(); ++i)
    images.mutable_flat<float>()[i] = i % 2 == 0 ? static_cast<float>(i / 2 % 5) : 1.0F;
  for (const int64_t row : {3, 700}) images.mutable_flat<float>()[2 * row + 1] = INFINITY;
  Bench bench(f.ops);
  const Tensor ones = Tensor::vector<float>({1, 1}), none = *Tensor::zeros(DType::f32, {0});
  std::vector<Value> inputs = {images, ones, ones, none, none};
  const auto made = bench.run("FusedBatchNorm", std::move(inputs), {.attrs = {{"T", DType::f32}}});
  REQUIRE_MESSAGE(made.ok(), made.status().to_string());
  const auto mean = (*made)[1].tensor.flat<float>();
  CHECK(mean[0] == doctest::Approx(2));
  CHECK(mean[1] == INFINITY);
  CHECK((*made)[2].tensor.flat<float>()[0] == doctest::Approx(2.002));
}

TEST_CASE("normalisations of what does not fit are refused") {
  Imaging f;
  const Tensor x = noise<float>({1, 2, 2, 3}, 1), three = noise<float>({3}, 2);
  const auto refused = [&](std::vector<Tensor> inputs, Attrs attrs) {
    return f.error("FusedBatchNorm", std::move(inputs), std::move(attrs));
  };
  CHECK(refused({three, three, three, three, three}, {}) ==
        "INVALID_ARGUMENT: input must be 4-dimensional [3]");
  CHECK(refused({x, noise<float>({2}, 1), three, three, three}, {}) ==
        "INVALID_ARGUMENT: scale must have the same number of elements as the channels of x, got "
        "2 and 3");
  CHECK(refused({x, three, three, noise<float>({0}, 1), three}, {{"is_training", false}}) ==
        "INVALID_ARGUMENT: estimated_mean must have the same number of elements as the channels "
        "of x, got 0 and 3");
  CHECK(
      f.error("FusedBatchNormGrad", {x, noise<float>({1, 2, 1, 3}, 1), three, three, three}, {}) ==
      "INVALID_ARGUMENT: x and y_backprop must have same shape, but x has shape [1,2,1,3] and "
      "y_backprop has shape [1,2,2,3]");
  CHECK(f.error("LRN", {three}, {}) == "INVALID_ARGUMENT: in must be 4-dimensional: [3]");
  CHECK(f.error("LRN", {x}, {{"depth_radius", int64_t{-1}}}) ==
        "INVALID_ARGUMENT: depth_radius = -1 must not be negative");
  CHECK(f.run("LRN", {x}, {{"depth_radius", int64_t{1} << 62}}).shape() == x.shape());
}

TEST_CASE("a step that ends meanwhile ends a convolution") {
  Imaging f;
  Bench bench(f.ops);
  bench.cancellation().cancel(cancelled("enough"));
  const Case<double> b;
  std::vector<Value> inputs = {b.images, b.filter};
  const auto made = bench.run("Conv2D", std::move(inputs), {.attrs = b.attrs});
  CHECK(made.status().code() == Code::cancelled);
}

Tensor numbered(DType dtype, const Shape& shape, double step) {
  Tensor made = *Tensor::zeros(dtype, shape);
  for (int64_t i = 0; i < made.num_elements(); ++i) {
    const double value = std::sin(step * static_cast<double>(i + 1));
    if (dtype == DType::f32)
      made.mutable_flat<float>()[static_cast<size_t>(i)] = static_cast<float>(value);
    else
      made.mutable_flat<double>()[static_cast<size_t>(i)] = value;
  }
  return made;
}

bool is_like(const Tensor& narrow, const Tensor& wide) {
  if (narrow.shape() != wide.shape()) return false;
  for (size_t i = 0; i < narrow.flat<float>().size(); ++i) {
    const double difference = narrow.flat<float>()[i] - wide.flat<double>()[i];
    if (!(std::abs(difference) <= 1e-4 * (1 + std::abs(wide.flat<double>()[i])))) return false;
  }
  return true;
}

TEST_CASE("volumes are convolved by oneDNN as by loops, in all three directions") {
  Imaging f;
  for (const char* padding : {"SAME", "VALID"}) {
    for (const int64_t step : {1, 2}) {
      CAPTURE(padding);
      CAPTURE(step);
      const Attrs attrs = {{"strides", Ints{1, step, 1, step, 1}},
                           {"padding", padding},
                           {"dilations", Ints{1, 1, step == 1 ? 2 : 1, 1, 1}}};
      const auto run = [&](DType dtype, Runner* shared) {
        const Tensor x = numbered(dtype, {2, 5, 9, 6, 8}, 0.7);
        const Tensor w = numbered(dtype, {2, 3, 3, 8, 16}, 0.3);
        std::vector<Tensor> made = {f.run("Conv3D", {x, w}, attrs, shared)};
        const Tensor y = numbered(dtype, made[0].shape(), 0.9);
        const Tensor x_sizes = Tensor::vector<int32_t>({2, 5, 9, 6, 8});
        const Tensor w_sizes = Tensor::vector<int32_t>({2, 3, 3, 8, 16});
        made.push_back(f.run("Conv3DBackpropInputV2", {x_sizes, w, y}, attrs, shared));
        made.push_back(f.run("Conv3DBackpropFilterV2", {x, w_sizes, y}, attrs, shared));
        made.push_back(f.run("Conv3DBackpropInput", {x, w, y}, attrs));
        made.push_back(f.run("Conv3DBackpropFilter", {x, w, y}, attrs));
        return made;
      };
      const auto narrow = run(DType::f32, &f.pool), wide = run(DType::f64, nullptr);
      for (size_t i = 0; i < narrow.size(); ++i) CHECK(is_like(narrow[i], wide[i]));
      CHECK(wide[1] == wide[3]);
      CHECK(wide[2] == wide[4]);
    }
  }
}

TEST_CASE("a volume of one plane is an image, and one of one row too") {
  Imaging f;
  const Tensor image = numbered(DType::f64, {2, 5, 4, 3}, 0.7);
  const Tensor filter = numbered(DType::f64, {3, 2, 3, 2}, 0.4);
  const Tensor flat =
      f.run("Conv2D", {image, filter}, {{"strides", Ints{1, 2, 1, 1}}, {"padding", "SAME"}});
  for (const bool lies : {false, true}) {
    CAPTURE(lies);
    const Tensor x = *image.reshaped(lies ? Shape{2, 5, 1, 4, 3} : Shape{2, 1, 5, 4, 3});
    const Tensor w = *filter.reshaped(lies ? Shape{3, 1, 2, 3, 2} : Shape{1, 3, 2, 3, 2});
    const Ints strides = lies ? Ints{1, 2, 1, 1, 1} : Ints{1, 1, 2, 1, 1};
    const Tensor y = f.run("Conv3D", {x, w}, {{"strides", strides}, {"padding", "SAME"}});
    CHECK(*y.reshaped(flat.shape()) == flat);
  }
  const Tensor narrow = numbered(DType::f32, {2, 5, 4, 3}, 0.7);
  const Attrs windows = {
      {"ksize", Ints{1, 2, 3, 1}}, {"strides", Ints{1, 2, 1, 1}}, {"padding", "SAME"}};
  const Attrs deep = {
      {"ksize", Ints{1, 2, 1, 3, 1}}, {"strides", Ints{1, 2, 1, 1, 1}}, {"padding", "SAME"}};
  for (const auto& [op, op3d] : {std::pair{"MaxPool", "MaxPool3D"}, {"AvgPool", "AvgPool3D"}}) {
    const Tensor pooled = f.run(op, {narrow}, windows);
    const Tensor volume = f.run(op3d, {*narrow.reshaped(Shape{2, 5, 1, 4, 3})}, deep);
    CHECK(*volume.reshaped(pooled.shape()) == pooled);
  }
}

TEST_CASE("equals of a volume's window share what arrives, unlike those of an image's") {
  Imaging f;
  const Tensor ones = Tensor::of<float>({1, 1, 1, 3, 1}, {1, 1, 1});
  const Tensor two = Tensor::of<float>({1, 1, 1, 2, 1}, {1, 1});
  const Tensor arriving = Tensor::of<float>({1, 1, 1, 2, 1}, {1, 2});
  CHECK(f.run("MaxPool3DGrad", {ones, two, arriving},
              {{"ksize", Ints{1, 1, 1, 2, 1}},
               {"strides", Ints{1, 1, 1, 1, 1}},
               {"padding", "VALID"}}) == Tensor::of<float>({1, 1, 1, 3, 1}, {1, 3, 2}));
}

TEST_CASE("windows over volumes have five sizes, and volumes five axes") {
  Imaging f;
  const Tensor flat = numbered(DType::f32, {1, 2, 2, 1}, 1);
  const Tensor volume = numbered(DType::f32, {1, 2, 2, 2, 1}, 1);
  const Attrs plain = {{"strides", Ints{1, 1, 1, 1, 1}}, {"padding", "VALID"}};
  CHECK(f.error("Conv3D", {flat, volume}, plain).find("input must be 5-dimensional: [1,2,2,1]") !=
        std::string::npos);
  CHECK(f.error("Conv3D", {volume, numbered(DType::f32, {3, 1, 1, 1, 1}, 1)},
                {{"strides", Ints{1, 1, 1, 1, 2}}, {"padding", "VALID"}})
            .find("strides in the batch and depth dimensions") != std::string::npos);
  CHECK(
      f.error(
           "AvgPool3DGrad", {Tensor::vector<int32_t>({1, 2, 2, 1}), volume},
           {{"ksize", Ints{1, 1, 1, 1, 1}}, {"strides", Ints{1, 1, 1, 1, 1}}, {"padding", "VALID"}})
          .find("must be 1-dimensional and 5 elements") != std::string::npos);
}

TEST_CASE("a pooling whose window would lie in what is padded alone is refused") {
  Imaging f;
  const Tensor image = noise<float>({1, 3, 3, 1}, 7);
  const auto said = [&](Ints paddings) {
    Attrs attrs = windows({1, 2, 2, 1}, "EXPLICIT");
    attrs.set("ksize", Ints{1, 2, 2, 1});
    attrs.set("explicit_paddings", std::move(paddings));
    return f.error("MaxPool", {image}, attrs);
  };
  CHECK(said({0, 0, 0, 1, 0, 2, 0, 0})
            .find("Right padding 2 needs to be smaller than the window "
                  "size 2") != std::string::npos);
  CHECK(said({0, 0, 3, 1, 0, 1, 0, 0}).find("Top padding 3 needs") != std::string::npos);
  CHECK(said({0, 0, 1, 1, 0, 1, 0, 0}) == "OK");
}

}  // namespace
}  // namespace millrace
