// Part of families.h: register_scans.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/along_axis.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/narrow.h"
#include "millrace/ops/loops/reduce.h"
#include "millrace/ops/loops/row_folds.h"
#include "millrace/ops/loops/share_work.h"
#include "millrace/ops/math/families.h"
#include "millrace/ops/math/gradients.h"

namespace millrace {
namespace {

// --- ArgMax, ArgMin ---

using Ordered = cpu::Join<cpu::Real, cpu::Types<bool>>;
// Of rows [begin, end) of `along`, `inner` indices each.
using BestIndices = Status (*)(const void* in, const AlongAxis& along, int64_t* out, int64_t begin,
                               int64_t end, CancelProbe& probe);

// n elements as they are computed: where they lie, or in `room`.
template <class T>
const cpu::Math<T>* computed(const T* x, int64_t n, cpu::Math<T>* room) {
  if constexpr (std::is_same_v<T, cpu::Math<T>>) {
    return x;
  } else {
    widen(x, room, n);
    return room;
  }
}

// The index of the best of a row. The first of equal elements is the one; what a NaN begins it
// keeps.
template <class Better, class T>
Result<int64_t> best_index(const T* x, int64_t n, CancelProbe& probe) {
  using M = cpu::Math<T>;
  M room[kNarrowRun];
  M best = static_cast<M>(x[0]);
  int64_t at = 0;
  MR_TRY(probe.in_pieces(n, [&](int64_t first, int64_t count) {
    in_narrow_runs(count, [&](int64_t begin, int64_t run) {
      const M* const values = computed(x + first + begin, run, room);
      const M here = cpu::best_of<Better>(best, values, run);
      if (!Better::wins(here, best)) return;
      best = here;
      at = first + begin + (std::find(values, values + run, here) - values);
    });
  }));
  return at;
}

template <class Better, class T>
Status best_indices(const void* in, const AlongAxis& along, int64_t* out, int64_t begin,
                    int64_t end, CancelProbe& probe) {
  using M = cpu::Math<T>;
  const int64_t inner = along.inner;
  const T* x = static_cast<const T*>(in) + begin * along.length * inner;
  out += begin * inner;
  if (inner == 1) {
    for (int64_t row = begin; row < end; ++row, x += along.length) {
      MR_ASSIGN(*out++, best_index<Better>(x, along.length, probe));
      if (!probe.go_on(along.length)) return probe.status();
    }
    return {};
  }
  // Column by column side by side: the best of each so far.
  const std::unique_ptr<M[]> best(new M[static_cast<size_t>(inner)]);
  for (int64_t row = begin; row < end; ++row, out += inner) {
    for (int64_t i = 0; i < along.length; ++i, x += inner) {
      for (int64_t column = 0; column < inner; ++column) {
        const M candidate = static_cast<M>(x[column]);
        if (i > 0 && !Better::wins(candidate, best[column])) continue;
        best[column] = candidate;
        out[column] = i;
      }
      if (!probe.go_on(inner)) return probe.status();
    }
  }
  return {};
}

Result<Tensor> arg_best(KernelContext& context, BestIndices find) {
  const Tensor& input = context.input(0);
  MR_ASSIGN(const int64_t wanted, read_integer(context.input(1), "dimension"));
  MR_ASSIGN(const int axis, resolve_axis(wanted, input.shape().rank(), "dimension"));
  if (input.shape().dim(axis) == 0)
    return invalid("Reduction axis ", axis, " is empty in shape ", input.shape().to_string());
  const int64_t removed = axis;
  MR_ASSIGN(const PartialShape shape,
            cpu::reduced_shape(input.shape(), {&removed, 1}, cpu::KeepDims::no));
  const Shape output_shape = *shape.to_shape();
  // Without elements there may still be any number of rows.
  if (output_shape.num_elements() == 0) return Tensor::zeros(context.output_dtype(0), output_shape);
  std::vector<int64_t> indices(static_cast<size_t>(output_shape.num_elements()));
  const AlongAxis along(input.shape(), axis);
  MR_TRY(share_range(context, along.outer, along.length * along.inner,
                     [&](int64_t begin, int64_t end, CancelProbe& probe) {
                       return find(input.data(), along, indices.data(), begin, end, probe);
                     }));
  return integer_tensor(context.output_dtype(0), output_shape, indices);
}

Status infer_arg_best(InferContext& context) {
  const PartialShape& input = context.input(0);
  if (!input.has_rank()) return {};
  MR_ASSIGN(const auto axis, constant_integers(context, 1, "dimension"));
  if (axis) {
    MR_TRY(context.set_output(0, cpu::reduced_shape(input, *axis, cpu::KeepDims::no)));
  } else if (input.rank() > 0) {
    context.set_output(0, PartialShape::of_rank(input.rank() - 1));
  }
  return {};
}

// --- Cumsum, Cumprod, CumulativeLogsumexp ---

struct ScanOptions {
  bool exclusive = false;  // each element is what those before it come to
  bool reverse = false;    // from the end
};
using ScanLoop = Status (*)(const void* in, void* out, const AlongAxis& along, ScanOptions options,
                            CancelProbe probe);

struct RunningSum {
  template <class M>
  static M start() {
    return M(0);
  }
  template <class M>
  static M next(M total, M x) {
    return cpu::add(total, x);
  }
};
struct RunningProduct {
  template <class M>
  static M start() {
    return M(1);
  }
  template <class M>
  static M next(M total, M x) {
    return cpu::multiply(total, x);
  }
};
// log(exp(total) + exp(x)), without leaving the range of numbers.
struct RunningLogSum {
  template <class M>
  static M start() {
    return -std::numeric_limits<M>::infinity();
  }
  template <class M>
  static M next(M total, M x) {
    const M most = std::max(total, x), least = std::min(total, x);
    if (std::isnan(total) || std::isnan(x)) return total + x;
    return std::isinf(most) && most < 0 ? most : most + std::log1p(std::exp(least - most));
  }
};

template <class How, class T>
Status scan_loop(const void* in, void* out, const AlongAxis& along, ScanOptions options,
                 CancelProbe probe) {
  using M = cpu::Math<T>;
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  for (int64_t outer = 0; outer < along.outer; ++outer) {
    for (int64_t inner = 0; inner < along.inner; ++inner) {
      M total = How::template start<M>();
      MR_TRY(probe.in_pieces(along.length, [&](int64_t begin, int64_t count) {
        for (int64_t i = begin; i < begin + count; ++i) {
          const int64_t row = options.reverse ? along.length - 1 - i : i;
          const int64_t at = (outer * along.length + row) * along.inner + inner;
          const M next = How::next(total, static_cast<M>(x[at]));
          y[at] = static_cast<T>(options.exclusive ? total : next);
          total = next;
        }
      }));
      if (!probe.go_on(along.length)) return probe.status();
    }
  }
  return {};
}

Result<Tensor> scan(KernelContext& context, ScanLoop loop, bool exclusive, bool reverse) {
  const Tensor& input = context.input(0);
  if (context.input(1).shape().rank() != 0)
    return invalid("ScanOp: axis must be a scalar, not ", context.input(1).shape().to_string());
  MR_ASSIGN(const int64_t wanted, read_integer(context.input(1), "axis"));
  const int rank = input.shape().rank();
  if (wanted < -rank || wanted >= rank) {
    return invalid("ScanOp: Expected scan axis in the range [", -rank, ", ", rank, "), but got ",
                   wanted);
  }
  MR_ASSIGN(const int axis, resolve_axis(wanted, rank, "axis"));
  MR_ASSIGN(Tensor output, context.allocate(0, input.shape()));
  if (output.num_elements() == 0) return output;  // of any number of rows
  MR_TRY(loop(input.data(), output.mutable_data(), AlongAxis(input.shape(), axis),
              {.exclusive = exclusive, .reverse = reverse}, CancelProbe(context)));
  return output;
}

template <class Better>
Status add_arg_best(OpRegistry& ops, std::string name, std::string doc, std::string_view indices,
                    std::string example) {
  return ops.add({
      .name = std::move(name),
      .doc = std::move(doc),
      .signature = str_cat(
          "input: T, dimension: Tidx -> output: output_type | T: {bfloat16, half, float, double, "
          "int8, int16, int32, int64, uint8, uint16, uint32, uint64, bool}, ",
          indices),
      .infer = infer_arg_best,
      .cpu = kernel_with(arg_best, cpu::loop_of_input<Ordered>(
                                       []<class T>() { return &best_indices<Better, T>; })),
      .not_differentiable = "its result is an index",
      .examples = {std::move(example)},
  });
}

struct ScanOp {
  std::string name, doc;
  std::string_view types;
  GradFn gradient;
  std::vector<std::string> examples;
};

template <class How, class TypeList>
Status add_scan(OpRegistry& ops, ScanOp row) {
  return ops.add({
      .name = std::move(row.name),
      .doc = str_cat(row.doc,
                     " along axis; exclusive leaves out the element itself, reverse begins "
                     "at the end."),
      .signature = str_cat("x: T, axis: Tidx -> out: T | exclusive: bool = false, "
                           "reverse: bool = false, T: ",
                           row.types, ", Tidx: {int32, int64} = int32"),
      .infer = infer::same_as_input,
      .cpu = kernel_with(scan,
                         cpu::loop_of_input<TypeList>([]<class T>() { return &scan_loop<How, T>; }),
                         boolean("exclusive"), boolean("reverse")),
      .grad = row.gradient,
      .examples = std::move(row.examples),
  });
}

}  // namespace

Status register_scans(OpRegistry& ops) {
  MR_TRY(add_arg_best<cpu::Larger>(ops, "ArgMax", "The index of the largest element along an axis.",
                                   "Tidx: {int16, int32, int64} = int32, "
                                   "output_type: {int16, uint16, int32, int64} = int64",
                                   "[[1 0 0] [0 1 1]], 1 -> [0 1]"));
  MR_TRY(add_arg_best<cpu::Smaller>(
      ops, "ArgMin", "The index of the smallest element along an axis.",
      "Tidx: {int32, int64} = int32, output_type: {int32, int64} = int64",
      "[[1 0 0] [0 1 1]], 0 -> [1 0 0]"));
  MR_TRY((add_scan<RunningSum, cpu::Number>(
      ops, {"Cumsum",
            "Running sums",
            "number",
            grad::cumsum,
            {"[1 2 3], 0 -> [1 3 6]", "[1 2 3], 0 -> [0 1 3] | exclusive = true",
             "[1 2 3], 0 -> [6 5 3] | reverse = true", "[[1 2] [3 4]], 0 -> [[1 2] [4 6]]"}})));
  MR_TRY((add_scan<RunningProduct, cpu::Number>(
      ops, {"Cumprod",
            "Running products",
            "number",
            grad::cumprod,
            {"[1 2 3], 0 -> [1 2 6]", "[2 3 4], 0 -> [1 2 6] | exclusive = true",
             "[1 2 3], 0 -> [6 6 3] | reverse = true"}})));
  return add_scan<RunningLogSum, cpu::Floating>(
      ops, {"CumulativeLogsumexp",
            "Running logarithms of the sums of exponentials",
            "floating",
            grad::cumulative_logsumexp,
            {"[0 0 1], 0 -> [0 0.6931471806 1.5514447139]",
             "[0 0 1], 0 -> [-inf 0 0.6931471806] | exclusive = true"}});
}

}  // namespace millrace
