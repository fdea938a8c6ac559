// Part of families.h: register_gamma_and_poisson.
#include <cmath>
#include <limits>
#include <vector>

#include "millrace/op/bind.h"
#include "millrace/op/gradient.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/cpu_loops.h"
#include "millrace/ops/random/distributions.h"
#include "millrace/ops/random/families.h"
#include "millrace/ops/random/sizes.h"

namespace millrace {
namespace {

// Numbers for one element, from blocks of its own: each kind in pairs, the second one first.
class ElementNumbers {
 public:
  explicit ElementNumbers(PhiloxBlocks blocks) : blocks_(blocks) {}

  double uniform() {
    if (uniforms_left_ == 0) {
      const PhiloxBlock block = blocks_.next();
      uniforms_ = {unit_double(block[0], block[1]), unit_double(block[2], block[3])};
      uniforms_left_ = 2;
    }
    return uniforms_[--uniforms_left_];
  }
  double normal() {
    if (normals_left_ == 0) {
      normals_ = normal_doubles(blocks_.next());
      normals_left_ = 2;
    }
    return normals_[--normals_left_];
  }

 private:
  PhiloxBlocks blocks_;
  std::array<double, 2> uniforms_{}, normals_{};
  size_t uniforms_left_ = 0, normals_left_ = 0;
};

constexpr double kNotDefined = std::numeric_limits<double>::quiet_NaN();

// Marsaglia and Tsang, "A simple method for generating gamma variables" (2000). An alpha below 1 is
// raised by 1, and the result scaled down.
double draw_gamma(double alpha, ElementNumbers& numbers) {
  if (!(alpha > 0)) return kNotDefined;
  if (alpha == 1) return -std::log1p(-numbers.uniform());
  const bool is_small = alpha < 1;
  const double d = alpha + (is_small ? 2.0 / 3 : -1.0 / 3);
  const double c = 1.0 / 3 / std::sqrt(d);
  for (;;) {
    const double x = numbers.normal();
    double v = 1 + c * x;
    if (v <= 0) continue;
    v = v * v * v;
    const double u = numbers.uniform();
    const bool is_inside =
        u < 1 - 0.0331 * (x * x) * (x * x) || std::log(u) < 0.5 * x * x + d * (1 - v + std::log(v));
    if (!is_inside) continue;
    return is_small ? d * v * std::pow(numbers.uniform(), 1 / alpha) : d * v;
  }
}

// As many steps as it takes products of uniform numbers to fall below exp(-rate) (Knuth).
double draw_rare(double rate, double most, ElementNumbers& numbers) {
  const double end = std::exp(-rate);
  double product = 1;
  for (double count = 0;; ++count) {
    product *= numbers.uniform();
    if (product <= end && count <= most) return count;
  }
}

// Hörmann, "The transformed rejection method for generating Poisson random variables" (1993). With
// a rate beyond what the type can hold no number ever fits: until the step is cancelled.
double draw_frequent(double rate, double most, ElementNumbers& numbers, CancelProbe& probe) {
  const double log_rate = std::log(rate);
  const double b = 0.931 + 2.53 * std::sqrt(rate);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  while (probe.go_on(64)) {
    const double u = numbers.uniform() - 0.5;
    const double v = numbers.uniform();
    const double shifted = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / shifted + b) * u + rate + 0.43);
    if (k > most) continue;
    if (shifted >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) return k;
    if (k < 0 || (shifted < 0.013 && v > shifted)) continue;
    int sign = 0;
    const double squeezed = std::log(v * inverse_alpha / (a / (shifted * shifted) + b));
    if (squeezed <= -rate + k * log_rate - ::lgamma_r(k + 1, &sign)) return k;
  }
  return kNotDefined;
}

double draw_poisson(double rate, double most, ElementNumbers& numbers, CancelProbe& probe) {
  if (!std::isfinite(rate) || rate < 0) return kNotDefined;
  return rate < 10 ? draw_rare(rate, most, numbers) : draw_frequent(rate, most, numbers, probe);
}

// --- elements: for each parameter as many samples as `shape` says, the parameters innermost ---

enum class Sampled : uint8_t { gamma, poisson };

using ReadParameter = double (*)(const void* data, int64_t at);
using WriteSample = void (*)(void* data, int64_t at, double value);

template <class T>
double read_parameter(const void* data, int64_t at) {
  return static_cast<double>(static_cast<cpu::Math<T>>(static_cast<const T*>(data)[at]));
}
template <class T>
void write_sample(void* data, int64_t at, double value) {
  if constexpr (std::is_integral_v<T>) {
    // What is no number has no place among integers.
    static_cast<T*>(data)[at] = std::isnan(value) ? T(0) : static_cast<T>(value);
  } else {
    static_cast<T*>(data)[at] = T(static_cast<cpu::Math<T>>(value));
  }
}
template <class T>
double most_of() {
  if constexpr (std::is_same_v<T, Half>) return 65504;
  return static_cast<double>(std::numeric_limits<cpu::Math<T>>::max());
}

using Parameters = cpu::Types<Half, float, double, int32_t, int64_t>;

struct SampleLoops {
  ReadParameter read = nullptr;
  WriteSample write = nullptr;
  double (*most)() = nullptr;
};
struct BoundSampleLoops {
  Result<SampleLoops> read(const KernelSpec& spec) const {
    const DType in = spec.inputs[1].dtype, out = spec.outputs[0].dtype;
    return SampleLoops{
        cpu::pick<ReadParameter>(Parameters(), in,
                                 []<class T>() -> ReadParameter { return &read_parameter<T>; }),
        cpu::pick<WriteSample>(Parameters(), out,
                               []<class T>() -> WriteSample { return &write_sample<T>; }),
        cpu::pick<double (*)()>(Parameters(), out,
                                []<class T>() -> double (*)() { return &most_of<T>; })};
  }
};

struct BoundSampleStream {
  Result<std::unique_ptr<PhiloxStream>> read(const KernelSpec& spec) const {
    return PhiloxStream::create(spec.attrs, spec.random);
  }
};
struct BoundSampled {
  Sampled sampled;
  Result<Sampled> read(const KernelSpec&) const { return sampled; }
};

class SampleKernel final : public Kernel {
 public:
  SampleKernel(Sampled sampled, SampleLoops loops, std::unique_ptr<PhiloxStream> stream)
      : sampled_(sampled), loops_(loops), stream_(std::move(stream)) {}

  Status run(KernelContext& context) override {
    MR_ASSIGN(const Shape shape, wanted_shape(context));
    const Tensor& parameters = context.input(1);
    std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
    dims.insert(dims.end(), parameters.shape().dims().begin(), parameters.shape().dims().end());
    MR_ASSIGN(const Shape whole, Shape::create(dims));
    MR_ASSIGN(Tensor output, context.allocate(0, whole));
    if (output.num_elements() > 0) MR_TRY(fill(parameters, shape.num_elements(), output, context));
    context.set_output(0, std::move(output));
    return {};
  }

 private:
  Status fill(const Tensor& parameters, int64_t samples, Tensor& output, KernelContext& context) {
    const PhiloxBlocks blocks = stream_->reserve(blocks_for(output.num_elements()));
    const int64_t number = parameters.num_elements();
    const double most = loops_.most();
    CancelProbe probe(context);
    for (int64_t parameter = 0; parameter < number; ++parameter) {
      const double value = loops_.read(parameters.data(), parameter);
      for (int64_t sample = 0; sample < samples; ++sample) {
        ElementNumbers numbers(blocks.from(blocks_for(parameter * samples + sample)));
        const double drawn = sampled_ == Sampled::gamma ? draw_gamma(value, numbers)
                                                        : draw_poisson(value, most, numbers, probe);
        loops_.write(output.mutable_data(), sample * number + parameter, drawn);
        if (!probe.go_on(64)) return probe.status();
      }
    }
    return probe.status();
  }

  const Sampled sampled_;
  const SampleLoops loops_;
  const std::unique_ptr<PhiloxStream> stream_;
};

Status infer_samples(InferContext& context) {
  const Tensor* sizes = context.constant(0);
  MR_TRY(context.input_of_rank(0, 1));
  const PartialShape& parameters = context.input(1);
  if (sizes == nullptr || !parameters.has_rank()) return {};
  MR_ASSIGN(const Shape shape, read_shape(*sizes, "shape"));
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims.insert(dims.end(), parameters.dims().begin(), parameters.dims().end());
  return context.set_output(0, PartialShape::create(dims));
}

// How a sample moves with alpha, for each one of it.
Status random_gamma_gradient(GradContext& g) {
  const Endpoint alpha = g.input(1), samples = g.output(0);
  if (g.dtype(alpha) != DType::f32 && g.dtype(alpha) != DType::f64)
    return unimplemented("the gradient of RandomGamma of type ", dtype_name(g.dtype(alpha)));
  const Endpoint slopes = g.add("RandomGammaGrad", {alpha, samples});
  const Endpoint moved = g.add("Mul", {g.grad(), slopes});
  const Endpoint axes = g.add(
      "Range", {g.scalar(DType::i32, 0), g.add("Size", {g.input(0)}), g.scalar(DType::i32, 1)});
  g.set_input_grad(1, g.add("Sum", {moved, axes}));
  return {};
}

}  // namespace

Status register_gamma_and_poisson(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "RandomGamma",
      .doc = "Random numbers of gamma distributions of shape alpha, a sample of `shape` for each.",
      .signature = "shape: S, alpha: T -> output: T | seed: int = 0, seed2: int = 0, "
                   "S: {int32, int64}, T: {half, float, double}",
      .infer = infer_samples,
      .cpu = kernel_from<SampleKernel>(BoundSampled{Sampled::gamma}, BoundSampleLoops(),
                                       BoundSampleStream()),
      .grad = random_gamma_gradient,
      .stateful = true,
      .foldable = false,
      .examples = {"[2], [1 0.5]"},
  }));
  constexpr const char* kCounts = "it gives counts, which jump";
  MR_TRY(ops.add({
      .name = "RandomPoisson",
      .doc = "Random numbers of Poisson distributions, a sample of `shape` for each rate.",
      .signature = "shape: S, rate: dtype -> output: dtype | seed: int = 0, seed2: int = 0, "
                   "S: {int32, int64}, dtype: {half, float, double}",
      .infer = infer_samples,
      .cpu = kernel_from<SampleKernel>(BoundSampled{Sampled::poisson}, BoundSampleLoops(),
                                       BoundSampleStream()),
      .not_differentiable = kCounts,
      .stateful = true,
      .foldable = false,
      .examples = {"[2], [1 20]", "[2], 0 -> [0 0]"},
  }));
  return ops.add({
      .name = "RandomPoissonV2",
      .doc = "Random numbers of Poisson distributions, a sample of `shape` for each rate.",
      .signature = "shape: S, rate: R -> output: dtype | seed: int = 0, seed2: int = 0, "
                   "S: {int32, int64}, R: {half, float, double, int32, int64} = double, "
                   "dtype: {half, float, double, int32, int64} = int64",
      .infer = infer_samples,
      .cpu = kernel_from<SampleKernel>(BoundSampled{Sampled::poisson}, BoundSampleLoops(),
                                       BoundSampleStream()),
      .not_differentiable = kCounts,
      .stateful = true,
      .foldable = false,
      .examples = {"[2], [1 20]", "[2], 0 -> [0 0]"},
  });
}

}  // namespace millrace
