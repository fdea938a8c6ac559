// Part of families.h: register_stateless.
#include <algorithm>

#include "millrace/op/bind.h"
#include "millrace/op/gradient.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/random/binomial.h"
#include "millrace/ops/random/distributions.h"
#include "millrace/ops/random/families.h"
#include "millrace/ops/random/samples.h"
#include "millrace/ops/random/sizes.h"

namespace millrace {
namespace {

constexpr const char* kBySeed = "its seeds decide what it gives, and they are no real numbers";
// Numbers that stand for a way to make random bits; 3 leaves the choice to the device.
constexpr int64_t kPhilox = 1, kAutomatic = 3;

// --- where the bits begin ---

uint32_t lower_bits(uint64_t x) { return static_cast<uint32_t>(x); }
uint32_t upper_bits(uint64_t x) { return static_cast<uint32_t>(x >> 32); }

// Inputs 1 to 3: key, counter and alg. Where nothing is drawn, any algorithm will do.
Result<PhiloxBlocks> counted(KernelContext& context, int64_t drawn) {
  const Tensor &key = context.input(1), &counter = context.input(2);
  if (key.shape() != Shape{1})
    return invalid("key must have shape [1], not ", key.shape().to_string());
  if (counter.shape().rank() != 1 || counter.num_elements() < 2)
    return invalid("counter must be a vector with length at least 2; got shape: ",
                   counter.shape().to_string());
  if (!context.input(3).shape().is_scalar())
    return invalid("algorithm must be of shape [], not ", context.input(3).shape().to_string());
  MR_ASSIGN(const int64_t algorithm, read_integer(context.input(3), "alg"));
  if (drawn > 0 && algorithm != kPhilox && algorithm != kAutomatic)
    return invalid("Unsupported algorithm id: ", algorithm, "; there are 1 (Philox) and 3 (any)");
  const uint64_t k = key.flat<uint64_t>()[0];
  const auto c = counter.flat<uint64_t>();
  return PhiloxBlocks({lower_bits(k), upper_bits(k)},
                      {lower_bits(c[0]), upper_bits(c[0]), lower_bits(c[1]), upper_bits(c[1])});
}

// How an op gets its bits, and how many inputs say it, behind the shape.
enum class Begins : uint8_t { with_seed, with_counter };

Result<PhiloxBlocks> blocks_of(KernelContext& context, Begins begins, const Shape& shape) {
  if (begins == Begins::with_seed) return seeded_blocks(context.input(1));
  return counted(context, shape.num_elements());
}

Status infer_sized(InferContext& context) { return infer_shape_of(context, "shape"); }

// --- the ops ---

Result<Tensor> stateless_numbers(KernelContext& context, Begins begins, Distribution distribution) {
  MR_ASSIGN(const Shape shape, read_shape(context.input(0), "shape"));
  MR_ASSIGN(const PhiloxBlocks blocks, blocks_of(context, begins, shape));
  MR_ASSIGN(Tensor made, context.allocate(0, shape));
  MR_TRY(fill_loop(distribution, made.dtype())(context, blocks, made));
  return made;
}

Result<Tensor> stateless_integers(KernelContext& context, Begins begins) {
  const int first = begins == Begins::with_seed ? 2 : 4;
  MR_ASSIGN(const Shape shape, read_shape(context.input(0), "shape"));
  MR_ASSIGN(const PhiloxBlocks blocks, blocks_of(context, begins, shape));
  IntegerRange range;
  if (context.num_inputs() > first) {
    MR_ASSIGN(range, wanted_range(context.input(first), context.input(first + 1), shape));
  }
  MR_ASSIGN(Tensor made, context.allocate(0, shape));
  if (shape.num_elements() > 0) MR_TRY(fill_integers(context, blocks, range, made));
  return made;
}

Result<Tensor> stateless_classes(KernelContext& context) {
  MR_ASSIGN(const PhiloxBlocks blocks, seeded_blocks(context.input(2)));
  MR_ASSIGN(Tensor made, classes_output(context));
  if (made.num_elements() > 0) {
    MR_TRY(draw_classes(context.input(0), made.shape().dim(1), blocks, made, CancelProbe(context)));
  }
  return made;
}

Status key_and_counter(KernelContext& context) {
  MR_ASSIGN(const PhiloxBlocks blocks, seeded_blocks(context.input(0)));
  const auto joined = [](uint32_t low, uint32_t high) { return low | uint64_t{high} << 32; };
  const PhiloxBlock& c = blocks.counter();
  context.set_output(0, Tensor::vector<uint64_t>({joined(blocks.key()[0], blocks.key()[1])}));
  context.set_output(1, Tensor::vector<uint64_t>({joined(c[0], c[1]), joined(c[2], c[3])}));
  if (context.num_outputs() == 3)
    context.set_output(2, Tensor::scalar<int32_t>(static_cast<int32_t>(kPhilox)));
  return {};
}

Status infer_key_and_counter(InferContext& context) {
  MR_TRY(context.input_of_rank(0, 1));
  context.set_output(0, PartialShape{1});
  context.set_output(1, PartialShape{2});
  if (context.num_outputs() == 3) context.set_output(2, PartialShape::scalar());
  return {};
}

// As many samples of each alpha (or rate) as the shape has room for.
Result<Tensor> stateless_samples(KernelContext& context, Begins begins, Sampled sampled) {
  const Tensor& parameters = context.input(begins == Begins::with_seed ? 2 : 4);
  MR_ASSIGN(const Shape shape, read_shape(context.input(0), "shape"));
  MR_ASSIGN(const PhiloxBlocks blocks, blocks_of(context, begins, shape));
  MR_ASSIGN(Tensor made, context.allocate(0, shape));
  if (made.num_elements() == 0) return made;
  const auto whole = shape.dims(), own = parameters.shape().dims();
  if (own.size() > whole.size() || !std::equal(own.rbegin(), own.rend(), whole.rbegin()))
    return invalid("Shape passed in must end with broadcasted shape.");
  const SampleLoops loops = sample_loops(parameters.dtype(), made.dtype());
  MR_TRY(fill_samples(sampled, loops, parameters, blocks, made, CancelProbe(context)));
  return made;
}

Result<Tensor> stateless_binomial(KernelContext& context) {
  MR_ASSIGN(const Shape shape, read_shape(context.input(0), "shape"));
  MR_ASSIGN(const PhiloxBlocks blocks, seeded_blocks(context.input(1)));
  return draw_binomial(context, shape, context.input(2), context.input(3), blocks);
}

// How a sample moves with alpha, for each one of it; alpha is the last input.
Status stateless_gamma_gradient(GradContext& g) {
  const int slot = g.num_inputs() - 1;
  const Endpoint alpha = g.input(slot);
  if (g.dtype(alpha) != DType::f32 && g.dtype(alpha) != DType::f64)
    return unimplemented("the gradient of random gammas of type ", dtype_name(g.dtype(alpha)));
  const Endpoint slopes = g.add("RandomGammaGrad", {alpha, g.output(0)});
  const Endpoint moved = g.add("Mul", {g.grad(), slopes});
  // The axes that alpha lacks are the first ones.
  const Endpoint lacking = g.add("Sub", {g.add("Rank", {g.output(0)}), g.add("Rank", {alpha})});
  const Endpoint axes = g.add("Range", {g.scalar(DType::i32, 0), lacking, g.scalar(DType::i32, 1)});
  g.set_input_grad(slot, g.add("Sum", {moved, axes}));
  return {};
}

// The rows in another order, as RandomShuffle has them.
Result<Tensor> stateless_shuffle(KernelContext& context) {
  MR_ASSIGN(const PhiloxBlocks blocks, counted(context, 1));
  const Tensor& value = context.input(0);
  if (value.shape().is_scalar() || value.shape().dim(0) < 2) return context.take_input(0);
  return shuffled_rows(context, value, blocks);
}

struct StatelessOp {
  std::string_view name, doc;
  Distribution distribution;
};

Status add_stateless_numbers(OpRegistry& ops, const StatelessOp& row) {
  const Distribution distribution = row.distribution;
  MR_TRY(ops.add({
      .name = str_cat("Stateless", row.name),
      .doc = str_cat(row.doc, ", that two seeds decide."),
      .signature = "shape: T, seed: Tseed -> output: dtype | "
                   "dtype: {half, bfloat16, float, double} = float, T: {int32, int64} = int32, "
                   "Tseed: {int32, int64} = int64",
      .infer = infer_sized,
      .cpu = kernel([distribution](KernelContext& context) {
        return stateless_numbers(context, Begins::with_seed, distribution);
      }),
      .not_differentiable = kBySeed,
      .examples = {"[2 3], [1 2]"},
  }));
  return ops.add({
      .name = str_cat("Stateless", row.name, "V2"),
      .doc = str_cat(row.doc, ", that a key and a counter decide."),
      .signature = "shape: Tshape, key: uint64, counter: uint64, alg: int32 -> output: dtype | "
                   "dtype: {half, bfloat16, float, double} = float, Tshape: {int32, int64} = int32",
      .infer = infer_sized,
      .cpu = kernel([distribution](KernelContext& context) {
        return stateless_numbers(context, Begins::with_counter, distribution);
      }),
      .not_differentiable = kBySeed,
      .examples = {"[2 3], [1], [2 3], 1"},
  });
}

Status register_stateless_integers(OpRegistry& ops) {
  const auto by_seed = [](KernelContext& c) { return stateless_integers(c, Begins::with_seed); };
  const auto by_counter = [](KernelContext& c) {
    return stateless_integers(c, Begins::with_counter);
  };
  MR_TRY(ops.add({
      .name = "StatelessRandomUniformInt",
      .doc = "Random integers, uniform in [minval, maxval), that two seeds decide.",
      .signature = "shape: T, seed: Tseed, minval: dtype, maxval: dtype -> output: dtype | "
                   "dtype: {int32, int64}, T: {int32, int64}, Tseed: {int32, int64} = int64",
      .infer = infer_sized,
      .cpu = kernel(by_seed),
      .not_differentiable = kBySeed,
      .examples = {"[4], [1 2], 7, 8 -> [7 7 7 7]"},
  }));
  MR_TRY(ops.add({
      .name = "StatelessRandomUniformFullInt",
      .doc = "Random integers, uniform among all of their type, that two seeds decide.",
      .signature = "shape: T, seed: Tseed -> output: dtype | "
                   "dtype: {int32, int64, uint32, uint64} = uint64, T: {int32, int64} = int32, "
                   "Tseed: {int32, int64, uint32, uint64} = int64",
      .infer = infer_sized,
      .cpu = kernel(by_seed),
      .not_differentiable = kBySeed,
      .examples = {"[4], [1 2]"},
  }));
  MR_TRY(ops.add({
      .name = "StatelessRandomUniformIntV2",
      .doc = "Random integers, uniform in [minval, maxval), that a key and a counter decide.",
      .signature = "shape: Tshape, key: uint64, counter: uint64, alg: int32, minval: dtype, "
                   "maxval: dtype -> output: dtype | dtype: {int32, int64, uint32, uint64}, "
                   "Tshape: {int32, int64} = int32",
      .infer = infer_sized,
      .cpu = kernel(by_counter),
      .not_differentiable = kBySeed,
      .examples = {"[4], [1], [2 3], 1, 7, 8 -> [7 7 7 7]"},
  }));
  return ops.add({
      .name = "StatelessRandomUniformFullIntV2",
      .doc = "Random integers, uniform among all of their type, that a key and a counter decide.",
      .signature = "shape: Tshape, key: uint64, counter: uint64, alg: int32 -> output: dtype | "
                   "dtype: {int32, int64, uint32, uint64} = uint64, "
                   "Tshape: {int32, int64} = int32",
      .infer = infer_sized,
      .cpu = kernel(by_counter),
      .not_differentiable = kBySeed,
      .examples = {"[4], [1], [2 3], 3"},
  });
}

Status register_stateless_samples(OpRegistry& ops) {
  const auto gamma = [](Begins begins) {
    return kernel([begins](KernelContext& context) {
      return stateless_samples(context, begins, Sampled::gamma);
    });
  };
  const std::string doc = "Random numbers of gamma distributions of shape alpha";
  MR_TRY(ops.add({
      .name = "StatelessRandomGammaV2",
      .doc = doc + ", that two seeds decide; the shape ends with alpha's.",
      .signature = "shape: T, seed: Tseed, alpha: dtype -> output: dtype | "
                   "dtype: {half, float, double}, T: {int32, int64}, "
                   "Tseed: {int32, int64} = int64",
      .infer = infer_sized,
      .cpu = gamma(Begins::with_seed),
      .grad = stateless_gamma_gradient,
      .examples = {"[3 2], [1 2], [1 0.5]"},
  }));
  MR_TRY(ops.add({
      .name = "StatelessRandomGammaV3",
      .doc = doc + ", that a key and a counter decide; the shape ends with alpha's.",
      .signature = "shape: shape_dtype, key: uint64, counter: uint64, alg: int32, alpha: dtype -> "
                   "output: dtype | dtype: {half, float, double}, "
                   "shape_dtype: {int32, int64} = int32",
      .infer = infer_sized,
      .cpu = gamma(Begins::with_counter),
      .grad = stateless_gamma_gradient,
      .examples = {"[3 2], [1], [2 3], 1, [1 0.5]"},
  }));
  MR_TRY(ops.add({
      .name = "StatelessRandomPoisson",
      .doc = "Random numbers of Poisson distributions, that two seeds decide; the shape ends with "
             "the rates'.",
      .signature = "shape: T, seed: Tseed, lam: Rtype -> output: dtype | "
                   "Rtype: {half, float, double, int32, int64}, "
                   "dtype: {half, float, double, int32, int64}, T: {int32, int64}, "
                   "Tseed: {int32, int64} = int64",
      .infer = infer_sized,
      .cpu = kernel([](KernelContext& context) {
        return stateless_samples(context, Begins::with_seed, Sampled::poisson);
      }),
      .not_differentiable = "it gives counts, which jump",
      .examples = {"[3 2], [1 2], [1 20]", "[2], [1 2], 0 -> [0 0]"},
  }));
  MR_TRY(ops.add({
      .name = "StatelessRandomBinomial",
      .doc = "Random numbers of successes in counts trials, that two seeds decide.",
      .signature = "shape: S, seed: Tseed, counts: T, probs: T -> output: dtype | "
                   "S: {int32, int64}, Tseed: {int32, int64} = int64, "
                   "T: {half, float, double, int32, int64} = double, "
                   "dtype: {half, float, double, int32, int64} = int64",
      .infer = infer_sized,
      .cpu = kernel(stateless_binomial),
      .not_differentiable = "it gives counts, which jump",
      .examples = {"[2 3], [1 2], [5 9 0], 1 -> [[5 9 0] [5 9 0]]", "[2], [1 2], 7, 0 -> [0 0]"},
  }));
  return ops.add({
      .name = "StatelessShuffle",
      .doc = "The rows of value in random order, that a key and a counter decide.",
      .signature = "value: T, key: uint64, counter: uint64, alg: int32 -> output: T | T: type",
      .infer = infer::same_as_input,
      .cpu = kernel(stateless_shuffle),
      .not_differentiable = "where the rows go is kept nowhere",
      .examples = {"[1 2 3], [1], [1 2], 1 -> [3 2 1]", "5, [1], [1 2], 1 -> 5"},
  });
}

Status register_keys(OpRegistry& ops) {
  for (const char* name : {"StatelessRandomGetKeyCounter", "StatelessRandomGetKeyCounterAlg"}) {
    const bool has_algorithm = std::string_view(name).ends_with("Alg");
    MR_TRY(ops.add({
        .name = name,
        .doc = "The key and counter that stateless ops begin with, made from two seeds.",
        .signature =
            str_cat("seed: Tseed -> key: uint64, counter: uint64",
                    has_algorithm ? ", alg: int32" : "", " | Tseed: {int32, int64} = int64"),
        .infer = infer_key_and_counter,
        .cpu = kernel(key_and_counter),
        .not_differentiable = kBySeed,
        .cost = Cost::cheap,
        .examples = {"[1 2]"},
    }));
  }
  return ops.add({
      .name = "StatelessRandomGetAlg",
      .doc = "The number of the way in which this device makes random bits: 1, Philox.",
      .signature = "-> alg: int32",
      .infer = infer::scalar,
      .cpu = kernel([](KernelContext&) -> Result<Tensor> {
        return Tensor::scalar<int32_t>(static_cast<int32_t>(kPhilox));
      }),
      .not_differentiable = "it has no input",
      .stateful = true,
      .foldable = false,
      .cost = Cost::cheap,
  });
}

}  // namespace

Status register_stateless(OpRegistry& ops) {
  MR_TRY(add_stateless_numbers(
      ops, {"RandomUniform", "Random numbers, uniform in [0, 1)", Distribution::uniform}));
  MR_TRY(add_stateless_numbers(
      ops, {"RandomNormal", "Random numbers, normal with mean 0 and deviation 1",
            Distribution::normal}));
  MR_TRY(add_stateless_numbers(
      ops, {"TruncatedNormal",
            "Random numbers, normal with mean 0 and deviation 1, none further than 2 from 0",
            Distribution::truncated_normal}));
  MR_TRY(register_stateless_integers(ops));
  MR_TRY(register_stateless_samples(ops));
  MR_TRY(ops.add({
      .name = "StatelessMultinomial",
      .doc = "num_samples classes for each row of logits, drawn with the probabilities "
             "exp(logits), that two seeds decide.",
      .signature = "logits: T, num_samples: int32, seed: Tseed -> output: output_dtype | T: real, "
                   "Tseed: {int32, int64} = int64, output_dtype: {int32, int64} = int64",
      .infer = infer_classes,
      .cpu = kernel(stateless_classes),
      .not_differentiable = kBySeed,
      .examples = {"[[0 0] [0 0]], 3, [1 2]", "[[5]], 2, [1 2] -> [[0 0]]"},
  }));
  return register_keys(ops);
}

}  // namespace millrace
