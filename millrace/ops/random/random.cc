// Part of families.h: register_random.
#include <cmath>
#include <numeric>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/cpu_loops.h"
#include "millrace/ops/loops/gather.h"
#include "millrace/ops/loops/random_stream.h"
#include "millrace/ops/random/families.h"

namespace millrace {
namespace {

using Draw = double (*)(RandomBits& bits);
using DrawLoop = Status (*)(Draw draw, RandomBits bits, Tensor& output, CancelProbe probe);

// Elements in order, each as `next` says.
template <class T, class Next>
Status fill_in_order(Tensor& output, CancelProbe probe, Next next) {
  const std::span<T> elements = output.mutable_flat<T>();
  return probe.in_pieces(output.num_elements(), [&](int64_t begin, int64_t count) {
    for (int64_t i = begin; i < begin + count; ++i) elements[i] = next();
  });
}

template <class T>
Status draw_loop(Draw draw, RandomBits bits, Tensor& output, CancelProbe probe) {
  return fill_in_order<T>(output, probe, [&] { return T(static_cast<cpu::Math<T>>(draw(bits))); });
}

// Uniform numbers must not be rounded up to 1: only as many bits as the type keeps are drawn.
template <class T>
Status uniform_loop(Draw, RandomBits bits, Tensor& output, CancelProbe probe) {
  constexpr int kBits = std::is_same_v<T, double>  ? 53
                        : std::is_same_v<T, float> ? 24
                        : std::is_same_v<T, Half>  ? 11
                                                   : 8;
  const double scale = std::ldexp(1.0, -kBits);
  return fill_in_order<T>(output, probe, [&] {
    const double value = static_cast<double>(bits() >> (64 - kBits)) * scale;
    return T(static_cast<cpu::Math<T>>(value));
  });
}

double draw_normal(RandomBits& bits) { return bits.normal(); }

// Values more than two deviations away are drawn again.
double draw_truncated(RandomBits& bits) {
  for (;;) {
    const double value = bits.normal();
    if (std::abs(value) < 2) return value;
  }
}

Result<Shape> wanted_shape(KernelContext& context) {
  if (context.input(0).shape().rank() != 1) {
    return invalid("shape must be a vector of {int32,int64}, got shape ",
                   context.input(0).shape().to_string());
  }
  return read_shape(context.input(0), "shape");
}

class RandomKernel final : public Kernel {
 public:
  RandomKernel(std::unique_ptr<RandomStream> stream, Draw draw, DrawLoop loop)
      : stream_(std::move(stream)), draw_(draw), loop_(loop) {}
  Status run(KernelContext& context) override {
    MR_ASSIGN(const Shape shape, wanted_shape(context));
    MR_ASSIGN(Tensor output, context.allocate(0, shape));
    MR_TRY(loop_(draw_, stream_->next_run(), output, CancelProbe(context)));
    context.set_output(0, std::move(output));
    return {};
  }

 private:
  const std::unique_ptr<RandomStream> stream_;
  const Draw draw_;
  const DrawLoop loop_;
};

// A null draw means uniform.
KernelFactory drawing(Draw draw) {
  return [draw](const KernelSpec& spec) -> Result<std::unique_ptr<Kernel>> {
    const DType dtype = spec.outputs[0].dtype;
    const DrawLoop loop =
        cpu::pick<DrawLoop>(cpu::Floating(), dtype, [draw]<class T>() -> DrawLoop {
          return draw == nullptr ? &uniform_loop<T> : &draw_loop<T>;
        });
    if (loop == nullptr) return cpu::no_loop(spec, dtype);
    MR_ASSIGN(std::unique_ptr<RandomStream> stream, RandomStream::create(spec.attrs, spec.random));
    return std::unique_ptr<Kernel>(std::make_unique<RandomKernel>(std::move(stream), draw, loop));
  };
}

struct BoundStream {
  Result<std::unique_ptr<RandomStream>> read(const KernelSpec& spec) const {
    return RandomStream::create(spec.attrs, spec.random);
  }
};

class RandomIntKernel final : public Kernel {
 public:
  explicit RandomIntKernel(std::unique_ptr<RandomStream> stream) : stream_(std::move(stream)) {}
  Status run(KernelContext& context) override {
    MR_ASSIGN(const Shape shape, wanted_shape(context));
    MR_ASSIGN(const int64_t low, read_integer(context.input(1), "minval"));
    MR_ASSIGN(const int64_t high, read_integer(context.input(2), "maxval"));
    // Of nothing, any range will do.
    if (shape.num_elements() > 0 && low >= high)
      return invalid("Need minval < maxval, got ", low, " >= ", high);
    MR_ASSIGN(Tensor output, context.allocate(0, shape));
    const uint64_t width = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    RandomBits bits = stream_->next_run();
    const auto draw = [&] {
      return static_cast<int64_t>(static_cast<uint64_t>(low) + bits.below(width));
    };
    if (output.dtype() == DType::i64) {
      MR_TRY(fill_in_order<int64_t>(output, CancelProbe(context), draw));
    } else {
      MR_TRY(fill_in_order<int32_t>(output, CancelProbe(context),
                                    [&] { return static_cast<int32_t>(draw()); }));
    }
    context.set_output(0, std::move(output));
    return {};
  }

 private:
  const std::unique_ptr<RandomStream> stream_;
};

class ShuffleKernel final : public Kernel {
 public:
  explicit ShuffleKernel(std::unique_ptr<RandomStream> stream) : stream_(std::move(stream)) {}
  Status run(KernelContext& context) override {
    const Tensor& value = context.input(0);
    if (value.shape().is_scalar() || value.shape().dim(0) < 2) {
      context.set_output(0, context.take_input(0));
      return {};
    }
    std::vector<int64_t> rows(static_cast<size_t>(value.shape().dim(0)));
    std::iota(rows.begin(), rows.end(), int64_t{0});
    RandomBits bits = stream_->next_run();
    for (size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[bits.below(i)]);
    CancelProbe probe(context);
    const Tensor order = Tensor::vector<int64_t>(std::span<const int64_t>(rows));
    return context.set_output(0, gather(value, order, 0, 0, probe));
  }

 private:
  const std::unique_ptr<RandomStream> stream_;
};

Status infer_shape_argument(InferContext& context) { return infer_shape_of(context, "shape"); }

Status add_distribution(OpRegistry& ops, std::string name, std::string doc, Draw draw) {
  return ops.add({
      .name = std::move(name),
      .doc = std::move(doc),
      .signature = "shape: T -> output: dtype | seed: int = 0, seed2: int = 0, dtype: floating, "
                   "T: {int32, int64}",
      .infer = infer_shape_argument,
      .cpu = drawing(draw),
      .stateful = true,
      .foldable = false,
      .examples = {"[2 3]", "[] | seed = 1"},
  });
}

}  // namespace

Status register_random(OpRegistry& ops) {
  MR_TRY(add_distribution(ops, "RandomUniform", "Random numbers, uniform in [0, 1).", nullptr));
  MR_TRY(add_distribution(ops, "RandomStandardNormal",
                          "Random numbers, normal with mean 0 and deviation 1.", draw_normal));
  MR_TRY(add_distribution(ops, "TruncatedNormal",
                          "Random numbers, normal with mean 0 and deviation 1, none further than 2 "
                          "from 0.",
                          draw_truncated));
  MR_TRY(ops.add({
      .name = "RandomUniformInt",
      .doc = "Random integers, uniform in [minval, maxval).",
      .signature = "shape: T, minval: Tout, maxval: Tout -> output: Tout | seed: int = 0, "
                   "seed2: int = 0, Tout: {int32, int64}, T: {int32, int64}",
      .infer = infer_shape_argument,
      .cpu = kernel_from<RandomIntKernel>(BoundStream()),
      .stateful = true,
      .foldable = false,
      .examples = {"[4], 7, 8 -> [7 7 7 7]"},
  }));
  return ops.add({
      .name = "RandomShuffle",
      .doc = "The rows of value in random order.",
      .signature = "value: T -> output: T | seed: int = 0, seed2: int = 0, T: type",
      .infer = infer::same_as_input,
      .cpu = kernel_from<ShuffleKernel>(BoundStream()),
      .stateful = true,
      .foldable = false,
      .examples = {"[[1 2] [1 2] [1 2]] -> [[1 2] [1 2] [1 2]]", "5 -> 5"},
  });
}

}  // namespace millrace
