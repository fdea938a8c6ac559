// Part of families.h: register_global_norms.
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/gradient.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/nn/families.h"

namespace millrace {
namespace {

struct GlobalNorm {
  float epsilon = 0;
  bool scales = false;
};

struct BoundGlobalNorm {
  Result<GlobalNorm> read(const KernelSpec& spec) const {
    GlobalNorm how;
    MR_ASSIGN(how.epsilon, spec.attrs.real("variance_epsilon"));
    MR_ASSIGN(how.scales, spec.attrs.boolean("scale_after_normalization"));
    return how;
  }
};

// An input that is a vector of the channels of images, which are input 0.
struct VectorSlot {
  int slot;
  std::string_view name;
};

Status check_global_norm(KernelContext& context, std::span<const VectorSlot> vectors) {
  const Shape& images = context.input(0).shape();
  if (images.rank() != 4) return invalid("input must be 4-dimensional", images.to_string());
  for (const auto& [slot, name] : vectors) {
    const Shape& own = context.input(slot).shape();
    if (own.rank() != 1) return invalid(name, " must be 1-dimensional", own.to_string());
    if (own.dim(0) == images.dim(3)) continue;
    return invalid(name, " must have as many elements as the images have channels, ", images.dim(3),
                   ", not ", own.dim(0));
  }
  return {};
}

// What is computed of each channel beforehand; sums are wide, whatever the images are.
template <class T>
cpu::Math<T> inverse_deviation(T variance, const GlobalNorm& how) {
  using M = cpu::Math<T>;
  return 1 / std::sqrt(static_cast<M>(variance) + static_cast<M>(how.epsilon));
}

using NormLoop = Status (*)(KernelContext& context, const GlobalNorm& how, Tensor& out);

template <class T>
Status norm_loop(KernelContext& context, const GlobalNorm& how, Tensor& out) {
  using M = cpu::Math<T>;
  const auto x = context.input(0).flat<T>(), mean = context.input(1).flat<T>();
  const auto variance = context.input(2).flat<T>(), beta = context.input(3).flat<T>();
  const auto gamma = context.input(4).flat<T>();
  const auto y = out.mutable_flat<T>();
  const size_t channels = mean.size();
  std::vector<M> factors(channels);
  for (size_t c = 0; c < channels; ++c) {
    factors[c] = inverse_deviation<T>(variance[c], how);
    if (how.scales) factors[c] *= static_cast<M>(gamma[c]);
  }
  CancelProbe probe(context);
  for (size_t row = 0; row < x.size(); row += channels) {
    for (size_t c = 0; c < channels; ++c) {
      const M off = static_cast<M>(x[row + c]) - static_cast<M>(mean[c]);
      y[row + c] = T(off * factors[c] + static_cast<M>(beta[c]));
    }
    if (!probe.go_on(static_cast<int64_t>(channels))) return probe.status();
  }
  return {};
}

Result<Tensor> global_norm(KernelContext& context, NormLoop loop, const GlobalNorm& how) {
  constexpr VectorSlot kVectors[] = {{1, "mean"}, {2, "var"}, {3, "beta"}, {4, "gamma"}};
  MR_TRY(check_global_norm(context, kVectors));
  MR_ASSIGN(Tensor made, context.allocate(0, context.input(0).shape()));
  if (made.num_elements() > 0) MR_TRY(loop(context, how, made));
  return made;
}

// --- BatchNormWithGlobalNormalizationGrad: by images, mean, variance, beta and gamma ---

using NormGradLoop = Status (*)(KernelContext& context, const GlobalNorm& how,
                                std::span<Tensor> made);

template <class T>
Status norm_grad_loop(KernelContext& context, const GlobalNorm& how, std::span<Tensor> made) {
  using M = cpu::Math<T>;
  const auto x = context.input(0).flat<T>(), mean = context.input(1).flat<T>();
  const auto variance = context.input(2).flat<T>(), gamma = context.input(3).flat<T>();
  const auto arriving = context.input(4).flat<T>();
  const size_t channels = mean.size();
  std::vector<M> inverse(channels), factors(channels);
  for (size_t c = 0; c < channels; ++c) {
    inverse[c] = inverse_deviation<T>(variance[c], how);
    factors[c] = how.scales ? inverse[c] * static_cast<M>(gamma[c]) : inverse[c];
  }
  std::vector<double> plain(channels), by_offset(channels);
  const auto dx = made[0].mutable_flat<T>();
  CancelProbe probe(context);
  for (size_t row = 0; row < x.size(); row += channels) {
    for (size_t c = 0; c < channels; ++c) {
      const M come = static_cast<M>(arriving[row + c]);
      dx[row + c] = T(come * factors[c]);
      plain[c] += come;
      by_offset[c] += come * (static_cast<M>(x[row + c]) - static_cast<M>(mean[c]));
    }
    if (!probe.go_on(static_cast<int64_t>(channels))) return probe.status();
  }
  for (size_t c = 0; c < channels; ++c) {
    const double scale = factors[c], root = inverse[c];
    made[1].mutable_flat<T>()[c] = T(static_cast<M>(-plain[c] * scale));
    made[2].mutable_flat<T>()[c] = T(static_cast<M>(by_offset[c] * -0.5 * scale * root * root));
    made[3].mutable_flat<T>()[c] = T(static_cast<M>(plain[c]));
    // A scale that was left out does not move anything.
    made[4].mutable_flat<T>()[c] = T(static_cast<M>(how.scales ? by_offset[c] * root : 0));
  }
  return {};
}

Status global_norm_grad(KernelContext& context, NormGradLoop loop, const GlobalNorm& how) {
  constexpr VectorSlot kVectors[] = {{1, "mean"}, {2, "var"}, {3, "gamma"}};
  MR_TRY(check_global_norm(context, kVectors));
  const Shape &images = context.input(0).shape(), &arriving = context.input(4).shape();
  if (arriving != images) {
    return invalid("out_backprop must have the shape of the input, ", images.to_string(), ", not ",
                   arriving.to_string());
  }
  std::array<Tensor, 5> made;
  MR_ASSIGN(made[0], context.allocate(0, images));
  for (size_t i = 1; i < made.size(); ++i) {
    MR_ASSIGN(made[i], Tensor::zeros(context.output_dtype(static_cast<int>(i)), {images.dim(3)}));
  }
  if (images.num_elements() > 0) MR_TRY(loop(context, how, made));
  for (size_t i = 0; i < made.size(); ++i)
    context.set_output(static_cast<int>(i), std::move(made[i]));
  return {};
}

// --- shapes, ops ---

// The images of input 0, whose channels are those of the vectors at `vectors`.
struct KnownImages {
  PartialShape images, channels;
};
Result<KnownImages> known_images(const InferContext& context, std::span<const int> vectors) {
  KnownImages known;
  MR_ASSIGN(known.images, context.input_of_rank(0, 4));
  known.channels = PartialShape{known.images.dim(3)};
  for (const int slot : vectors) {
    MR_ASSIGN(const PartialShape vector, context.input_of_rank(slot, 1));
    MR_ASSIGN(known.channels, known.channels.merge(vector));
  }
  std::vector<int64_t> dims(known.images.dims().begin(), known.images.dims().end());
  dims[3] = known.channels.dim(0);
  MR_ASSIGN(known.images, PartialShape::create(dims));
  return known;
}

Status infer_global_norm(InferContext& context) {
  constexpr int kVectors[] = {1, 2, 3, 4};
  MR_ASSIGN(const KnownImages known, known_images(context, kVectors));
  context.set_output(0, known.images);
  return {};
}

Status infer_global_norm_grad(InferContext& context) {
  constexpr int kVectors[] = {1, 2, 3};
  MR_ASSIGN(const KnownImages known, known_images(context, kVectors));
  MR_ASSIGN(const PartialShape arriving, context.input_of_rank(4, 4));
  MR_ASSIGN(const PartialShape images, known.images.merge(arriving));
  context.set_output(0, images);
  for (int slot = 1; slot < 5; ++slot) context.set_output(slot, PartialShape{images.dim(3)});
  return {};
}

Status grad_global_norm(GradContext& g) {
  Attrs attrs;
  for (const char* name : {"variance_epsilon", "scale_after_normalization"}) {
    if (const AttrValue* value = g.attrs().find(name)) attrs.set(name, *value);
  }
  const Endpoint made =
      g.add("BatchNormWithGlobalNormalizationGrad",
            {g.input(0), g.input(1), g.input(2), g.input(4), g.grad()}, std::move(attrs));
  for (int slot = 0; slot < 5; ++slot) g.set_input_grad(slot, Endpoint{made.node, slot});
  return {};
}

constexpr const char* kGlobalNormAttrs =
    "T: {float, double, bfloat16, half}, variance_epsilon: float, "
    "scale_after_normalization: bool";

}  // namespace

Status register_global_norms(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "BatchNormWithGlobalNormalization",
      .doc = "gamma * (t - m) / sqrt(v + variance_epsilon) + beta for each channel; without gamma "
             "unless scale_after_normalization.",
      .signature =
          std::string("t: T, m: T, v: T, beta: T, gamma: T -> result: T | ") + kGlobalNormAttrs,
      .infer = infer_global_norm,
      .cpu = kernel_with(global_norm,
                         cpu::loop_of_input<cpu::Floating>([]<class T>() { return &norm_loop<T>; }),
                         BoundGlobalNorm()),
      .grad = grad_global_norm,
      .cost = Cost::heavy,
      .examples = {"[[[[1 2]] [[3 6]]]], [1 2], [4 1], [0 1], [1 2] -> [[[[0 1]] [[1 9]]]] | "
                   "variance_epsilon = 0, scale_after_normalization = true",
                   "[[[[1 2]] [[3 6]]]], [1 2], [3 0], [0 1], [1 2] -> [[[[0 1]] [[1 5]]]] | "
                   "variance_epsilon = 1, scale_after_normalization = false"},
  }));
  return ops.add({
      .name = "BatchNormWithGlobalNormalizationGrad",
      .doc = "The gradients of BatchNormWithGlobalNormalization by its images, mean, variance, "
             "beta and gamma.",
      .signature = std::string("t: T, m: T, v: T, gamma: T, backprop: T -> dx: T, dm: T, dv: T, "
                               "db: T, dg: T | ") +
                   kGlobalNormAttrs,
      .infer = infer_global_norm_grad,
      .cpu = kernel_with(global_norm_grad, cpu::loop_of_input<cpu::Floating>([]<class T>() {
                           return &norm_grad_loop<T>;
                         }),
                         BoundGlobalNorm()),
      .not_differentiable = "TensorFlow gives this gradient none of its own",
      .cost = Cost::heavy,
      .examples = {"[[[[1 2]] [[3 6]]]], [1 2], [4 1], [1 2], [[[[1 2]] [[3 4]]]] -> "
                   "[[[[0.5 4]] [[1.5 8]]]], [-2 -12], [-0.375 -16], [4 6], [3 16] | "
                   "variance_epsilon = 0, scale_after_normalization = true",
                   "[[[[1 2]] [[3 6]]]], [1 2], [4 1], [1 2], [[[[1 2]] [[3 4]]]] -> "
                   "[[[[0.5 2]] [[1.5 4]]]], [-2 -6], [-0.375 -8], [4 6], [0 0] | "
                   "variance_epsilon = 0, scale_after_normalization = false"},
  });
}

}  // namespace millrace
