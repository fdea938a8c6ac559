// Ops that few programs need: what they refuse, in words, and what their examples can't show.
#include <cmath>
#include <complex>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/op/infer.h"
#include "millrace/op/testing/example.h"
#include "millrace/ops/all.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

const OpRegistry& broad_ops() {
  static const OpRegistry* const kOps = [] {
    auto* made = new OpRegistry;
    REQUIRE(register_all_ops(*made).ok());
    return made;
  }();
  return *kOps;
}

struct Refusal {
  std::string_view op;
  std::string_view input;  // as in an op's examples
  std::string_view words;  // what the answer begins with
};

// Types that a line leaves open are the op's defaults, or its first ones.
Status refusal_of(const Refusal& refusal) {
  const OpDef* op = broad_ops().find(refusal.op);
  if (op == nullptr) return not_found("no op ", refusal.op);
  MR_ASSIGN(const Example example, parse_example(*op, refusal.input));
  Attrs attrs = example.attrs;
  for (const AttrDef& attr : op->attrs) {
    if (attr.kind != "type" || attrs.find(attr.name) != nullptr) continue;
    attrs.set(attr.name,
              attr.default_value ? *attr.default_value->as_type() : attr.allowed_types[0]);
  }
  MR_ASSIGN(const auto types, resolve_args(*op, op->inputs, attrs));
  std::vector<Tensor> inputs;
  for (size_t slot = 0; slot < example.inputs.size(); ++slot) {
    MR_ASSIGN(inputs.emplace_back(), example.inputs[slot].as(types[slot].dtype));
  }
  return run_op(broad_ops(), refusal.op, std::move(inputs), std::move(attrs)).status();
}

const Refusal kRefusals[] = {
    {"BatchMatMulV3", "[[1 2]], [[1 2]] | Ta = int8, Tb = int8, Tout = int32",
     "Matrix size-incompatible: In[0]: [1,2], In[1]: [1,2]"},
    {"ConjugateTranspose", "[[1 2]], [0] | T = float",
     "transpose expects a vector of size 2. But input(1) is a vector of size 1"},
    {"ExtractVolumePatches",
     "[[[[[1]]]]] | ksizes = {1, 0, 1, 1, 1}, strides = {1, 1, 1, 1, 1}, padding = 'SAME'",
     "ksizes[1] = 0 must be positive"},
    {"ExtractVolumePatches",
     "[[[[[1]]]]] | ksizes = {1, 1, 1, 1, 2}, strides = {1, 1, 1, 1, 1}, padding = 'SAME'",
     "ExtractVolumePatches takes patches of the axes between only"},
    {"ExtractVolumePatches",
     "[[[[1]]]] | ksizes = {1, 1, 1, 1, 1}, strides = {1, 1, 1, 1, 1}, padding = 'SAME'",
     "input must be 5-dimensional: [1,1,1,1]"},
    {"ExtractVolumePatches",
     "[[[[[1]]]]] | ksizes = {1, 2147483647, 2147483647, 2147483647, 1}, "
     "strides = {1, 1, 1, 1, 1}, padding = 'SAME'",
     "a patch has more than 2^63 - 1 elements"},
    {"BatchNormWithGlobalNormalization",
     "[[[[1 2]]]], [1], [1 1], [1 1], [1 1] | variance_epsilon = 0, "
     "scale_after_normalization = true",
     "mean must have as many elements as the images have channels, 2, not 1"},
    {"BatchNormWithGlobalNormalization",
     "[[[1 2]]], [1 1], [1 1], [1 1], [1 1] | variance_epsilon = 0, "
     "scale_after_normalization = true",
     "input must be 4-dimensional[1,1,2]"},
    {"BatchNormWithGlobalNormalizationGrad",
     "[[[[1 2]]]], [1 1], [1 1], [1 1], [[[[1 2 3]]]] | variance_epsilon = 0, "
     "scale_after_normalization = true",
     "out_backprop must have the shape of the input, [1,1,1,2], not [1,1,1,3]"},
    {"SobolSample", "0, 1, 0", "dim must be at least one, not 0"},
    {"SobolSample", "2561, 1, 0", "dim must be at most 2560, not 2561"},
    {"SobolSample", "1, 0, 0", "num_results must be at least one, not 0"},
    {"SobolSample", "1, 1, -1", "skip must be non-negative, not -1"},
    {"SobolSample", "1, 2147483647, 1", "num_results+skip must be less than 2147483647"},
    {"SobolSample", "2560, 16384000, 0", "num_results*dim must be less than 2147483647"},
    {"SobolSample", "[1], 1, 0", "dim must be a scalar, got shape [1]"},
    {"IsotonicRegression", "1", "input must be at least a vector, got shape []"},
    {"KmeansPlusPlusInitialization", "[], 1, 1, 0",
     "Input points should be a matrix, got shape [0]"},
    {"KmeansPlusPlusInitialization", "[[1]], 0, 1, 0", "Expected num_to_sample > 0, not 0."},
    {"KmeansPlusPlusInitialization", "[[1]], 2, 1, 0",
     "Expected num_to_sample <= points.rows(). 2 vs 1."},
    {"KmeansPlusPlusInitialization", "[[1]], 1, 1, 2000000",
     "num_retries_per_sample is 2000000, over 1000000"},
    {"KMC2ChainInitialization", "[], 1", "Expected distances_tensor.size() > 0."},
    {"KMC2ChainInitialization", "1, 1", "Input distances should be a vector, got shape []"},
    {"NearestNeighbors", "[[1 2]], [[1]], 1",
     "Expected point_dimensions == center_dimensions: 2 vs 1."},
    {"NearestNeighbors", "[[1]], [[1]], -1", "Expected k >= 0, not -1."},
    {"NearestNeighbors", "[[1]], [[1]], [1]", "Input k should be a scalar, got shape [1]"},
    {"QuantizeV2", "[1], 2, 1", "input_max_range must be larger than input_min_range, not 1 and 2"},
    {"QuantizeV2", "[1], [0 1], [1 2]",
     "min_range and max_range must have as many elements as input on the quantization axis (-1), "
     "1"},
    {"QuantizeV2", "[1], [0], [1] | axis = 1", "Axis must be less than input dimension(1), got 1"},
    {"QuantizeV2", "[1], 0, 1 | axis = -2", "axis should be at least -1, got -2"},
    {"QuantizeV2", "[1], 0, 1 | round_mode = 'HALF_TO_EVEN'",
     "Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED'"},
    {"QuantizeV2", "[1 2], [0 0], [1 1] | axis = 0, mode = 'MIN_FIRST'",
     "MIN_FIRST mode is not implemented with axis != -1."},
    {"Dequantize", "[1], [0], 1",
     "min_range and max_range must have the same shape, not [1] and []"},
    {"Requantize", "[1], 0, 1, 1, 2", "requested_output_min must be <= 0, but got 1"},
    {"Requantize", "[1], 0, 1, -1, -2",
     "requested_output_max must be >= requested_output_min, but got -2 and -1"},
    {"Requantize", "[1], [0], 1, -1, 2", "input_min must be a scalar, got shape [1]"},
};

TEST_CASE("input that makes no sense to rare ops is refused with what and why") {
  for (const Refusal& refusal : kRefusals) {
    CAPTURE(refusal.op);
    CAPTURE(refusal.input);
    const Status status = refusal_of(refusal);
    CHECK_MESSAGE(status.message().starts_with(refusal.words), status.message());
  }
}

// Sizes that fit one by one, and not together.
Status inferred_status(std::string_view name, const std::vector<PartialShape>& shapes,
                       const std::vector<const Tensor*>& constants, int outputs) {
  const OpDef* op = broad_ops().find(name);
  REQUIRE(op != nullptr);
  const Attrs none;
  InferContext context({*op, none}, shapes, constants, outputs);
  return op->infer(context);
}

TEST_CASE(
    "a result with more elements than can be counted is refused when its shape is asked for") {
  const int64_t many = int64_t{1} << 62;
  const PartialShape scalar = PartialShape::scalar();
  const Tensor nine = Tensor::scalar<int32_t>(9), wanted = Tensor::scalar(many);
  const Code combined = inferred_status("CombinedNonMaxSuppression",
                                        {PartialShape{many, 1, 1, kUnknownDim},
                                         PartialShape{many, 1, 1}, scalar, scalar, scalar, scalar},
                                        {nullptr, nullptr, &nine, &nine, nullptr, nullptr}, 4)
                            .code();
  CHECK(combined == Code::invalid_argument);
  const Code seeded = inferred_status("KmeansPlusPlusInitialization",
                                      {PartialShape{kUnknownDim, 9}, scalar, scalar, scalar},
                                      {nullptr, &wanted, nullptr, nullptr}, 1)
                          .code();
  CHECK(seeded == Code::invalid_argument);
  const Code neighbors =
      inferred_status("NearestNeighbors",
                      {PartialShape{many, kUnknownDim}, PartialShape{9, kUnknownDim}, scalar},
                      {nullptr, nullptr, &wanted}, 2)
          .code();
  CHECK(neighbors == Code::invalid_argument);
}

Result<std::vector<Tensor>> made_by(std::string_view op, std::vector<Tensor> inputs,
                                    Attrs attrs = {}) {
  return run_op(broad_ops(), op, std::move(inputs), std::move(attrs));
}
Tensor counting(const Shape& shape) {
  Tensor made = *Tensor::zeros(DType::f32, shape);
  float next = 0;
  for (float& x : made.mutable_flat<float>()) x = next++;
  return made;
}

TEST_CASE("a conjugate transpose conjugates, and leaves what is real as it is") {
  using C = std::complex<float>;
  const Tensor x = Tensor::of<C>({1, 2}, {C(1, 2), C(3, -4)});
  const Tensor perm = Tensor::vector<int32_t>({1, 0});
  CHECK((*made_by("ConjugateTranspose", {x, perm}))[0] ==
        Tensor::of<C>({2, 1}, {C(1, -2), C(3, 4)}));
}

TEST_CASE("patches of a volume of one plane are those of its image") {
  const Tensor volume = counting({2, 1, 4, 5, 3});
  const Tensor image = *volume.reshaped({2, 4, 5, 3});
  for (const char* padding : {"SAME", "VALID"}) {
    const auto of_volume = made_by("ExtractVolumePatches", {volume},
                                   {{"ksizes", std::vector<int64_t>{1, 1, 3, 2, 1}},
                                    {"strides", std::vector<int64_t>{1, 1, 2, 1, 1}},
                                    {"padding", padding}});
    const auto of_image = made_by("ExtractImagePatches", {image},
                                  {{"ksizes", std::vector<int64_t>{1, 3, 2, 1}},
                                   {"strides", std::vector<int64_t>{1, 2, 1, 1}},
                                   {"rates", std::vector<int64_t>{1, 1, 1, 1}},
                                   {"padding", padding}});
    REQUIRE_MESSAGE(of_volume.ok(), of_volume.status().to_string());
    REQUIRE(of_image.ok());
    CHECK((*of_volume)[0].bytes() == (*of_image)[0].bytes());
  }
}

TEST_CASE("in each dimension the first points of Sobol's sequence lie evenly") {
  const auto made =
      made_by("SobolSample",
              {Tensor::scalar<int32_t>(2560), Tensor::scalar(63), Tensor::scalar<int32_t>(0)},
              {{"dtype", DType::f64}});
  REQUIRE_MESSAGE(made.ok(), made.status().to_string());
  const auto points = (*made)[0].flat<double>();
  for (size_t dim = 0; dim < 2560; ++dim) {
    uint64_t seen = 0;
    for (size_t i = 0; i < 63; ++i)
      seen |= uint64_t{1} << static_cast<int>(points[i * 2560 + dim] * 64);
    if (seen != ~uint64_t{1}) FAIL_CHECK(dim);
  }
}

TEST_CASE("points of Sobol's sequence are the same whatever was skipped before them") {
  const auto points = [](int32_t number, int32_t skip) {
    return (*made_by("SobolSample", {Tensor::scalar<int32_t>(7), Tensor::scalar(number),
                                     Tensor::scalar(skip)}))[0];
  };
  CHECK(points(40, 0).rows(17, 40)->bytes() == points(23, 17).bytes());
}

TEST_CASE("points without any distance between them are drawn once each all the same") {
  Tensor points = *Tensor::zeros(DType::f32, {5, 1});
  points.mutable_flat<float>()[4] = NAN;
  const auto made = made_by("KmeansPlusPlusInitialization",
                            {points, Tensor::scalar<int64_t>(5), Tensor::scalar<int64_t>(1),
                             Tensor::scalar<int64_t>(-1)});
  REQUIRE_MESSAGE(made.ok(), made.status().to_string());
  int nans = 0;
  for (const float x : (*made)[0].flat<float>()) nans += std::isnan(x) ? 1 : 0;
  CHECK(nans == 1);
}

TEST_CASE("a center that is nowhere is the farthest one") {
  const Tensor centers = Tensor::of<float>({3, 1}, {NAN, 5, 1});
  const auto made = made_by("NearestNeighbors",
                            {Tensor::of<float>({1, 1}, {0}), centers, Tensor::scalar<int64_t>(3)});
  REQUIRE_MESSAGE(made.ok(), made.status().to_string());
  CHECK((*made)[0] == Tensor::of<int64_t>({1, 3}, {2, 1, 0}));
}

TEST_CASE("floats that are none, and ranges without end, become some step") {
  const Tensor wild = Tensor::vector<float>({NAN, HUGE_VALF, -HUGE_VALF, 1e38F});
  for (const DType type : {DType::qi8, DType::qu8, DType::qi16, DType::qu16, DType::qi32}) {
    for (const char* mode : {"MIN_COMBINED", "MIN_FIRST", "SCALED"}) {
      for (const float end : {0.F, 1.F, 3e38F, HUGE_VALF}) {
        CAPTURE(mode);
        CAPTURE(end);
        const auto made = made_by("QuantizeV2", {wild, Tensor::scalar(-end), Tensor::scalar(end)},
                                  {{"T", type}, {"mode", mode}, {"ensure_minimum_range", 0.F}});
        CHECK_MESSAGE(made.ok(), made.status().to_string());
      }
    }
  }
}

}  // namespace
}  // namespace millrace
