// Part of families.h: register_softmaxes.
#include <cmath>

#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/nn/families.h"
#include "millrace/ops/nn/gradients.h"

namespace millrace {
namespace {

using cpu::Floating;
using cpu::Math;

// The elements of one row: one after the other, or one for all.
template <class T>
struct Row {
  const T* first;
  int64_t step = 1;
  Math<T> operator[](int64_t i) const { return static_cast<Math<T>>(first[i * step]); }
};

// What the exponentials of a row come from. They are those of x - most, none of which overflows.
struct RowSum {
  double most = 0, sum = 0;
  // log(softmax(x))
  double log_of(double x) const { return x - most - std::log(sum); }
};

template <class T>
Status add_exponentials(const Row<T>& row, int64_t n, Math<T>* out, RowSum& of,
                        CancelProbe& probe) {
  using M = Math<T>;
  if (n == 0) return {};
  M most = row[0];
  MR_TRY(probe.in_pieces(n, [&](int64_t begin, int64_t count) {
    for (int64_t i = begin; i < begin + count; ++i) most = row[i] > most ? row[i] : most;
  }));
  of.most = static_cast<double>(most);
  return probe.in_pieces(n, [&](int64_t begin, int64_t count) {
    for (int64_t i = begin; i < begin + count; ++i) {
      out[i] = std::exp(row[i] - most);
      of.sum += static_cast<double>(out[i]);
    }
  });
}

// A row of exponentials, as the elements are computed.
template <class T>
Result<Tensor> row_of_exponentials(int64_t n) {
  return Tensor::allocate(dtype_of<Math<T>>, {n});
}

// --- Softmax, LogSoftmax ---

// `out` may have the buffer of `logits`.
using RowsLoop = Status (*)(const Tensor& logits, Tensor& out, int64_t rows, int64_t classes,
                            CancelProbe& probe);

enum class Scale { plain, logarithmic };

template <class T, Scale kScale>
Status softmax_rows(const Tensor& logits, Tensor& out, int64_t rows, int64_t classes,
                    CancelProbe& probe) {
  using M = Math<T>;
  MR_ASSIGN(Tensor kept, row_of_exponentials<T>(classes));
  M* const exps = static_cast<M*>(kept.mutable_data());
  const T* x = static_cast<const T*>(logits.data());
  T* y = static_cast<T*>(out.mutable_data());
  for (int64_t row = 0; row < rows; ++row, x += classes, y += classes) {
    RowSum of;
    MR_TRY(add_exponentials<T>({x}, classes, exps, of, probe));
    if constexpr (kScale == Scale::logarithmic) {
      const M most = static_cast<M>(of.most), log_sum = static_cast<M>(std::log(of.sum));
      for (int64_t i = 0; i < classes; ++i)
        y[i] = static_cast<T>((static_cast<M>(x[i]) - most) - log_sum);
    } else {
      const M share = static_cast<M>(1 / of.sum);
      for (int64_t i = 0; i < classes; ++i) y[i] = static_cast<T>(exps[i] * share);
    }
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
  CancelProbe probe(context);
  MR_TRY(loop(logits, out, out.num_elements() / classes, classes, probe));
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

using EntropyLoop = Status (*)(const Tensor& logits, Steps by_logits, const Tensor& labels,
                               Steps by_labels, Losses& losses, CancelProbe& probe);

template <class T>
Status entropy_rows(const Tensor& logits, Steps by_logits, const Tensor& labels, Steps by_labels,
                    Losses& losses, CancelProbe& probe) {
  using M = Math<T>;
  const int64_t rows = losses.backprop.shape().dim(0), classes = losses.backprop.shape().dim(1);
  MR_ASSIGN(Tensor kept, row_of_exponentials<T>(classes));
  M* const exps = static_cast<M*>(kept.mutable_data());
  T* const loss = static_cast<T*>(losses.loss.mutable_data());
  T* backprop = static_cast<T*>(losses.backprop.mutable_data());
  for (int64_t row = 0; row < rows; ++row, backprop += classes) {
    const Row<T> x{static_cast<const T*>(logits.data()) + row * by_logits.row, by_logits.element};
    const Row<T> label{static_cast<const T*>(labels.data()) + row * by_labels.row,
                       by_labels.element};
    RowSum of;
    MR_TRY(add_exponentials<T>(x, classes, exps, of, probe));
    // The whole loss before the first gradient: both may lie where the logits or labels do.
    double total = 0;
    const double log_sum = std::log(of.sum);
    MR_TRY(probe.in_pieces(classes, [&](int64_t begin, int64_t count) {
      for (int64_t i = begin; i < begin + count; ++i) {
        total += static_cast<double>(label[i]) * (log_sum - (static_cast<double>(x[i]) - of.most));
      }
    }));
    for (int64_t i = 0; i < classes; ++i)
      backprop[i] = static_cast<T>(exps[i] / static_cast<M>(of.sum) - label[i]);
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
  CancelProbe probe(context);
  MR_TRY(loop(logits, Steps(logits.shape(), rows, classes), labels,
              Steps(labels.shape(), rows, classes), losses, probe));
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

using SparseEntropyLoop = Status (*)(const Tensor& logits, std::span<const int64_t> labels,
                                     Losses& losses, CancelProbe& probe);

template <class T>
Status sparse_entropy_rows(const Tensor& logits, std::span<const int64_t> labels, Losses& losses,
                           CancelProbe& probe) {
  using M = Math<T>;
  const int64_t classes = losses.backprop.shape().dim(1);
  MR_ASSIGN(Tensor kept, row_of_exponentials<T>(classes));
  M* const exps = static_cast<M*>(kept.mutable_data());
  const T* x = static_cast<const T*>(logits.data());
  T* loss = static_cast<T*>(losses.loss.mutable_data());
  T* backprop = static_cast<T*>(losses.backprop.mutable_data());
  for (const int64_t label : labels) {
    RowSum of;
    MR_TRY(add_exponentials<T>({x}, classes, exps, of, probe));
    const double of_label = of.log_of(static_cast<double>(static_cast<M>(x[label])));
    const M sum = static_cast<M>(of.sum);
    for (int64_t i = 0; i < classes; ++i) backprop[i] = static_cast<T>(exps[i] / sum);
    backprop[label] = static_cast<T>(exps[label] / sum - M(1));
    *loss++ = static_cast<T>(static_cast<M>(-of_label));
    x += classes;
    backprop += classes;
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
  CancelProbe probe(context);
  MR_TRY(loop(logits, labels, losses, probe));
  context.set_output(0, std::move(losses.loss));
  context.set_output(1, std::move(losses.backprop));
  return {};
}

Status infer_sparse_cross_entropy(InferContext& context) {
  MR_ASSIGN(const PartialShape logits, context.input_of_rank(0, 2));
  MR_ASSIGN(PartialShape labels, context.input_of_rank(1, 1));
  MR_ASSIGN(labels, labels.merge(PartialShape{logits.dim(0)}));
  context.set_output(0, labels);
  context.set_output(1, PartialShape{labels.dim(0), logits.dim(1)});
  return {};
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
