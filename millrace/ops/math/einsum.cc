// Part of families.h: register_einsum.
#include <algorithm>
#include <array>
#include <map>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/gradient.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/strided_copy.h"
#include "millrace/ops/math/equation.h"
#include "millrace/ops/math/families.h"
#include "millrace/ops/math/gradients.h"

namespace millrace {
namespace {

struct BoundEquation {
  Result<Equation> read(const KernelSpec& spec) const {
    MR_ASSIGN(const std::string text, spec.attrs.string("equation"));
    return Equation::parse(text, static_cast<int>(spec.inputs.size()));
  }
};

// Axes that "..." stands for have numbers as letters, the last one 0: they go together from the
// end. Letters have themselves.
using Label = int;
constexpr Label kFirstLetter = 1000;

Label label_of(char letter) { return kFirstLetter + letter; }

// The labels of an operand of a rank.
Result<std::vector<Label>> labels_of(std::string_view letters, int rank) {
  const bool has_ellipsis = letters.find('.') != std::string_view::npos;
  const int named = static_cast<int>(letters.size()) - (has_ellipsis ? 1 : 0);
  if (has_ellipsis ? rank < named : rank != named) {
    return invalid("Expected ", has_ellipsis ? "at least " : "", "rank ", named,
                   " for the operand '", Equation::written(letters), "' of an einsum, got rank ",
                   rank);
  }
  std::vector<Label> labels;
  for (const char letter : letters) {
    if (letter != '.') {
      labels.push_back(label_of(letter));
    } else {
      for (int i = rank - named; i > 0; --i) labels.push_back(i - 1);
    }
  }
  return labels;
}

using Sizes = std::map<Label, int64_t>;

// Notes how long each axis is: those of "..." may be 1, all others agree.
Status note_sizes(std::span<const Label> labels, const PartialShape& shape, Sizes& sizes) {
  for (size_t axis = 0; axis < labels.size(); ++axis) {
    const int64_t dim = shape.dim(static_cast<int>(axis));
    const auto [at, is_new] = sizes.try_emplace(labels[axis], dim);
    if (is_new || at->second == dim) continue;
    const bool may_broadcast = labels[axis] < kFirstLetter;
    if (at->second == kUnknownDim || (may_broadcast && at->second == 1)) {
      at->second = dim;
    } else if (dim != kUnknownDim && !(may_broadcast && dim == 1)) {
      return invalid("Expected dimension ", at->second, " at axis ", axis, " of the input shape ",
                     shape.to_string(), " of an einsum, but got dimension ", dim);
    }
  }
  return {};
}

// "..." may stand for no axis where the output has none.
Status check_ellipsis(const Equation& equation, const Sizes& sizes) {
  if (equation.output.find('.') != std::string::npos) return {};
  const auto count =
      std::ranges::count_if(sizes, [](const auto& of) { return of.first < kFirstLetter; });
  if (count == 0) return {};
  return invalid("Output contains ", count,
                 " broadcasting dimension(s) but no ellipsis (...) was found in the output "
                 "subscripts.");
}

// --- the product of two operands, as matrices of a batch ---

using EinsumLoop = void (*)(const void* a, const void* b, void* c, int64_t rows, int64_t inner,
                            int64_t columns, CancelProbe& probe);

// c = a b; rows of a and columns of b, which lies transposed: the sums run along both.
template <class T>
void einsum_loop(const void* a, const void* b, void* c, int64_t rows, int64_t inner,
                 int64_t columns, CancelProbe& probe) {
  using M = cpu::Math<T>;
  const T *x = static_cast<const T*>(a), *y = static_cast<const T*>(b);
  T* z = static_cast<T*>(c);
  std::vector<M> sums(static_cast<size_t>(columns));
  for (int64_t i = 0; i < rows; ++i, x += inner) {
    std::fill(sums.begin(), sums.end(), M(0));
    for (int64_t k = 0; k < inner; ++k) {
      const M left = static_cast<M>(x[k]);
      const T* row = y + k * columns;
      M* const sum = sums.data();
      MR_INDEPENDENT
      for (int64_t j = 0; j < columns; ++j)
        sum[j] = cpu::add(sum[j], cpu::multiply(left, static_cast<M>(row[j])));
      if (!probe.go_on(columns)) return;
    }
    for (int64_t j = 0; j < columns; ++j) *z++ = static_cast<T>(sums[static_cast<size_t>(j)]);
  }
}

EinsumLoop einsum_loop_for(DType dtype) {
  using All = cpu::Join<cpu::Join<cpu::Floating, cpu::Complex>, cpu::Types<int32_t, int64_t>>;
  return cpu::pick<EinsumLoop>(All(), dtype,
                               []<class T>() -> EinsumLoop { return &einsum_loop<T>; });
}

// How far an operand moves along each label: an axis that is named twice is walked diagonally, one
// that is broadcast stays.
std::map<Label, int64_t> strides_by_label(const Shape& shape, std::span<const Label> labels,
                                          const Sizes& sizes) {
  const Strides own = row_major_strides(shape);
  std::map<Label, int64_t> strides;
  for (size_t axis = 0; axis < labels.size(); ++axis) {
    const bool stays = shape.dim(static_cast<int>(axis)) == 1 && sizes.at(labels[axis]) != 1;
    strides[labels[axis]] += stays ? 0 : own[axis];
  }
  return strides;
}

// What is done with a label: both operands have it and the output (batch) or not (inner), or one of
// them.
struct LabelGroups {
  std::vector<Label> batch, rows, columns, inner;
};

int64_t product_of_sizes(std::span<const Label> labels, const Sizes& sizes) {
  int64_t product = 1;
  for (const Label label : labels) product *= sizes.at(label);
  return product;
}

struct Operand {
  const Tensor* tensor;
  std::vector<Label> labels;
};

// The elements of an operand in the order of labels; an operand that lacks one is repeated along
// it.
Result<Tensor> ordered(const Operand& operand, std::span<const Label> order, const Sizes& sizes,
                       CancelProbe probe) {
  const auto strides = strides_by_label(operand.tensor->shape(), operand.labels, sizes);
  std::vector<int64_t> dims, from;
  for (const Label label : order) {
    dims.push_back(sizes.at(label));
    const auto at = strides.find(label);
    from.push_back(at == strides.end() ? 0 : at->second);
  }
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  return copied_box(shape, *operand.tensor, {0, from}, probe);
}

std::vector<Label> joined(std::initializer_list<const std::vector<Label>*> lists) {
  std::vector<Label> all;
  for (const auto* list : lists) all.insert(all.end(), list->begin(), list->end());
  return all;
}

bool has_label(std::span<const Label> labels, Label label) {
  return std::ranges::find(labels, label) != labels.end();
}

// What each label of two operands is for. `only` are those that one operand alone has and the
// output lacks: they are inner ones, along which the other is repeated.
LabelGroups group_labels(const Operand& a, const Operand& b, std::span<const Label> output,
                         const Sizes& sizes) {
  LabelGroups groups;
  for (const auto& [label, size] : sizes) {
    const bool in_a = has_label(a.labels, label), in_b = has_label(b.labels, label);
    if (!has_label(output, label)) {
      groups.inner.push_back(label);
    } else if (in_a && in_b) {
      groups.batch.push_back(label);
    } else {
      (in_a ? groups.rows : groups.columns).push_back(label);
    }
  }
  return groups;
}

// Puts what was made in the order of `from` into the output, whose labels may come twice: then only
// the diagonal is written.
Result<Tensor> placed(const Tensor& made, std::span<const Label> from,
                      std::span<const Label> output, const Sizes& sizes, CancelProbe probe) {
  std::vector<int64_t> dims;
  for (const Label label : output) dims.push_back(sizes.at(label));
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  MR_ASSIGN(Tensor out, Tensor::zeros(made.dtype(), shape));
  const Strides own = row_major_strides(shape);
  std::map<Label, int64_t> strides;
  for (size_t axis = 0; axis < output.size(); ++axis) strides[output[axis]] += own[axis];
  std::vector<int64_t> box, to;
  for (const Label label : from) {
    box.push_back(sizes.at(label));
    to.push_back(strides[label]);
  }
  const Strides dense = row_major_strides(box);
  if (out.num_elements() > 0) MR_TRY(copy_box(box, made, {0, dense}, out, {0, to}, probe));
  return out;
}

// One operand is multiplied with a 1.
Result<Tensor> one_of(DType dtype) { return scalar_of(dtype, 1); }

Result<Tensor> einsum(KernelContext& context, EinsumLoop loop, const Equation& equation) {
  Sizes sizes;
  std::vector<Operand> operands;
  for (int i = 0; i < context.num_inputs(); ++i) {
    const Tensor& tensor = context.input(i);
    MR_ASSIGN(std::vector<Label> labels,
              labels_of(equation.inputs[static_cast<size_t>(i)], tensor.shape().rank()));
    MR_TRY(note_sizes(labels, tensor.shape(), sizes));
    operands.push_back({&tensor, std::move(labels)});
  }
  MR_TRY(check_ellipsis(equation, sizes));
  MR_ASSIGN(const Tensor one, one_of(context.output_dtype(0)));
  if (operands.size() == 1) operands.push_back({&one, {}});
  std::vector<Label> output;
  for (const char letter : equation.output) {
    if (letter != '.') {
      output.push_back(label_of(letter));
      continue;
    }
    for (auto at = sizes.rbegin(); at != sizes.rend(); ++at)
      if (at->first < kFirstLetter) output.push_back(at->first);
  }
  const LabelGroups groups = group_labels(operands[0], operands[1], output, sizes);
  CancelProbe probe(context);
  // What only one operand has and nobody wants is walked with the other repeated.
  MR_ASSIGN(
      const Tensor a,
      ordered(operands[0], joined({&groups.batch, &groups.rows, &groups.inner}), sizes, probe));
  MR_ASSIGN(
      const Tensor b,
      ordered(operands[1], joined({&groups.batch, &groups.inner, &groups.columns}), sizes, probe));
  const int64_t batch = product_of_sizes(groups.batch, sizes);
  const int64_t rows = product_of_sizes(groups.rows, sizes);
  const int64_t inner = product_of_sizes(groups.inner, sizes);
  const int64_t columns = product_of_sizes(groups.columns, sizes);
  const std::vector<Label> made_order = joined({&groups.batch, &groups.rows, &groups.columns});
  std::vector<int64_t> dims;
  for (const Label label : made_order) dims.push_back(sizes.at(label));
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  MR_ASSIGN(Tensor made, Tensor::zeros(a.dtype(), shape));
  const auto size = static_cast<int64_t>(dtype_size(a.dtype()));
  for (int64_t i = 0; i < batch && made.num_elements() > 0; ++i) {
    loop(static_cast<const char*>(a.data()) + i * rows * inner * size,
         static_cast<const char*>(b.data()) + i * inner * columns * size,
         static_cast<char*>(made.mutable_data()) + i * rows * columns * size, rows, inner, columns,
         probe);
    MR_TRY(probe.status());
  }
  return placed(made, made_order, output, sizes, probe);
}

Status infer_einsum(InferContext& context) {
  MR_ASSIGN(const std::string text, context.attrs().string("equation"));
  MR_ASSIGN(const Equation equation, Equation::parse(text, context.num_inputs()));
  Sizes sizes;
  bool all_known = true;
  for (int i = 0; i < context.num_inputs(); ++i) {
    const PartialShape& shape = context.input(i);
    all_known = all_known && shape.has_rank();
    if (!shape.has_rank()) continue;
    MR_ASSIGN(const std::vector<Label> labels,
              labels_of(equation.inputs[static_cast<size_t>(i)], shape.rank()));
    MR_TRY(note_sizes(labels, shape, sizes));
  }
  MR_TRY(check_ellipsis(equation, sizes));
  const bool has_ellipsis = equation.output.find('.') != std::string::npos;
  if (!all_known && has_ellipsis) return {};
  std::vector<int64_t> dims;
  for (const char letter : equation.output) {
    if (letter != '.') {
      const auto at = sizes.find(label_of(letter));
      dims.push_back(at == sizes.end() ? kUnknownDim : at->second);
      continue;
    }
    for (auto at = sizes.rbegin(); at != sizes.rend(); ++at) {
      // One that is not known may turn out to be broadcast.
      if (at->first < kFirstLetter) dims.push_back(at->second == 1 ? kUnknownDim : at->second);
    }
  }
  return context.set_output(0, PartialShape::create(dims));
}

}  // namespace

Status register_einsum(OpRegistry& ops) {
  return ops.add({
      .name = "Einsum",
      .doc = "The sums of products that an equation of letters for axes, 'ij,jk->ik', tells.",
      .signature = "inputs: N*T -> output: T | equation: string, N: int >= 1, T: type",
      .infer = infer_einsum,
      .cpu = kernel_with(einsum, cpu::LoopFor{einsum_loop_for}, BoundEquation()),
      .grad = grad::einsum,
      .cost = Cost::heavy,
      .examples =
          {"[[1 2] [3 4]], [[5 6] [7 8]] -> [[19 22] [43 50]] | equation = 'ij,jk->ik', T = float",
           "[[1 2] [3 4]] -> [[1 3] [2 4]] | equation = 'ij->ji', T = float",
           "[[1 2] [3 4]] -> 5 | equation = 'ii->', T = float",
           "[[1 2] [3 4]] -> [1 4] | equation = 'ii->i', T = int32",
           "[1 2] -> [[1 0] [0 2]] | equation = 'i->ii', T = float",
           "[1 2], [3 4 5] -> [[3 4 5] [6 8 10]] | equation = 'i,j->ij', T = complex64",
           "[[1 2 3]], [[1] [2]] -> [6 12] | equation = '...i,...j->...', T = float",
           "[[1 2] [3 4]], [1 1] -> [[1 2] [3 4]] | equation = '...i,i->...i', T = bfloat16"},
  });
}

}  // namespace millrace
