// Part of families.h: register_activations.
#include <cmath>

#include "millrace/op/infer.h"
#include "millrace/ops/loops/elementwise.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/paired.h"
#include "millrace/ops/loops/share_work.h"
#include "millrace/ops/nn/families.h"
#include "millrace/ops/nn/gradients.h"

namespace millrace {
namespace {

using cpu::Alike;
using cpu::Floating;
using cpu::kSeluScale;
using cpu::kSeluScaleAlpha;
using cpu::VectorFunction;

OpDef activation(std::string name, GradFn gradient, std::string doc, KernelFactory cpu,
                 std::vector<std::string> examples) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .signature = "features: T -> activations: T | T: floating",
          .infer = infer::same_as_input,
          .cpu = std::move(cpu),
          .grad = gradient,
          .examples = std::move(examples)};
}

Status infer_merged(InferContext& context) {
  return context.set_output(0, context.input(0).merge(context.input(1)));
}

// The gradient of an activation; `seen` is what it is made from besides the gradients that arrive.
OpDef gradient(std::string name, GradFn second, std::string doc, std::string_view seen,
               std::string_view types, KernelFactory cpu, std::vector<std::string> examples) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .signature = str_cat("gradients: T, ", seen, ": T -> backprops: T | T: ", types),
          .infer = infer_merged,
          .cpu = std::move(cpu),
          .grad = second,
          .examples = std::move(examples)};
}

// --- LeakyRelu: the only one with a number of its own ---

using LeakyLoop = void (*)(const void* of, const void* by, void* out, int64_t n, float alpha);

// of[i], scaled by alpha where by[i] is not positive.
template <class T>
MR_BODY void leak_body(const void* of, const void* by, void* out, int64_t n, float alpha) {
  const T slope = static_cast<T>(alpha);
  const T* x = static_cast<const T*>(of);
  const T* side = static_cast<const T*>(by);
  T* y = static_cast<T*>(out);
  MR_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = cpu::choose(side[i] > 0, x[i], x[i] * slope);
}
template <class T>
void leak(const void* of, const void* by, void* out, int64_t n, float alpha) {
  leak_body<T>(of, by, out, n, alpha);
}
template <class T>
MR_AVX2 void leak_avx2(const void* of, const void* by, void* out, int64_t n, float alpha) {
  leak_body<T>(of, by, out, n, alpha);
}
template <class T>
void leak_narrow(const void* of, const void* by, void* out, int64_t n, float alpha) {
  in_narrow_runs(n, [&](int64_t begin, int64_t count) {
    float x[kNarrowRun], side[kNarrowRun];
    widen(static_cast<const T*>(of) + begin, x, count);
    widen(static_cast<const T*>(by) + begin, side, count);
    leak<float>(x, side, x, count, alpha);
    narrow(x, static_cast<T*>(out) + begin, count);
  });
}
template <class T>
LeakyLoop leaky_loop() {
  if constexpr (cpu::kIsNarrowFloat<T>) {
    return &leak_narrow<T>;
  } else {
    return cpu::widest<LeakyLoop>(&leak<T>, &leak_avx2<T>);
  }
}

Result<Tensor> leaky_relu(KernelContext& context, LeakyLoop loop, float alpha) {
  const Tensor& x = context.input(0);
  MR_ASSIGN(Tensor out, context.reuse_or_allocate(0, 0, x.shape()));
  const auto size = static_cast<int64_t>(dtype_size(x.dtype()));
  const char* from = static_cast<const char*>(x.data());
  char* to = static_cast<char*>(out.mutable_data());
  MR_TRY(share_pieces(context, out.num_elements(), 1, [&](int64_t begin, int64_t count) {
    loop(from + begin * size, from + begin * size, to + begin * size, count, alpha);
  }));
  return out;
}

Result<Tensor> leaky_relu_grad(KernelContext& context, LeakyLoop loop, float alpha) {
  MR_TRY(cpu::check_alike(context, "LeakyReluGrad", Alike::shapes));
  return cpu::run_paired(context, [&](const void* dy, const void* x, void* out, int64_t n) {
    loop(dy, x, out, n, alpha);
  });
}

Status register_leaky(OpRegistry& ops) {
  const auto loop = cpu::loop_of_input<Floating>([]<class T>() { return leaky_loop<T>(); });
  MR_TRY(ops.add({
      .name = "LeakyRelu",
      .doc = "x where it is positive, else alpha times x.",
      .signature = "features: T -> activations: T | alpha: float = 0.2, T: floating = float",
      .infer = infer::same_as_input,
      .cpu = kernel_with(leaky_relu, loop, real("alpha")),
      .grad = grad::leaky_relu,
      .examples = {"[-4 0 3] -> [-1 0 3] | alpha = 0.25", "[-4 3] -> [-6 3] | alpha = 1.5"},
  }));
  return ops.add({
      .name = "LeakyReluGrad",
      .doc = "The gradient of LeakyRelu: gradients where features are positive, else alpha times "
             "them.",
      .signature = "gradients: T, features: T -> backprops: T | alpha: float = 0.2, "
                   "T: floating = float",
      .infer = infer_merged,
      .cpu = kernel_with(leaky_relu_grad, loop, real("alpha")),
      .grad = grad::leaky_relu_grad,
      .examples = {"[8 8 8], [-4 0 3] -> [2 2 8] | alpha = 0.25"},
  });
}

// --- the others ---

Status register_forward(OpRegistry& ops) {
  MR_TRY(ops.add(activation(
      "Elu", grad::elu, "x where it is not negative, else exp(x) - 1.",
      cpu::unary<Floating, VectorFunction::elu>([](auto x) { return x < 0 ? std::expm1(x) : x; }),
      {"[-1 0 2] -> [-0.6321205588 0 2]", "[-inf nan] -> [-1 nan]"})));
  MR_TRY(ops.add(activation("Selu", grad::selu,
                            "Elu, both sides scaled so that layers of it keep mean 0 and variance "
                            "1.",
                            cpu::unary<Floating, VectorFunction::selu>([](auto x) {
                              using T = decltype(x);
                              return x < 0 ? static_cast<T>(kSeluScaleAlpha) * std::expm1(x)
                                           : static_cast<T>(kSeluScale) * x;
                            }),
                            {"[-1 0 2] -> [-1.1113307378 0 2.1014019747]"})));
  return ops.add(
      activation("Softsign", grad::softsign, "x / (1 + |x|).",
                 cpu::unary<Floating>([](auto x) { return x / (decltype(x)(1) + std::abs(x)); }),
                 {"[-1 0 3] -> [-0.5 0 0.75]"}));
}

// Products, not choices: where a gradient is infinite or NaN, so is what becomes of it.
Status register_gradients(OpRegistry& ops) {
  MR_TRY(ops.add(gradient(
      "ReluGrad", grad::stepped,
      "The gradient of Relu: gradients where features are positive, else 0.", "features", "real",
      cpu::paired<cpu::Real>(Alike::shapes,
                             [](auto dy, auto x) {
                               using T = decltype(dy);
                               return cpu::choose(x > T(0), dy, static_cast<T>(dy * T(0)));
                             }),
      {"[1 2 3], [0 1 5] -> [0 2 3]"})));
  MR_TRY(ops.add(gradient(
      "Relu6Grad", grad::stepped,
      "The gradient of Relu6: gradients where features are between 0 and 6, else 0.", "features",
      "real",
      cpu::paired<cpu::Real>(Alike::shapes,
                             [](auto dy, auto x) {
                               using T = decltype(dy);
                               const bool is_between = (x > T(0)) & (x < T(6));
                               return cpu::choose(is_between, dy, static_cast<T>(dy * T(0)));
                             }),
      {"[1 2 3 4], [0 1 6 5] -> [0 2 0 4]"})));
  MR_TRY(ops.add(gradient("EluGrad", grad::elu_grad, "The gradient of Elu, from its outputs.",
                          "outputs", "floating",
                          cpu::paired<Floating>(Alike::shapes,
                                                [](auto dy, auto y) {
                                                  using T = decltype(dy);
                                                  return cpu::choose(y < 0, dy * (y + T(1)), dy);
                                                }),
                          {"[2 2 2], [-0.5 0 3] -> [1 2 2]"})));
  MR_TRY(ops.add(gradient(
      "SeluGrad", grad::selu_grad, "The gradient of Selu, from its outputs.", "outputs", "floating",
      cpu::paired<Floating>(Alike::shapes,
                            [](auto dy, auto y) {
                              using T = decltype(dy);
                              return cpu::choose(y < 0, dy * (y + static_cast<T>(kSeluScaleAlpha)),
                                                 dy * static_cast<T>(kSeluScale));
                            }),
      {"[2 2], [-1 3] -> [1.5161986817 2.1014019747]"})));
  MR_TRY(ops.add(gradient(
      "SoftplusGrad", grad::softplus_grad, "The gradient of Softplus: gradients / (exp(-x) + 1).",
      "features", "floating",
      cpu::paired<Floating, cpu::VectorPair::softplus_grad>(Alike::shapes,
                                                            [](auto dy, auto x) {
                                                              using T = decltype(dy);
                                                              return dy / (std::exp(-x) + T(1));
                                                            }),
      {"[2 2], [0 1] -> [1 1.4621171573]"})));
  return ops.add(gradient("SoftsignGrad", grad::softsign_grad,
                          "The gradient of Softsign: gradients / (1 + |x|)^2.", "features",
                          "floating",
                          cpu::paired<Floating>(Alike::shapes,
                                                [](auto dy, auto x) {
                                                  using T = decltype(dy);
                                                  const T below = T(1) + std::abs(x);
                                                  return dy / (below * below);
                                                }),
                          {"[2 8], [0 -1] -> [2 2]"}));
}

}  // namespace

Status register_activations(OpRegistry& ops) {
  MR_TRY(register_forward(ops));
  MR_TRY(register_leaky(ops));
  return register_gradients(ops);
}

}  // namespace millrace
