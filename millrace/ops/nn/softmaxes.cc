// Part of families.h: register_softmaxes.
#include <cmath>

#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/elementwise.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/narrow.h"
#include "millrace/ops/loops/row_folds.h"
#include "millrace/ops/loops/share_work.h"
#include "millrace/ops/loops/vector_math.h"
#include "millrace/ops/nn/families.h"
#include "millrace/ops/nn/gradients.h"

namespace millrace {
namespace {

using cpu::Floating;
using cpu::Math;

// The sum of label * (log_sum - (x - most)).
template <class M>
MR_BODY double entropy_body(const M* x, const M* label, int64_t n, double most, double log_sum) {
  constexpr int64_t kLanes = 8;
  const auto one = [&](int64_t i) {
    return static_cast<double>(label[i]) * (log_sum - (static_cast<double>(x[i]) - most));
  };
  double lanes[kLanes] = {}, sum = 0;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += one(i + lane);
  for (const double lane : lanes) sum += lane;
  for (; i < n; ++i) sum += one(i);
  return sum;
}
template <class M>
double entropy_of(const M* x, const M* label, int64_t n, double most, double log_sum) {
  return entropy_body(x, label, n, most, log_sum);
}
template <class M>
MR_AVX2 double entropy_of_avx2(const M* x, const M* label, int64_t n, double most, double log_sum) {
  return entropy_body(x, label, n, most, log_sum);
}

// y = exp(x - most), which may stand where x does; the sum of them.
template <class M>
double exponentials(const M* x, M most, M* y, int64_t n) {
  if (const cpu::ExponentialsLoop loop = cpu::exponentials_loop(dtype_of<M>))
    return loop(x, static_cast<double>(most), y, n);
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    y[i] = std::exp(x[i] - most);
    sum += static_cast<double>(y[i]);
  }
  return sum;
}

// Rows that a kernel works on, of the type that it computes in.
template <class M>
struct Scratch {
  static Result<Scratch> of(int64_t rows, int64_t n) {
    MR_ASSIGN(Tensor made, Tensor::allocate(dtype_of<M>, {rows, n}));
    return Scratch{std::move(made), n};
  }
  M* row(int64_t i) { return static_cast<M*>(kept.mutable_data()) + i * n; }

  Tensor kept;
  int64_t n;
};

// n elements, a step apart, as they are computed: where they lie if they can be read there, else in
// `room`.
template <class T>
const Math<T>* as_math(const T* x, int64_t step, int64_t n, Math<T>* room) {
  if constexpr (std::is_same_v<T, Math<T>>) {
    if (step == 1) return x;
  } else if (step == 1) {
    widen(x, room, n);
    return room;
  }
  for (int64_t i = 0; i < n; ++i) room[i] = static_cast<Math<T>>(x[i * step]);
  return room;
}

// What the exponentials of a row come from. They are those of x - most, none of which overflows.
struct RowSum {
  double most = 0, sum = 0;
  // log(softmax(x))
  double log_of(double x) const { return x - most - std::log(sum); }
};

// exps = exp(x - most); `exps` may be `x` if that is needed no more.
template <class M>
Result<RowSum> exponentials_of_row(const M* x, int64_t n, M* exps, CancelProbe& probe) {
  RowSum of;
  if (n == 0) return of;
  // A NaN may be lost here: it makes the sum of the exponentials one, and by that the whole row.
  M most = x[0];
  MR_TRY(probe.in_pieces(n, [&](int64_t begin, int64_t count) {
    most = cpu::best_of<cpu::Larger>(most, x + begin, count);
  }));
  of.most = static_cast<double>(most);
  MR_TRY(probe.in_pieces(n, [&](int64_t begin, int64_t count) {
    of.sum += exponentials(x + begin, most, exps + begin, count);
  }));
  return of;
}

// --- Softmax, LogSoftmax ---

// Rows [begin, end). `out` may have the buffer of `logits`.
using RowsLoop = Status (*)(const Tensor& logits, void* out, int64_t begin, int64_t end,
                            int64_t classes, CancelProbe& probe);

enum class Scale { plain, logarithmic };

template <class T, Scale kScale>
Status softmax_rows(const Tensor& logits, void* out, int64_t begin, int64_t end, int64_t classes,
                    CancelProbe& probe) {
  using M = Math<T>;
  constexpr bool kIsNarrow = cpu::kIsNarrowFloat<T>;
  MR_ASSIGN(Scratch<M> scratch, Scratch<M>::of(2, classes));
  M* const exps = scratch.row(0);
  const T* x = static_cast<const T*>(logits.data()) + begin * classes;
  T* y = static_cast<T*>(out) + begin * classes;
  for (int64_t row = begin; row < end; ++row, x += classes, y += classes) {
    M* made = exps;
    if constexpr (!kIsNarrow) made = y;
    const M* const from = as_math(x, 1, classes, scratch.row(1));
    MR_ASSIGN(const RowSum of, exponentials_of_row(from, classes, exps, probe));
    if constexpr (kScale == Scale::logarithmic) {
      const M most = static_cast<M>(of.most), log_sum = static_cast<M>(std::log(of.sum));
      cpu::in_widest([made, from, most, log_sum, classes]() MR_LAMBDA_BODY {
        MR_INDEPENDENT
        for (int64_t i = 0; i < classes; ++i) made[i] = (from[i] - most) - log_sum;
      });
    } else {
      const M share = static_cast<M>(1 / of.sum);
      cpu::in_widest([made, exps, share, classes]() MR_LAMBDA_BODY {
        MR_INDEPENDENT
        for (int64_t i = 0; i < classes; ++i) made[i] = exps[i] * share;
      });
    }
    if constexpr (kIsNarrow) narrow(made, y, classes);
    if (!probe.go_on(classes)) return probe.status();
  }
  return {};
}

Result<Tensor> softmax(KernelContext& context, RowsLoop loop) {
  const Tensor& logits = context.input(0);
  const Shape& shape = logits.shape();
  if (shape.rank() == 0) return invalid("logits must have >= 1 dimension, got []");
  MR_ASSIGN(Tensor out, context.reuse_or_allocate(0, 0, shape));
  if (out.num_elements() == 0) return out;
  const int64_t classes = shape.dim(shape.rank() - 1);
  void* const to = out.mutable_data();
  MR_TRY(share_range(context, out.num_elements() / classes, classes * cpu::kMathCost,
                     [&](int64_t begin, int64_t end, CancelProbe& probe) {
                       return loop(logits, to, begin, end, classes, probe);
                     }));
  return out;
}

Status infer_softmax(InferContext& context) {
  const PartialShape& logits = context.input(0);
  if (logits.has_rank() && logits.rank() == 0) {
    return invalid("Shape must be at least rank 1 but is rank 0: ", context.attrs().op().name,
                   " goes along the last axis of logits");
  }
  context.set_output(0, logits);
  return {};
}

// --- SoftmaxCrossEntropyWithLogits ---

// How far a matrix that is broadcast moves from row to row and from class to class.
struct Steps {
  int64_t row = 0, element = 0;

  Steps(const Shape& shape, int64_t rows, int64_t classes) {
    const int64_t columns = shape.dim(shape.rank() - 1);
    const int64_t lines = shape.rank() == 2 ? shape.dim(0) : 1;
    element = columns == classes && columns != 1 ? 1 : 0;
    row = lines == rows && lines != 1 ? columns : 0;
  }
};

struct Losses {
  Tensor loss, backprop;
};

// Rows [begin, end).
using EntropyLoop = Status (*)(const Tensor& logits, Steps by_logits, const Tensor& labels,
                               Steps by_labels, Losses& losses, int64_t begin, int64_t end,
                               CancelProbe& probe);

template <class T>
Status entropy_rows(const Tensor& logits, Steps by_logits, const Tensor& labels, Steps by_labels,
                    Losses& losses, int64_t begin, int64_t end, CancelProbe& probe) {
  using M = Math<T>;
  const int64_t classes = losses.backprop.shape().dim(1);
  using Entropy = double (*)(const M*, const M*, int64_t, double, double);
  const Entropy entropy = cpu::widest<Entropy>(&entropy_of<M>, &entropy_of_avx2<M>);
  MR_ASSIGN(Scratch<M> scratch, Scratch<M>::of(3, classes));
  M* const exps = scratch.row(0);
  T* const loss = static_cast<T*>(losses.loss.mutable_data());
  for (int64_t row = begin; row < end; ++row) {
    const M* const x = as_math(static_cast<const T*>(logits.data()) + row * by_logits.row,
                               by_logits.element, classes, scratch.row(1));
    const M* const label = as_math(static_cast<const T*>(labels.data()) + row * by_labels.row,
                                   by_labels.element, classes, scratch.row(2));
    MR_ASSIGN(const RowSum of, exponentials_of_row(x, classes, exps, probe));
    // The whole loss before the first gradient: both may lie where the logits or labels do.
    double total = 0;
    const double log_sum = std::log(of.sum);
    MR_TRY(probe.in_pieces(classes, [&](int64_t at, int64_t count) {
      total += entropy(x + at, label + at, count, of.most, log_sum);
    }));
    T* const backprop = static_cast<T*>(losses.backprop.mutable_data()) + row * classes;
    M* made = exps;
    if constexpr (!cpu::kIsNarrowFloat<T>) made = backprop;
    const M sum = static_cast<M>(of.sum);
    MR_INDEPENDENT
    for (int64_t i = 0; i < classes; ++i) made[i] = exps[i] / sum - label[i];
    if constexpr (cpu::kIsNarrowFloat<T>) narrow(made, backprop, classes);
    loss[row] = static_cast<T>(static_cast<M>(total));
    if (!probe.go_on(classes)) return probe.status();
  }
  return {};
}

Status cross_entropy(KernelContext& context, EntropyLoop loop) {
  const Tensor& logits = context.input(0);
  const Tensor& labels = context.input(1);
  const Result<Shape> shape = broadcast_shapes(logits.shape(), labels.shape());
  if (!shape.ok()) {
    return invalid("logits and labels must be broadcastable: logits_size=",
                   logits.shape().to_string(), " labels_size=", labels.shape().to_string());
  }
  if (shape->rank() != 2 || logits.shape().rank() == 0 || labels.shape().rank() == 0) {
    return invalid(
        "logits and labels must be either 2-dimensional, or broadcasted to be 2-dimensional; "
        "logits_size=",
        logits.shape().to_string(), " labels_size=", labels.shape().to_string());
  }
  const int64_t rows = shape->dim(0), classes = shape->dim(1);
  MR_ASSIGN(Tensor loss, context.allocate(0, {rows}));
  MR_ASSIGN(Tensor backprop,
            context.reuse_or_allocate(*shape == logits.shape() ? 0 : 1, 1, *shape));
  Losses losses{std::move(loss), std::move(backprop)};
  const Steps by_logits(logits.shape(), rows, classes), by_labels(labels.shape(), rows, classes);
  MR_TRY(share_range(context, rows, classes * cpu::kMathCost,
                     [&](int64_t begin, int64_t end, CancelProbe& probe) {
                       return loop(logits, by_logits, labels, by_labels, losses, begin, end, probe);
                     }));
  context.set_output(0, std::move(losses.loss));
  context.set_output(1, std::move(losses.backprop));
  return {};
}

Status infer_cross_entropy(InferContext& context) {
  MR_ASSIGN(PartialShape shape, broadcast_shapes(context.input(0), context.input(1)));
  if (!shape.has_rank()) shape = PartialShape::of_rank(2);
  if (shape.rank() != 2) {
    return invalid("logits and labels must be broadcast to rank 2, not to ", shape.to_string());
  }
  context.set_output(0, PartialShape{shape.dim(0)});
  context.set_output(1, std::move(shape));
  return {};
}

// --- SparseSoftmaxCrossEntropyWithLogits ---

// Rows [begin, end).
using SparseEntropyLoop = Status (*)(const Tensor& logits, std::span<const int64_t> labels,
                                     Losses& losses, int64_t begin, int64_t end,
                                     CancelProbe& probe);

template <class T>
Status sparse_entropy_rows(const Tensor& logits, std::span<const int64_t> labels, Losses& losses,
                           int64_t begin, int64_t end, CancelProbe& probe) {
  using M = Math<T>;
  const int64_t classes = losses.backprop.shape().dim(1);
  MR_ASSIGN(Scratch<M> scratch, Scratch<M>::of(2, classes));
  M* const exps = scratch.row(0);
  T* const loss = static_cast<T*>(losses.loss.mutable_data());
  for (int64_t row = begin; row < end; ++row) {
    const auto label = static_cast<size_t>(labels[static_cast<size_t>(row)]);
    const M* const x =
        as_math(static_cast<const T*>(logits.data()) + row * classes, 1, classes, scratch.row(1));
    MR_ASSIGN(const RowSum of, exponentials_of_row(x, classes, exps, probe));
    const double of_label = of.log_of(static_cast<double>(x[label]));
    const M sum = static_cast<M>(of.sum);
    T* const backprop = static_cast<T*>(losses.backprop.mutable_data()) + row * classes;
    M* made = exps;
    if constexpr (!cpu::kIsNarrowFloat<T>) made = backprop;
    MR_INDEPENDENT
    for (int64_t i = 0; i < classes; ++i) made[i] = exps[i] / sum;
    made[label] -= M(1);
    if constexpr (cpu::kIsNarrowFloat<T>) narrow(made, backprop, classes);
    loss[row] = static_cast<T>(static_cast<M>(-of_label));
    if (!probe.go_on(classes)) return probe.status();
  }
  return {};
}

Status check_sparse_shapes(const Shape& logits, const Shape& labels) {
  if (logits.rank() != 2) return invalid("logits must be 2-D, but got shape ", logits.to_string());
  if (labels.rank() != 1) return invalid("labels must be 1-D, but got shape ", labels.to_string());
  if (logits.dim(0) != labels.dim(0)) {
    return invalid("logits and labels must have the same first dimension, got logits shape ",
                   logits.to_string(), " and labels shape ", labels.to_string());
  }
  if (logits.dim(1) > 0) return {};
  return invalid("Must have at least one class, but got logits shape ", logits.to_string());
}

Status sparse_cross_entropy(KernelContext& context, SparseEntropyLoop loop) {
  const Tensor& logits = context.input(0);
  MR_TRY(check_sparse_shapes(logits.shape(), context.input(1).shape()));
  MR_ASSIGN(const std::vector<int64_t> labels, read_integers(context.input(1), "labels"));
  const int64_t classes = logits.shape().dim(1);
  for (const int64_t label : labels) {
    if (label >= 0 && label < classes) continue;
    return invalid("Received a label value of ", label, " which is outside the valid range of [0, ",
                   classes, ").  Label values: ", context.input(1).to_string());
  }
  MR_ASSIGN(Tensor loss, context.allocate(0, context.input(1).shape()));
  MR_ASSIGN(Tensor backprop, context.reuse_or_allocate(0, 1, logits.shape()));
  Losses losses{std::move(loss), std::move(backprop)};
  MR_TRY(share_range(context, logits.shape().dim(0), classes * cpu::kMathCost,
                     [&](int64_t begin, int64_t end, CancelProbe& probe) {
                       return loop(logits, labels, losses, begin, end, probe);
                     }));
  context.set_output(0, std::move(losses.loss));
  context.set_output(1, std::move(losses.backprop));
  return {};
}

Status infer_sparse_cross_entropy(InferContext& context) {
  MR_ASSIGN(const PartialShape logits, context.input_of_rank(0, 2));
  MR_ASSIGN(PartialShape labels, context.input_of_rank(1, 1));
  MR_ASSIGN(labels, labels.merge(PartialShape{logits.dim(0)}));
  context.set_output(0, labels);
  return context.set_output(1, PartialShape::create(Shape::Dims{labels.dim(0), logits.dim(1)}));
}

template <Scale kScale>
Status add_softmax(OpRegistry& ops, std::string name, std::string doc, std::string_view output,
                   std::vector<std::string> examples) {
  return ops.add({
      .name = std::move(name),
      .doc = std::move(doc),
      .signature = str_cat("logits: T -> ", output, ": T | T: floating"),
      .infer = infer_softmax,
      .cpu = kernel_with(softmax, cpu::loop_of_input<Floating>(
                                      []<class T>() { return &softmax_rows<T, kScale>; })),
      .grad = kScale == Scale::plain ? grad::softmax : grad::log_softmax,
      .examples = std::move(examples),
  });
}

}  // namespace

Status register_softmaxes(OpRegistry& ops) {
  MR_TRY(add_softmax<Scale::plain>(
      ops, "Softmax", "exp(x) / sum(exp(x)) along the last axis: rows as probabilities.", "softmax",
      {"[0 0] -> [0.5 0.5]", "[[1 2] [5 5]] -> [[0.2689414214 0.7310585786] [0.5 0.5]]",
       "[1000 1001] -> [0.2689414214 0.7310585786] | T = double"}));
  MR_TRY(add_softmax<Scale::logarithmic>(
      ops, "LogSoftmax", "The logarithm of Softmax: x - log(sum(exp(x))) along the last axis.",
      "logsoftmax",
      {"[[1 2] [5 5]] -> [[-1.3132616875 -0.3132616875] [-0.6931471806 -0.6931471806]]"}));
  MR_TRY(ops.add({
      .name = "SoftmaxCrossEntropyWithLogits",
      .doc = "For each row, the cross entropy of its labels, which are probabilities, and the "
             "softmax of its features; and the gradient of the features.",
      .signature = "features: T, labels: T -> loss: T, backprop: T | T: floating",
      .infer = infer_cross_entropy,
      .cpu = kernel_with(cross_entropy,
                         cpu::loop_of_input<Floating>([]<class T>() { return &entropy_rows<T>; })),
      .grad = grad::cross_entropy,
      .examples =
          {"[[1 2] [3 4]], [[0 1] [0.5 0.5]] -> [0.3132616875 0.8132616875], "
           "[[0.2689414214 -0.2689414214] [-0.2310585786 0.2310585786]]",
           "[[0 0] [0 0]], [[0 1]] -> [0.6931471806 0.6931471806], [[0.5 -0.5] [0.5 -0.5]]"},
  }));
  return ops.add({
      .name = "SparseSoftmaxCrossEntropyWithLogits",
      .doc = "For each row, the cross entropy of its label, which is the number of a class, and "
             "the softmax of its features; and the gradient of the features.",
      .signature = "features: T, labels: Tlabels -> loss: T, backprop: T | T: floating, "
                   "Tlabels: {int32, int64} = int64",
      .infer = infer_sparse_cross_entropy,
      .cpu = kernel_with(sparse_cross_entropy, cpu::loop_of_input<Floating>([]<class T>() {
                           return &sparse_entropy_rows<T>;
                         })),
      .grad = grad::sparse_cross_entropy,
      .examples = {"[[1 2] [5 5]], [1 0] -> [0.3132616875 0.6931471806], "
                   "[[0.2689414214 -0.2689414214] [-0.5 0.5]]"},
  });
}

}  // namespace millrace
