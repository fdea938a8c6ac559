// Part of families.h: register_random.
#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/cpu_loops.h"
#include "millrace/ops/random/distributions.h"
#include "millrace/ops/random/families.h"
#include "millrace/ops/random/sizes.h"

namespace millrace {
namespace {

constexpr const char* kChance = "chance decides what it gives, not its input";

struct BoundStream {
  Result<std::unique_ptr<PhiloxStream>> read(const KernelSpec& spec) const {
    return PhiloxStream::create(spec.attrs, spec.random);
  }
};

struct BoundFill {
  Distribution distribution;
  Result<FillLoop> read(const KernelSpec& spec) const {
    const FillLoop loop = fill_loop(distribution, spec.outputs[0].dtype);
    if (loop == nullptr) return cpu::no_loop(spec, spec.outputs[0].dtype);
    return loop;
  }
};

class RandomKernel final : public Kernel {
 public:
  RandomKernel(std::unique_ptr<PhiloxStream> stream, FillLoop loop)
      : stream_(std::move(stream)), loop_(loop) {}
  Status run(KernelContext& context) override {
    MR_ASSIGN(const Shape shape, wanted_shape(context));
    MR_ASSIGN(Tensor output, context.allocate(0, shape));
    MR_TRY(loop_(context, stream_->reserve(blocks_for(output.num_elements())), output));
    context.set_output(0, std::move(output));
    return {};
  }

 private:
  const std::unique_ptr<PhiloxStream> stream_;
  const FillLoop loop_;
};

class RandomIntKernel final : public Kernel {
 public:
  explicit RandomIntKernel(std::unique_ptr<PhiloxStream> stream) : stream_(std::move(stream)) {}
  Status run(KernelContext& context) override {
    MR_ASSIGN(const Shape shape, wanted_shape(context));
    MR_ASSIGN(const IntegerRange range, wanted_range(context.input(1), context.input(2), shape));
    MR_ASSIGN(Tensor output, context.allocate(0, shape));
    if (shape.num_elements() > 0) {
      MR_TRY(fill_integers(context, stream_->reserve(blocks_for(output.num_elements())), range,
                           output));
    }
    context.set_output(0, std::move(output));
    return {};
  }

 private:
  const std::unique_ptr<PhiloxStream> stream_;
};

class ShuffleKernel final : public Kernel {
 public:
  explicit ShuffleKernel(std::unique_ptr<PhiloxStream> stream) : stream_(std::move(stream)) {}
  Status run(KernelContext& context) override {
    const Tensor& value = context.input(0);
    if (value.shape().is_scalar() || value.shape().dim(0) < 2) {
      context.set_output(0, context.take_input(0));
      return {};
    }
    const auto number = static_cast<uint64_t>(value.shape().dim(0));
    return context.set_output(0, shuffled_rows(context, value, stream_->reserve((number + 2) / 4)));
  }

 private:
  const std::unique_ptr<PhiloxStream> stream_;
};

class MultinomialKernel final : public Kernel {
 public:
  explicit MultinomialKernel(std::unique_ptr<PhiloxStream> stream) : stream_(std::move(stream)) {}
  Status run(KernelContext& context) override {
    MR_ASSIGN(Tensor output, classes_output(context));
    const int64_t samples = output.shape().dim(1);
    const auto reserved = static_cast<uint64_t>((samples + 3) / 4 * 4 * output.shape().dim(0));
    if (output.num_elements() > 0) {
      MR_TRY(draw_classes(context.input(0), samples, stream_->reserve(reserved * kMostBlocks),
                          output, CancelProbe(context)));
    }
    context.set_output(0, std::move(output));
    return {};
  }

 private:
  const std::unique_ptr<PhiloxStream> stream_;
};

Status infer_shape_argument(InferContext& context) { return infer_shape_of(context, "shape"); }

Status add_distribution(OpRegistry& ops, std::string name, std::string doc,
                        Distribution distribution) {
  return ops.add({
      .name = std::move(name),
      .doc = std::move(doc),
      .signature = "shape: T -> output: dtype | seed: int = 0, seed2: int = 0, dtype: floating, "
                   "T: {int32, int64}",
      .infer = infer_shape_argument,
      .cpu = kernel_from<RandomKernel>(BoundStream(), BoundFill{distribution}),
      .not_differentiable = kChance,
      .stateful = true,
      .foldable = false,
      .examples = {"[2 3]", "[] | seed = 1"},
  });
}

}  // namespace

Status register_random(OpRegistry& ops) {
  MR_TRY(add_distribution(ops, "RandomUniform", "Random numbers, uniform in [0, 1).",
                          Distribution::uniform));
  MR_TRY(add_distribution(ops, "RandomStandardNormal",
                          "Random numbers, normal with mean 0 and deviation 1.",
                          Distribution::normal));
  MR_TRY(add_distribution(ops, "TruncatedNormal",
                          "Random numbers, normal with mean 0 and deviation 1, none further than 2 "
                          "from 0.",
                          Distribution::truncated_normal));
  MR_TRY(ops.add({
      .name = "RandomUniformInt",
      .doc = "Random integers, uniform in [minval, maxval).",
      .signature = "shape: T, minval: Tout, maxval: Tout -> output: Tout | seed: int = 0, "
                   "seed2: int = 0, Tout: {int32, int64}, T: {int32, int64}",
      .infer = infer_shape_argument,
      .cpu = kernel_from<RandomIntKernel>(BoundStream()),
      .not_differentiable = kChance,
      .stateful = true,
      .foldable = false,
      .examples = {"[4], 7, 8 -> [7 7 7 7]"},
  }));
  MR_TRY(ops.add({
      .name = "RandomShuffle",
      .doc = "The rows of value in random order.",
      .signature = "value: T -> output: T | seed: int = 0, seed2: int = 0, T: type",
      .infer = infer::same_as_input,
      .cpu = kernel_from<ShuffleKernel>(BoundStream()),
      .not_differentiable = "chance decides where the rows go, and nothing keeps it",
      .stateful = true,
      .foldable = false,
      .examples = {"[[1 2] [1 2] [1 2]] -> [[1 2] [1 2] [1 2]]", "5 -> 5"},
  }));
  MR_TRY(ops.add({
      .name = "Multinomial",
      .doc =
          "num_samples classes for each row of logits, drawn with the probabilities exp(logits).",
      .signature = "logits: T, num_samples: int32 -> output: output_dtype | seed: int = 0, "
                   "seed2: int = 0, T: real, output_dtype: {int32, int64} = int64",
      .infer = infer_classes,
      .cpu = kernel_from<MultinomialKernel>(BoundStream()),
      .not_differentiable = kChance,
      .stateful = true,
      .foldable = false,
      .examples = {"[[0 0] [0 0]], 3", "[[5]], 2 -> [[0 0]]"},
  }));
  MR_TRY(register_gamma_and_poisson(ops));
  MR_TRY(register_truncated_normals(ops));
  MR_TRY(register_stateful(ops));
  MR_TRY(register_index_shuffle(ops));
  return register_stateless(ops);
}

}  // namespace millrace
