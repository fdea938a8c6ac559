// Part of families.h: register_stateful.
#include <algorithm>
#include <array>

#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/cpu_loops.h"
#include "millrace/ops/random/binomial.h"
#include "millrace/ops/random/distributions.h"
#include "millrace/ops/random/families.h"
#include "millrace/ops/random/sizes.h"
#include "millrace/ops/state/stateful_op.h"
#include "millrace/ops/state/variable_handle.h"

namespace millrace {
namespace {

// The numbers of ways to make random bits; 3 leaves the choice to the device.
constexpr int64_t kPhiloxState = 1, kThreeFry = 2, kAnyState = 3;
// A generator's state is a vector of int64: the counter, lower half first, the key, and whatever
// other ways need more.
constexpr int64_t kStateSize = 3;

// Which of them an op knows.
enum class Known : uint8_t { all, philox };

Result<int64_t> read_algorithm(const Tensor& algorithm, Known known) {
  if (!algorithm.shape().is_scalar())
    return invalid("input 1 (0-based) must have shape [], not ", algorithm.shape().to_string());
  MR_ASSIGN(const int64_t asked, read_integer(algorithm, "algorithm"));
  const bool is_known =
      known == Known::all ? asked >= kPhiloxState && asked <= kAnyState : asked == kPhiloxState;
  if (!is_known) return invalid("Unsupported algorithm id: ", asked);
  return asked;
}

PhiloxBlocks blocks_of_state(std::span<const int64_t> state) {
  const auto low = [](int64_t x) { return static_cast<uint32_t>(x); };
  const auto high = [](int64_t x) { return static_cast<uint32_t>(static_cast<uint64_t>(x) >> 32); };
  return PhiloxBlocks({low(state[2]), high(state[2])},
                      {low(state[0]), high(state[0]), low(state[1]), high(state[1])});
}

int64_t joined(uint32_t low, uint32_t high) {
  return static_cast<int64_t>(low | uint64_t{high} << 32);
}

// The generator that a variable is: takes its blocks one after another.
class GeneratorState {
 public:
  // The blocks as they are; the state moves on as if `numbers` were drawn. Input 1 is the
  // algorithm.
  Result<PhiloxBlocks> take(KernelContext& context, uint64_t numbers, Known known = Known::all) {
    std::array<int64_t, kStateSize> state{};
    // As TensorFlow's ops do: those that know one only look at it last.
    if (known == Known::all) MR_TRY(read_algorithm(context.input(1), known).status());
    MR_TRY(variable_.change(context, DType::i64, [&](Tensor& held) -> Status {
      if (held.shape().rank() != 1) {
        return invalid("RNG state must have one and only one dimension, not ", held.shape().rank());
      }
      MR_ASSIGN(const int64_t algorithm, read_algorithm(context.input(1), known));
      if (algorithm == kThreeFry)
        return unimplemented("Non-XLA devices don't support the ThreeFry algorithm.");
      if (held.num_elements() < kStateSize) {
        return invalid("For the Philox algorithm, the size of state must be at least ", kStateSize,
                       "; got ", held.num_elements());
      }
      const auto all = held.flat<int64_t>();
      std::copy_n(all.begin(), kStateSize, state.begin());
      if (numbers == 0) return {};
      PhiloxBlocks later = blocks_of_state(state);
      later.skip(numbers * kMostBlocks);
      MR_TRY(unshare(held));
      const PhiloxBlock& counter = later.counter();
      const auto changed = held.mutable_flat<int64_t>();
      changed[0] = joined(counter[0], counter[1]);
      changed[1] = joined(counter[2], counter[3]);
      return {};
    }));
    return blocks_of_state(state);
  }

 private:
  VariableHandle variable_;
};

// Draws `shape` numbers out of a generator: inputs 0 to 2 are the variable, the algorithm and the
// shape.
class StatefulKernel : public Kernel {
 public:
  Status run(KernelContext& context) final {
    MR_ASSIGN(const Shape shape, read_shape(context.input(2), "shape"));
    return context.set_output(0, draw(context, shape));
  }

 protected:
  virtual Result<Tensor> draw(KernelContext& context, const Shape& shape) = 0;
  GeneratorState& state() { return state_; }

 private:
  GeneratorState state_;
};

class StatefulFloats final : public StatefulKernel {
 public:
  explicit StatefulFloats(FillLoop loop) : loop_(loop) {}

 protected:
  Result<Tensor> draw(KernelContext& context, const Shape& shape) override {
    MR_ASSIGN(Tensor made, context.allocate(0, shape));
    MR_ASSIGN(const PhiloxBlocks blocks,
              state().take(context, static_cast<uint64_t>(made.num_elements())));
    MR_TRY(loop_(context, blocks, made));
    return made;
  }

 private:
  const FillLoop loop_;
};

class StatefulIntegers final : public StatefulKernel {
 public:
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    MR_TRY(check_integers(spec));
    return std::unique_ptr<Kernel>(std::make_unique<StatefulIntegers>());
  }
  static Status check_integers(const KernelSpec& spec) {
    const DType dtype = spec.outputs[0].dtype;
    for (const DType fits : {DType::i32, DType::i64, DType::u32, DType::u64})
      if (dtype == fits) return {};
    return cpu::no_loop(spec, dtype);
  }

 protected:
  Result<Tensor> draw(KernelContext& context, const Shape& shape) override {
    IntegerRange range;
    if (context.num_inputs() > 3) {
      MR_ASSIGN(range, wanted_range(context.input(3), context.input(4), shape));
    }
    MR_ASSIGN(Tensor made, context.allocate(0, shape));
    MR_ASSIGN(const PhiloxBlocks blocks,
              state().take(context, static_cast<uint64_t>(made.num_elements())));
    if (made.num_elements() > 0) MR_TRY(fill_integers(context, blocks, range, made));
    return made;
  }
};

class StatefulBinomial final : public StatefulKernel {
 public:
  explicit StatefulBinomial(const KernelSpec&) {}

 protected:
  Result<Tensor> draw(KernelContext& context, const Shape& shape) override {
    MR_ASSIGN(const Shape batch, binomial_batch(shape, context.input(3), context.input(4)));
    const auto batches = static_cast<uint64_t>(batch.num_elements());
    const uint64_t each = batches == 0 ? 0 : static_cast<uint64_t>(shape.num_elements()) / batches;
    // TensorFlow's reckoning of what the trials need.
    const uint64_t numbers = batches * 2 * 100 * (each + 3) / 4;
    MR_ASSIGN(const PhiloxBlocks blocks, state().take(context, numbers, Known::philox));
    return draw_binomial(context, shape, context.input(3), context.input(4), blocks);
  }
};

struct BoundStatefulFill {
  Distribution distribution;
  Result<FillLoop> read(const KernelSpec& spec) const {
    const FillLoop loop = fill_loop(distribution, spec.outputs[0].dtype);
    if (loop == nullptr) return cpu::no_loop(spec, spec.outputs[0].dtype);
    return loop;
  }
};

// --- moving a generator on ---

class SkipKernel final : public Kernel {
 public:
  explicit SkipKernel(const KernelSpec&) {}
  Status run(KernelContext& context) override {
    const Tensor& delta = context.input(2);
    if (!delta.shape().is_scalar())
      return invalid("input 2 (0-based) must have shape [], not ", delta.shape().to_string());
    const uint64_t numbers = delta.dtype() == DType::u64
                                 ? delta.item<uint64_t>()
                                 : static_cast<uint64_t>(delta.item<int64_t>());
    MR_ASSIGN(const PhiloxBlocks before, state_.take(context, numbers));
    if (context.num_outputs() == 0) return {};
    const PhiloxBlock& c = before.counter();
    context.set_output(0, Tensor::vector<int64_t>({joined(c[0], c[1]), joined(c[2], c[3]),
                                                   joined(before.key()[0], before.key()[1])}));
    return {};
  }

 private:
  GeneratorState state_;
};

class NoSeedKernel final : public Kernel {
 public:
  explicit NoSeedKernel(std::unique_ptr<PhiloxStream> stream) : stream_(std::move(stream)) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    MR_TRY(StatefulIntegers::check_integers(spec));
    return std::unique_ptr<Kernel>(
        std::make_unique<NoSeedKernel>(PhiloxStream::unseeded(spec.random)));
  }
  Status run(KernelContext& context) override {
    MR_ASSIGN(const Shape shape, read_shape(context.input(0), "shape"));
    MR_ASSIGN(Tensor made, context.allocate(0, shape));
    if (made.num_elements() > 0) {
      MR_TRY(fill_integers(context, stream_->reserve(blocks_for(made.num_elements())),
                           IntegerRange(), made));
    }
    context.set_output(0, std::move(made));
    return {};
  }

 private:
  const std::unique_ptr<PhiloxStream> stream_;
};

// --- the list ---

Status infer_third(InferContext& context) { return infer_shape_of(context, "shape", 2); }
Status infer_first(InferContext& context) { return infer_shape_of(context, "shape", 0); }
Status infer_state(InferContext& context) {
  context.set_output(0, PartialShape::of_rank(1));
  return {};
}

Status add_generator_op(OpRegistry& ops, std::string name, std::string doc, std::string signature,
                        InferFn infer, KernelFactory cpu) {
  OpDef op = stateful_op(std::move(name), std::move(doc), std::move(signature), std::move(infer),
                         std::move(cpu));
  op.not_differentiable = "a generator's state decides what it gives, and that is no real number";
  return ops.add(std::move(op));
}

}  // namespace

Status register_stateful(OpRegistry& ops) {
  const std::string inputs = "resource: resource, algorithm: int64, shape: shape_dtype";
  const std::string floats = inputs +
                             " -> output: dtype | dtype: type = float, "
                             "shape_dtype: type = int64";
  const auto add_floats = [&](std::string name, std::string doc, Distribution distribution) {
    return add_generator_op(ops, std::move(name), std::move(doc), floats, infer_third,
                            kernel_from<StatefulFloats>(BoundStatefulFill{distribution}));
  };
  MR_TRY(add_floats("StatefulUniform", "Random numbers, uniform in [0, 1), out of a generator.",
                    Distribution::uniform));
  MR_TRY(add_floats("StatefulStandardNormalV2",
                    "Random numbers, normal with mean 0 and deviation 1, out of a generator.",
                    Distribution::normal));
  MR_TRY(add_floats("StatefulTruncatedNormal",
                    "Random numbers, normal with mean 0 and deviation 1, none further than 2 from "
                    "0, out of a generator.",
                    Distribution::truncated_normal));
  MR_TRY(add_generator_op(ops, "StatefulUniformInt",
                          "Random integers, uniform in [minval, maxval), out of a generator.",
                          inputs + ", minval: dtype, maxval: dtype -> output: dtype | "
                                   "dtype: type = int64, shape_dtype: type = int64",
                          infer_third, kernel_class<StatefulIntegers>()));
  MR_TRY(add_generator_op(
      ops, "StatefulUniformFullInt",
      "Random integers, uniform among all of their type, out of a generator.",
      inputs + " -> output: dtype | dtype: type = uint64, shape_dtype: type = int64", infer_third,
      kernel_class<StatefulIntegers>()));
  MR_TRY(add_generator_op(
      ops, "StatefulRandomBinomial",
      "Random numbers of successes in counts trials, with the state of a generator.",
      "resource: resource, algorithm: int64, shape: S, counts: T, probs: T -> output: dtype | "
      "S: {int32, int64}, T: {half, float, double, int32, int64} = double, "
      "dtype: {half, float, double, int32, int64} = int64",
      infer_third, kernel_class<StatefulBinomial>()));
  MR_TRY(add_generator_op(ops, "RngSkip", "Moves a generator on as if delta numbers were drawn.",
                          "resource: resource, algorithm: int64, delta: int64 ->",
                          infer::no_outputs, kernel_class<SkipKernel>()));
  MR_TRY(add_generator_op(
      ops, "RngReadAndSkip",
      "The state of a generator, which then moves on as if delta numbers were drawn.",
      "resource: resource, alg: int32, delta: uint64 -> value: int64", infer_state,
      kernel_class<SkipKernel>()));
  return add_generator_op(
      ops, "NonDeterministicInts", "Random integers, other ones each time.",
      "shape: shape_dtype -> output: dtype | dtype: type = int64, shape_dtype: type = int64",
      infer_first, kernel_class<NoSeedKernel>());
}

}  // namespace millrace
