// Part of families.h: register_gamma_and_poisson.
#include <vector>

#include "millrace/op/bind.h"
#include "millrace/op/gradient.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/random/families.h"
#include "millrace/ops/random/samples.h"
#include "millrace/ops/random/sizes.h"

namespace millrace {
namespace {

struct BoundSampleLoops {
  Result<SampleLoops> read(const KernelSpec& spec) const {
    return sample_loops(spec.inputs[1].dtype, spec.outputs[0].dtype);
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
    if (output.num_elements() > 0) {
      const PhiloxBlocks blocks = stream_->reserve(blocks_for(output.num_elements()));
      MR_TRY(fill_samples(sampled_, loops_, parameters, blocks, output, CancelProbe(context)));
    }
    context.set_output(0, std::move(output));
    return {};
  }

 private:
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
