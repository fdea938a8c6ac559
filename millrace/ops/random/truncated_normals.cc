// Part of families.h: register_truncated_normals.
#include <algorithm>
#include <array>
#include <cmath>

#include "millrace/op/bind.h"
#include "millrace/op/gradient.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/broadcast_gradient.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/strides.h"
#include "millrace/ops/random/distributions.h"
#include "millrace/ops/random/families.h"
#include "millrace/ops/random/sizes.h"
#include "millrace/ops/random/truncated_normal.h"

namespace millrace {
namespace {

// --- ParameterizedTruncatedNormal ---

constexpr std::string_view kParameters[] = {"means", "stdevs", "minvals", "maxvals"};

// Rows of samples that share parameters, and the element of each parameter for the first two rows.
struct Rows {
  int64_t number = 0, length = 1;
  bool has_many[4] = {};  // else all rows have the same element
};

// All alike are drawn in rows of a hundred, as TensorFlow does: with a row begin new blocks.
Result<Rows> rows_of(KernelContext& context, const Shape& shape) {
  Rows rows{shape.dim(0), 1, {}};
  for (int axis = 1; axis < shape.rank(); ++axis) rows.length *= shape.dim(axis);
  bool is_alike = true;
  for (int i = 0; i < 4; ++i) {
    const Shape& own = context.input(1 + i).shape();
    if (own.rank() > 1) {
      return invalid("Input ", kParameters[i],
                     " should be a scalar or vector, got shape: ", own.to_string());
    }
    is_alike = is_alike && (own.is_scalar() || (i < 2 && own.dim(0) == 1));
  }
  if (is_alike) {
    constexpr int64_t kRow = 100;
    return Rows{shape.num_elements() / kRow + (shape.num_elements() % kRow != 0 ? 1 : 0), kRow, {}};
  }
  for (int i = 0; i < 4; ++i) {
    const Shape& own = context.input(1 + i).shape();
    rows.has_many[i] = !own.is_scalar() && own.dim(0) != 1;
    if (rows.has_many[i] && own.dim(0) != rows.number) {
      return invalid("Input ", kParameters[i],
                     " should have length 1 or shape[0], got shape: ", own.to_string(), " for ",
                     rows.number, " rows");
    }
  }
  return rows;
}

using FillRows = Status (*)(KernelContext& context, const Rows& rows, PhiloxBlocks blocks,
                            Tensor& out);

template <class T>
Status fill_rows(KernelContext& context, const Rows& rows, PhiloxBlocks blocks, Tensor& out) {
  T* const samples = out.mutable_flat<T>().data();
  CancelProbe probe(context);
  for (int64_t row = 0; row < rows.number; ++row) {
    const auto parameter = [&](int i) {
      return context.input(1 + i).flat<T>()[static_cast<size_t>(rows.has_many[i] ? row : 0)];
    };
    MR_ASSIGN(const auto normal,
              TruncatedNormal<T>::create(parameter(0), parameter(1), parameter(2), parameter(3)));
    const int64_t begin = row * rows.length;
    const int64_t count = std::min(rows.length, out.num_elements() - begin);
    MR_TRY(normal.draw(blocks, {samples + begin, count, 1}, probe));
  }
  return {};
}

struct BoundTruncatedStream {
  Result<std::unique_ptr<PhiloxStream>> read(const KernelSpec& spec) const {
    return PhiloxStream::create(spec.attrs, spec.random);
  }
};

class TruncatedNormalKernel final : public Kernel {
 public:
  TruncatedNormalKernel(std::unique_ptr<PhiloxStream> stream, FillRows fill)
      : stream_(std::move(stream)), fill_(fill) {}

  Status run(KernelContext& context) override {
    MR_ASSIGN(const Shape shape, wanted_shape(context));
    if (shape.rank() == 0) return invalid("Shape tensor must not be empty, got shape [0]");
    MR_ASSIGN(const Rows rows, rows_of(context, shape));
    MR_ASSIGN(Tensor output, context.allocate(0, shape));
    if (output.num_elements() > 0) {
      const auto reserved = static_cast<uint64_t>(rows.number) * 2 * kMostTruncatedTries *
                            (static_cast<uint64_t>(rows.length) + 3) / 4;
      MR_TRY(fill_(context, rows, stream_->reserve(reserved), output));
    }
    context.set_output(0, std::move(output));
    return {};
  }

 private:
  const std::unique_ptr<PhiloxStream> stream_;
  const FillRows fill_;
};

Status infer_truncated(InferContext& context) {
  for (int slot = 1; slot < 5; ++slot) {
    if (context.input(slot).has_rank() && context.input(slot).rank() > 1)
      MR_TRY(context.input_of_rank(slot, 1));
  }
  return infer_shape_of(context, "shape");
}

// --- StatelessParameterizedTruncatedNormal ---

// Parameters are innermost in `shape`, to whose end they broadcast: samples of one lie as far apart
// as there are parameters.
template <class T>
Status fill_stateless(KernelContext& context, const Shape& batch, PhiloxBlocks blocks,
                      Tensor& out) {
  std::array<Strides, 4> strides;
  for (int i = 0; i < 4; ++i)
    strides[static_cast<size_t>(i)] = broadcast_strides(context.input(2 + i).shape(), batch);
  const Walk<4> walk(batch.dims(), {strides[0], strides[1], strides[2], strides[3]});
  T* next = out.mutable_flat<T>().data();
  const int64_t number = batch.num_elements(), samples = out.num_elements() / number;
  CancelProbe probe(context);
  Status status;
  walk.each_run([&](const std::array<int64_t, 4>& at) {
    for (int64_t k = 0; k < walk.run_length() && status.ok(); ++k, ++next) {
      const auto parameter = [&](int i) {
        const int64_t place = at[static_cast<size_t>(i)] + k * walk.run_stride(i);
        return context.input(2 + i).flat<T>()[static_cast<size_t>(place)];
      };
      const auto normal =
          TruncatedNormal<T>::create(parameter(0), parameter(1), parameter(2), parameter(3));
      status = normal.ok() ? normal->draw(blocks, {next, samples, number}, probe) : normal.status();
    }
    return status.ok();
  });
  return status;
}

using FillStateless = Status (*)(KernelContext& context, const Shape& batch, PhiloxBlocks blocks,
                                 Tensor& out);

Result<Shape> batch_of_parameters(KernelContext& context) {
  Shape batch;
  for (int slot = 2; slot < 6; ++slot) {
    const auto both = broadcast_shapes(batch, context.input(slot).shape());
    if (both.ok()) {
      batch = *both;
      continue;
    }
    return invalid("means, stddevs, minvals, maxvals must have compatible batch dimensions: ",
                   context.input(2).shape().to_string(), " vs. ",
                   context.input(3).shape().to_string(), " vs. ",
                   context.input(4).shape().to_string(), " vs. ",
                   context.input(5).shape().to_string());
  }
  return batch;
}

Result<Tensor> stateless_truncated(KernelContext& context, FillStateless fill) {
  MR_ASSIGN(const Shape shape, wanted_shape(context));
  MR_ASSIGN(const PhiloxBlocks blocks, seeded_blocks(context.input(1)));
  MR_ASSIGN(const Shape batch, batch_of_parameters(context));
  const auto whole = shape.dims(), own = batch.dims();
  if (own.size() > whole.size() || !std::equal(own.rbegin(), own.rend(), whole.rbegin())) {
    return invalid("Shape passed in must end with broadcasted shape: ", shape.to_string(), " and ",
                   batch.to_string());
  }
  MR_ASSIGN(Tensor made, context.allocate(0, shape));
  if (made.num_elements() > 0) MR_TRY(fill(context, batch, blocks, made));
  return made;
}

Status infer_stateless(InferContext& context) { return infer_shape_of(context, "shape"); }

// How a sample moves with the parameters while its share of the distribution stays (Figurnov et
// al., "Implicit reparameterization gradients", 2018).
Status truncated_gradient(GradContext& g) {
  const Endpoint sample = g.output(0);
  const DType type = g.dtype(sample);
  const auto number = [&](double value) { return g.scalar(type, value); };
  const auto normalised = [&](Endpoint x) {
    return g.add("RealDiv", {g.add("Sub", {x, g.input(2)}), g.input(3)});
  };
  const auto below = [&](Endpoint z) {
    const Endpoint turned = g.add("Mul", {z, number(-std::sqrt(0.5))});
    return g.add("Mul", {number(0.5), g.add("Erfc", {turned})});
  };
  const Endpoint z = normalised(sample), low = normalised(g.input(4)),
                 high = normalised(g.input(5));
  const auto give = [&](int slot, Endpoint moved) {
    const Endpoint gradient = g.add("Mul", {g.grad(), moved});
    g.set_input_grad(slot, BroadcastGradient(g, g.input(slot), sample).to_a(gradient));
  };
  if (g.is_needed(2)) give(2, g.add("OnesLike", {z}));
  if (g.is_needed(3)) give(3, z);
  if (!g.is_needed(4) && !g.is_needed(5)) return {};
  // The share is kept off 0 and 1, whose logarithms are none.
  const double least = type == DType::f64 ? 0x1p-1022 : type == DType::f32 ? 0x1p-126 : 0x1p-14;
  const double step = type == DType::f64 ? 0x1p-52 : type == DType::f32 ? 0x1p-23 : 0x1p-10;
  const Endpoint below_low = below(low);
  const Endpoint raw = g.add(
      "RealDiv", {g.add("Sub", {below(z), below_low}), g.add("Sub", {below(high), below_low})});
  const Endpoint share = g.add("ClipByValue", {raw, number(least), number(1 - step)});
  const auto moved_by = [&](Endpoint bound, Endpoint log_share) {
    const Endpoint squares = g.add("Sub", {g.add("Square", {z}), g.add("Square", {bound})});
    return g.add("Exp", {g.add("AddV2", {g.add("Mul", {number(0.5), squares}), log_share})});
  };
  if (g.is_needed(4)) give(4, moved_by(low, g.add("Log1p", {g.add("Neg", {share})})));
  if (g.is_needed(5)) give(5, moved_by(high, g.add("Log", {share})));
  return {};
}

}  // namespace

Status register_truncated_normals(OpRegistry& ops) {
  const std::string doc =
      "Random numbers, normal with means and deviations and none outside of bounds";
  MR_TRY(ops.add({
      .name = "ParameterizedTruncatedNormal",
      .doc = doc + ", which all rows share or each has of its own.",
      .signature = "shape: T, means: dtype, stdevs: dtype, minvals: dtype, maxvals: dtype -> "
                   "output: dtype | seed: int = 0, seed2: int = 0, "
                   "dtype: {half, bfloat16, float, double}, T: {int32, int64}",
      .infer = infer_truncated,
      .cpu = kernel_from<TruncatedNormalKernel>(
          BoundTruncatedStream(),
          cpu::loop_of_output<cpu::Floating>([]<class T>() { return &fill_rows<T>; })),
      .not_differentiable = "chance decides what it gives",
      .stateful = true,
      .foldable = false,
      .examples = {"[2 3], 0, 1, -2, 2", "[2], [0 8], 1, [-1 5], [1 6]"},
  }));
  return ops.add({
      .name = "StatelessParameterizedTruncatedNormal",
      .doc = doc + ", that two seeds decide; the shape ends with that to which those broadcast.",
      .signature = "shape: S, seed: Tseed, means: dtype, stddevs: dtype, minvals: dtype, "
                   "maxvals: dtype -> output: dtype | S: {int32, int64}, "
                   "Tseed: {int32, int64} = int64, dtype: {half, float, double}",
      .infer = infer_stateless,
      .cpu = kernel_with(stateless_truncated, cpu::loop_of_output<cpu::Types<Half, float, double>>(
                                                  []<class T>() { return &fill_stateless<T>; })),
      .grad = truncated_gradient,
      .examples = {"[3 2], [1 2], [0 5], 1, -1, [1 6]", "[0], [1 2], 0, 1, -1, 1 -> []"},
  });
}

}  // namespace millrace
