// Part of families.h: register_isotonic.
#include <algorithm>
#include <limits>
#include <vector>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/gradient.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/share_work.h"
#include "millrace/ops/math/casting.h"
#include "millrace/ops/math/families.h"

namespace millrace {
namespace {

// Neighbours that have become one value, their mean.
template <class M>
struct Pool {
  M sum;
  int64_t count;
  M mean() const { return sum / static_cast<M>(count); }
};

// The nearest row that never rises, by least squares: neighbours that rise are put into one pool
// until none do (Kruskal, "Nonmetric multidimensional scaling: a numerical method", 1964).
template <class T>
void fit_row(const T* from, int64_t length, std::vector<Pool<cpu::Math<T>>>& pools, T* to,
             int32_t* segments) {
  using M = cpu::Math<T>;
  pools.clear();
  for (int64_t i = 0; i < length; ++i) {
    Pool<M> last{static_cast<M>(from[i]), 1};
    while (!pools.empty() && last.mean() > pools.back().mean()) {
      last = {pools.back().sum + last.sum, pools.back().count + last.count};
      pools.pop_back();
    }
    pools.push_back(last);
  }
  int32_t number = 0;
  for (const Pool<M>& pool : pools) {
    std::fill_n(to, pool.count, T(pool.mean()));
    std::fill_n(segments, pool.count, number++);
    to += pool.count;
    segments += pool.count;
  }
}

using FitLoop = Status (*)(KernelContext& context, const Tensor& from, int64_t length, Tensor& to,
                           Tensor& segments);

template <class T>
Status fit_rows(KernelContext& context, const Tensor& from, int64_t length, Tensor& to,
                Tensor& segments) {
  const T* const x = from.flat<T>().data();
  T* const y = to.mutable_flat<T>().data();
  int32_t* const numbers = segments.mutable_flat<int32_t>().data();
  return share_range(context, from.num_elements() / length, length * 16,
                     [&](int64_t begin, int64_t end, CancelProbe& probe) -> Status {
                       std::vector<Pool<cpu::Math<T>>> pools;
                       for (int64_t row = begin * length; row < end * length; row += length) {
                         fit_row<T>(x + row, length, pools, y + row, numbers + row);
                         if (!probe.go_on(length * 16)) return probe.status();
                       }
                       return {};
                     });
}

struct IsotonicLoops {
  CastLoop cast;
  FitLoop fit;
};

struct BoundIsotonic {
  Result<IsotonicLoops> read(const KernelSpec& spec) const {
    const DType made = spec.outputs[0].dtype;
    const IsotonicLoops loops{cast_loop_for(spec.inputs[0].dtype, made),
                              cpu::pick<FitLoop>(cpu::Floating(), made, []<class T>() -> FitLoop {
                                return &fit_rows<T>;
                              })};
    if (loops.cast == nullptr || loops.fit == nullptr) return cpu::no_loop(spec, made);
    return loops;
  }
};

Status isotonic(KernelContext& context, const IsotonicLoops& loops) {
  const Shape& shape = context.input(0).shape();
  if (shape.is_scalar()) return invalid("input must be at least a vector, got shape []");
  const int64_t length = shape.dim(shape.rank() - 1);
  if (length > std::numeric_limits<int32_t>::max())
    return invalid("input has rows of ", length, " elements; segments are counted as int32");
  MR_ASSIGN(const Tensor from,
            cast_by(loops.cast, context, context.input(0), context.output_dtype(0)));
  MR_ASSIGN(Tensor made, context.allocate(0, shape));
  MR_ASSIGN(Tensor segments, context.allocate(1, shape));
  if (made.num_elements() > 0) MR_TRY(loops.fit(context, from, length, made, segments));
  context.set_output(0, std::move(made));
  context.set_output(1, std::move(segments));
  return {};
}

Status infer_isotonic(InferContext& context) {
  const PartialShape& input = context.input(0);
  if (input.has_rank() && input.rank() == 0)
    return invalid("Shape must be at least rank 1 but is rank 0");
  context.set_output(0, input);
  context.set_output(1, input);
  return {};
}

// Each element of a segment moves the mean of it: what arrives at a segment is shared evenly. Rows
// are told apart by counting segments on from one to the next.
Status grad_isotonic(GradContext& g) {
  const DType type = g.dtype(g.input(0));
  if (!is_floating(type)) return {};
  const Endpoint segments{g.output(0).node, 1};
  const Endpoint shape = g.shape_node(segments);
  const Endpoint zero = g.scalar(DType::i32, 0), one = g.scalar(DType::i32, 1);
  const Endpoint rank = g.add("Sub", {g.add("Rank", {segments}), one});
  const Endpoint length = g.add("GatherV2", {shape, rank, zero});
  const Endpoint size = g.add("Size", {segments});
  const Endpoint flat = g.add("Reshape", {segments, g.vector({-1})});
  const Endpoint places = g.add("Range", {zero, size, one});
  const Endpoint rows = g.add("FloorDiv", {places, g.add("Maximum", {length, one})});
  const Endpoint numbers = g.add("AddV2", {flat, g.add("Mul", {rows, length})});
  const Endpoint come = g.add("Reshape", {g.grad(), g.vector({-1})});
  const Endpoint sums = g.add("UnsortedSegmentSum", {come, numbers, size});
  const Endpoint counts = g.add("UnsortedSegmentSum", {g.add("OnesLike", {come}), numbers, size});
  const Endpoint means = g.add("RealDiv", {g.add("GatherV2", {sums, numbers, zero}),
                                           g.add("GatherV2", {counts, numbers, zero})});
  const Endpoint made = g.add("Reshape", {means, shape});
  g.set_input_grad(0, g.dtype(made) == type ? made : g.add("Cast", {made}, {{"DstT", type}}));
  return {};
}

}  // namespace

Status register_isotonic(OpRegistry& ops) {
  return ops.add({
      .name = "IsotonicRegression",
      .doc = "Each row of the last axis as the nearest one that never rises, by least squares; and "
             "the number of the flat segment to which each element belongs.",
      .signature = "input: T -> output: output_dtype, segments: int32 | T: real, "
                   "output_dtype: floating = float",
      .infer = infer_isotonic,
      .cpu = kernel_with(isotonic, BoundIsotonic()),
      .grad = grad_isotonic,
      .examples = {"[3 1 2 0] -> [3 1.5 1.5 0], [0 1 1 2]",
                   "[[1 2 6] [6 2 1]] -> [[3 3 3] [6 2 1]], [[0 0 0] [0 1 2]]"},
  });
}

}  // namespace millrace
