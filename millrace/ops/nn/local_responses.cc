// Part of families.h: register_local_responses.
#include <algorithm>
#include <cmath>

#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/narrow.h"
#include "millrace/ops/loops/share_work.h"
#include "millrace/ops/nn/families.h"
#include "millrace/ops/nn/gradients.h"

namespace millrace {
namespace {

struct Neighbours {
  int64_t radius = 0;
  float bias = 0, alpha = 0, beta = 0;

  // Those of channel `c`: [first, last).
  int64_t first(int64_t c) const { return c > radius ? c - radius : 0; }
  int64_t last(int64_t c, int64_t channels) const {
    return radius < channels - c ? c + radius + 1 : channels;
  }
  float power(float norm) const {
    if (beta == 0.5F) return 1 / std::sqrt(norm);
    return std::pow(norm, -beta);
  }
};

struct BoundNeighbours {
  Result<Neighbours> read(const KernelSpec& spec) const {
    Neighbours made;
    MR_ASSIGN(made.radius, spec.attrs.integer("depth_radius"));
    if (made.radius < 0) {
      return invalid("depth_radius = ", made.radius, " must not be negative");
    }
    MR_ASSIGN(made.bias, spec.attrs.real("bias"));
    MR_ASSIGN(made.alpha, spec.attrs.real("alpha"));
    MR_ASSIGN(made.beta, spec.attrs.real("beta"));
    return made;
  }
};

// norms[c] = bias + alpha * the sum of the squares around c. False if the step ends.
bool norms_of(const Neighbours& by, const float* x, float* norms, int64_t channels,
              CancelProbe& probe) {
  for (int64_t c = 0; c < channels; ++c) {
    float sum = 0;
    const int64_t last = by.last(c, channels);
    for (int64_t i = by.first(c); i < last; ++i) sum += x[i] * x[i];
    norms[c] = by.bias + by.alpha * sum;
    if (!probe.go_on(last - by.first(c))) return false;
  }
  return true;
}

// make(offset of the row, its norms, probe) for every row of channels.
template <class Make>
Status each_row(KernelContext& context, const Neighbours& by, const Tensor& x, Make make) {
  if (x.num_elements() == 0) return {};
  const int64_t channels = x.shape().dim(3), rows = x.num_elements() / channels;
  const int64_t width = std::min(by.radius, channels) * 2 + 1;
  return share_range(context, rows, channels * std::min(width, channels) * 2,
                     [&](int64_t begin, int64_t end, CancelProbe& probe) -> Status {
                       MR_ASSIGN(Tensor kept, Tensor::allocate(DType::f32, {channels}));
                       float* const norms = kept.mutable_flat<float>().data();
                       for (int64_t row = begin; row < end; ++row) {
                         const int64_t at = row * channels;
                         if (!norms_of(by, x.flat<float>().data() + at, norms, channels, probe))
                           return probe.status();
                         if (!make(at, norms, probe)) return probe.status();
                       }
                       return {};
                     });
}

Status check_rank_four(const Shape& shape) {
  if (shape.rank() == 4) return {};
  return invalid("in must be 4-dimensional: ", shape.to_string());
}

Status give_narrow(KernelContext& context, const Tensor& made) {
  return context.set_output(0, narrowed(made, context.output_dtype(0), CancelProbe(context)));
}

Status local_response(KernelContext& context, const Neighbours& by) {
  MR_TRY(check_rank_four(context.input(0).shape()));
  MR_ASSIGN(const Tensor x, widened(context.input(0), CancelProbe(context)));
  MR_ASSIGN(Tensor made, Tensor::allocate(DType::f32, x.shape()));
  const int64_t channels = x.shape().dim(3);
  const float* const from = x.flat<float>().data();
  float* const to = made.mutable_flat<float>().data();
  MR_TRY(each_row(context, by, x, [&](int64_t at, const float* norms, CancelProbe& probe) {
    for (int64_t c = 0; c < channels; ++c) to[at + c] = from[at + c] * by.power(norms[c]);
    return probe.go_on(channels);
  }));
  return give_narrow(context, made);
}

// Channel k moves its own output by norm^-beta, and each output j near it by
// -2 * alpha * beta * x[k] * y[j] / norm[j].
Status local_response_grad(KernelContext& context, const Neighbours& by) {
  Tensor wide[3];
  for (int i = 0; i < 3; ++i) {
    MR_TRY(check_rank_four(context.input(i).shape()));
    if (context.input(i).shape() != context.input(0).shape()) {
      return invalid(
          "input_grads, input_image, and out_image should have the same shape, but have ",
          context.input(0).shape().to_string(), ", ", context.input(1).shape().to_string(), " and ",
          context.input(2).shape().to_string());
    }
    MR_ASSIGN(wide[i], widened(context.input(i), CancelProbe(context)));
  }
  MR_ASSIGN(Tensor made, Tensor::allocate(DType::f32, wide[0].shape()));
  const int64_t channels = made.shape().dim(3);
  const float* const arriving = wide[0].flat<float>().data();
  const float* const x = wide[1].flat<float>().data();
  const float* const y = wide[2].flat<float>().data();
  float* const to = made.mutable_flat<float>().data();
  const float twice = -2 * by.alpha * by.beta;
  MR_TRY(each_row(context, by, wide[1], [&](int64_t at, const float* norms, CancelProbe& probe) {
    for (int64_t k = 0; k < channels; ++k) {
      float sum = 0;
      const int64_t last = by.last(k, channels);
      for (int64_t j = by.first(k); j < last; ++j) sum += arriving[at + j] * y[at + j] / norms[j];
      to[at + k] = arriving[at + k] * by.power(norms[k]) + twice * x[at + k] * sum;
      if (!probe.go_on(last - by.first(k))) return false;
    }
    return true;
  }));
  return give_narrow(context, made);
}

Status infer_images_only(InferContext& context) {
  for (int slot = 0; slot < context.num_inputs(); ++slot) MR_TRY(context.input_of_rank(slot, 4));
  MR_ASSIGN(PartialShape shape, context.input_of_rank(0, 4));
  for (int slot = 1; slot < context.num_inputs(); ++slot) {
    MR_ASSIGN(shape, shape.merge(context.input(slot)));
  }
  context.set_output(0, std::move(shape));
  return {};
}

}  // namespace

Status register_local_responses(OpRegistry& ops) {
  const std::string attrs =
      " | depth_radius: int = 5, bias: float = 1, alpha: float = 1, beta: float = 0.5, "
      "T: {half, bfloat16, float} = float";
  MR_TRY(ops.add({
      .name = "LRN",
      .doc =
          "input / (bias + alpha * s) ^ beta, with s the sum of the squares of the channels that "
          "are at most depth_radius away.",
      .signature = "input: T -> output: T" + attrs,
      .infer = infer_images_only,
      .cpu = kernel_with(local_response, BoundNeighbours{}),
      .grad = grad::local_response,
      .cost = Cost::heavy,
      .examples = {"[[[[1 2 4]]]] -> [[[[0.5 0.5 0.5]]]] | depth_radius = 0, bias = 0, alpha = 4, "
                   "beta = 0.5",
                   "[[[[1 2 1]]]] -> [[[[0.2 0.333333333 0.2]]]] | depth_radius = 1, bias = 0, "
                   "beta = 1"},
  }));
  return ops.add({
      .name = "LRNGrad",
      .doc = "The gradient of LRN by its input.",
      .signature = "input_grads: T, input_image: T, output_image: T -> output: T" + attrs,
      .infer = infer_images_only,
      .cpu = kernel_with(local_response_grad, BoundNeighbours{}),
      .not_differentiable = "TensorFlow has no gradient of it",
      .cost = Cost::heavy,
      .examples = {"[[[[1 1]]]], [[[[1 2]]]], [[[[0.2 0.4]]]] -> [[[[-0.04 -0.28]]]] | "
                   "depth_radius = 1, bias = 0, beta = 1"},
  });
}

}  // namespace millrace
