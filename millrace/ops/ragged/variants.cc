// Part of families.h: register_ragged_variants.
//
// A ragged tensor in a variant is what TensorFlow calls one: its splits, outermost first, then its
// values.
#include <algorithm>
#include <span>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/gradient.h"
#include "millrace/op/infer.h"
#include "millrace/op/variant_type.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/strided_copy.h"
#include "millrace/ops/ragged/families.h"
#include "millrace/ops/ragged/splits.h"
#include "millrace/tensor/boxes.h"

namespace millrace {
namespace {

Result<Variant> boxed_ragged(std::vector<Tensor> parts) {
  return boxed(kBoxedRagged, std::move(parts));
}

// Splits [begin, end] of a level, beginning with 0.
Result<Tensor> splits_of_rows(DType dtype, const Splits& splits, int64_t begin, int64_t end) {
  Splits part(splits.begin() + begin, splits.begin() + end + 1);
  const int64_t first = part.front();
  for (int64_t& split : part) split -= first;
  return splits_tensor(dtype, part);
}

// Each row of the outermost level is a ragged tensor of its own.
Result<Tensor> box_rows(KernelContext& context, const std::vector<Splits>& nested,
                        const Tensor& values) {
  const auto rows = static_cast<int64_t>(nested[0].size()) - 1;
  const DType dtype = context.input(0).dtype();
  MR_ASSIGN(Tensor made, Tensor::allocate(DType::variant, {rows}));
  CancelProbe probe(context);
  for (int64_t row = 0; row < rows; ++row) {
    int64_t begin = nested[0][static_cast<size_t>(row)],
            end = nested[0][static_cast<size_t>(row) + 1];
    std::vector<Tensor> parts;
    for (size_t level = 1; level < nested.size(); ++level) {
      MR_ASSIGN(Tensor splits, splits_of_rows(dtype, nested[level], begin, end));
      parts.push_back(std::move(splits));
      begin = nested[level][static_cast<size_t>(begin)];
      end = nested[level][static_cast<size_t>(end)];
    }
    MR_ASSIGN(Tensor mine, values.rows(begin, end));
    parts.push_back(std::move(mine));
    MR_ASSIGN(made.mutable_flat<Variant>()[static_cast<size_t>(row)],
              boxed_ragged(std::move(parts)));
    if (!probe.go_on(static_cast<int64_t>(nested.size()) + 1)) return probe.status();
  }
  return made;
}

Result<Tensor> to_variant(KernelContext& context, bool is_batch) {
  const int levels = context.num_inputs() - 1;
  const Tensor& values = context.input(levels);
  if (!is_batch) {
    std::vector<Tensor> parts;
    for (int slot = 0; slot < levels; ++slot) parts.push_back(context.input(slot));
    parts.push_back(values);
    MR_ASSIGN(Variant made, boxed_ragged(std::move(parts)));
    return Tensor::scalar(std::move(made));
  }
  if (levels == 0) {
    // The rows of a dense tensor.
    if (values.shape().rank() < 1)
      return invalid("a batch has rank 1 or more: the values are a scalar");
    MR_ASSIGN(Tensor made, Tensor::allocate(DType::variant, {values.shape().dim(0)}));
    const auto inner = values.shape().dims().subspan(1);
    MR_ASSIGN(const Shape shape, Shape::create(inner));
    for (int64_t row = 0; row < values.shape().dim(0); ++row) {
      MR_ASSIGN(const Tensor mine, values.rows(row, row + 1));
      MR_ASSIGN(Tensor flat, mine.reshaped(shape));
      MR_ASSIGN(made.mutable_flat<Variant>()[static_cast<size_t>(row)], boxed_ragged({flat}));
    }
    return made;
  }
  MR_ASSIGN(const std::vector<Splits> nested, read_nested_splits(context, 0, levels, values));
  for (int level = 0; level < levels; ++level) {
    const auto at = static_cast<size_t>(level);
    MR_TRY(check_covers(nested[at], level + 1 < levels
                                        ? static_cast<int64_t>(nested[at + 1].size()) - 1
                                        : values.shape().dim(0)));
  }
  return box_rows(context, nested, values);
}

Status infer_to_variant(InferContext& context) {
  MR_ASSIGN(const bool is_batch, context.attrs().boolean("batched_input"));
  for (int slot = 0; slot + 1 < context.num_inputs(); ++slot)
    MR_TRY(context.input_of_rank(slot, 1));
  if (!is_batch) {
    context.set_output(0, PartialShape::scalar());
    return {};
  }
  const PartialShape& first = context.input(0);
  const bool is_dense = context.num_inputs() == 1;
  int64_t rows = kUnknownDim;
  if (first.has_rank() && first.rank() > 0 && first.dim(0) != kUnknownDim)
    rows = is_dense ? first.dim(0) : std::max<int64_t>(first.dim(0) - 1, 0);
  context.set_output(0, PartialShape{rows});
  return {};
}

// --- back ---

struct RaggedParts {
  std::vector<Splits> nested;
  Tensor values;
};

Result<RaggedParts> unboxed_ragged(const Variant& boxed, size_t index, int levels, DType dtype,
                                   DType splits_dtype) {
  if (boxed.type_name != kBoxedRagged || boxed.tensors.empty()) {
    return invalid("Input Variant element at index ", index,
                   " doesn't hold a RaggedTensorVariant: '", boxed.type_name.substr(0, 100), "'");
  }
  if (boxed.tensors.size() != static_cast<size_t>(levels) + 1) {
    return invalid("Encoded input RaggedTensorVariant has ragged_rank=", boxed.tensors.size() - 1,
                   ".  Expected ragged_rank=", levels, ".");
  }
  RaggedParts made;
  made.values = boxed.tensors.back();
  if (made.values.dtype() != dtype) {
    return invalid("Expected values Tensor dtype: ", dtype_name(dtype),
                   ", found: ", dtype_name(made.values.dtype()));
  }
  made.nested.resize(static_cast<size_t>(levels));
  if (levels == 0) return made;
  if (made.values.shape().rank() < 1) {
    return invalid("Ragged values must have rank >= 1; encoded scalar element at index ", index,
                   " has a scalar");
  }
  int64_t below = made.values.shape().dim(0);
  for (auto level = static_cast<size_t>(levels); level-- > 0;) {
    const Tensor& splits = boxed.tensors[level];
    if (splits.dtype() != splits_dtype) {
      return invalid("Expected row_splits Tensor dtype: ", dtype_name(splits_dtype),
                     ", found: ", dtype_name(splits.dtype()));
    }
    MR_ASSIGN(made.nested[level], read_splits(splits, below));
    MR_TRY(check_covers(made.nested[level], below));
    below = static_cast<int64_t>(made.nested[level].size()) - 1;
  }
  return made;
}

// All values one behind the other; of none a vector of nothing, as nobody knows their shape.
Result<Tensor> joined_values(DType dtype, std::span<const RaggedParts> parts) {
  if (parts.empty()) return Tensor::allocate(dtype, {0});
  Shape::Dims dims(parts[0].values.shape().dims().begin(), parts[0].values.shape().dims().end());
  dims[0] = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Shape& shape = parts[i].values.shape();
    if (shape.rank() != static_cast<int>(dims.size())) {
      return invalid("Rank of values must match for all components; values shape at index 0: ",
                     parts[0].values.shape().to_string(), ", values shape at index ", i, ": ",
                     shape.to_string());
    }
    if (!std::ranges::equal(shape.dims().subspan(1), std::span(dims).subspan(1))) {
      return invalid("All flat_values must have compatible shapes. Shape at index 0: ",
                     parts[0].values.shape().to_string(), ". Shape at index ", i, ": ",
                     shape.to_string());
    }
    dims[0] += shape.dim(0);
  }
  MR_ASSIGN(const Shape whole, Shape::create(dims));
  MR_ASSIGN(Tensor made, Tensor::allocate(dtype, whole));
  char* to = static_cast<char*>(made.mutable_data());
  for (const RaggedParts& part : parts) {
    const int64_t number = part.values.num_elements();
    if (number > 0) copy_elements(dtype, part.values.data(), to, number);
    to += number * static_cast<int64_t>(dtype_size(dtype));
  }
  return made;
}

Status from_variant(KernelContext& context, int64_t input_rank) {
  const Tensor& encoded = context.input(0);
  const int output_rank = context.num_outputs() - 1, axes = encoded.shape().rank();
  const int64_t levels = input_rank == -1 ? output_rank - axes : input_rank;
  if (levels < 0) {
    return invalid(
        "Inferred input_ragged_rank (output_ragged_rank - encoded_variant.dims()) must "
        "be >= 0, found output_ragged_rank: ",
        output_rank, ", encoded_variant.dims(): ", axes);
  }
  if (levels != output_rank - axes) {
    return invalid(
        "output_ragged_rank must be equal to input_ragged_rank + encoded_ragged.dims(); "
        "output_ragged_rank: ",
        output_rank, ", input_ragged_rank: ", levels, ", encoded_variant.dims(): ", axes);
  }
  const DType dtype = context.output_dtype(output_rank);
  const DType splits_dtype = output_rank > 0 ? context.output_dtype(0) : DType::i64;
  std::vector<RaggedParts> parts;
  int64_t number = 0;  // of splits
  CancelProbe probe(context);
  for (size_t i = 0; i < encoded.flat<Variant>().size(); ++i) {
    MR_ASSIGN(RaggedParts part, unboxed_ragged(encoded.flat<Variant>()[i], i,
                                               static_cast<int>(levels), dtype, splits_dtype));
    // What is stacked has values of rank 1 or more, even without splits of its own.
    if (axes > 0 && part.values.shape().rank() < 1) {
      return invalid("Ragged values must have rank >= 1; encoded scalar element at index ", i,
                     " has a scalar");
    }
    const int64_t before = number;
    for (const Splits& splits : part.nested) number += static_cast<int64_t>(splits.size());
    MR_TRY(check_room(number));
    parts.push_back(std::move(part));
    if (!probe.go_on(number - before + 1)) return probe.status();
  }
  if (axes == 0) {
    for (size_t level = 0; level < parts[0].nested.size(); ++level) {
      MR_TRY(context.set_output(static_cast<int>(level),
                                splits_tensor(splits_dtype, parts[0].nested[level])));
    }
    context.set_output(output_rank, parts[0].values);
    return {};
  }
  int slot = 0;
  std::vector<Splits> outer;
  MR_TRY(add_outer_splits(encoded.shape(), outer));
  for (const Splits& splits : outer)
    MR_TRY(context.set_output(slot++, splits_tensor(splits_dtype, splits)));
  Splits lengths = {0};
  for (const RaggedParts& part : parts) {
    lengths.push_back(lengths.back() + (part.nested.empty()
                                            ? part.values.shape().dim(0)
                                            : static_cast<int64_t>(part.nested[0].size()) - 1));
  }
  MR_TRY(context.set_output(slot++, splits_tensor(splits_dtype, lengths)));
  for (int64_t level = 0; level < levels; ++level) {
    Splits splits = {0};
    for (const RaggedParts& part : parts) {
      const Splits& mine = part.nested[static_cast<size_t>(level)];
      const int64_t before = splits.back();
      for (size_t i = 1; i < mine.size(); ++i) splits.push_back(before + mine[i]);
    }
    MR_TRY(context.set_output(slot++, splits_tensor(splits_dtype, splits)));
  }
  return context.set_output(output_rank, joined_values(dtype, parts));
}

Status infer_from_variant(InferContext& context) {
  for (int slot = 0; slot + 1 < context.num_outputs(); ++slot)
    context.set_output(slot, PartialShape::of_rank(1));
  return {};
}

// --- the gradient ---

// How many elements the values of row `i` have, where they are rows of `shape`.
Result<int64_t> elements_of_row(const Splits& splits, size_t i, const Shape& shape) {
  if (i + 1 >= splits.size()) {
    return invalid("there are gradients of more than ", i, " rows, but row_splits say ",
                   splits.size() - 1);
  }
  const int64_t rows = splits[i + 1] - splits[i];
  return rows == 0 ? 0 : rows * (shape.num_elements() / shape.dim(0));
}

// The values of variants that hold one tensor each, or zeros where they hold nothing, put one
// behind the other. Those of rows of which nothing was used hold nothing: the splits tell how long
// they are.
Result<Tensor> values_of_gradient(KernelContext& context) {
  const Tensor& encoded = context.input(0);
  MR_ASSIGN(const Shape shape, read_shape(context.input(2), "dense_values_shape"));
  const DType dtype = context.output_dtype(0);
  MR_ASSIGN(Tensor made, Tensor::zeros(dtype, shape));
  const auto all = encoded.flat<Variant>();
  Splits splits;  // read once they are needed
  int64_t at = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    int64_t number = 0;
    if (all[i].type_name == kBoxedRagged && !all[i].tensors.empty()) {
      const Tensor& values = all[i].tensors.back();
      if (values.dtype() != dtype) {
        return invalid("Expected values Tensor dtype: ", dtype_name(dtype),
                       ", found: ", dtype_name(values.dtype()));
      }
      number = values.num_elements();
      if (number > made.num_elements() - at) {
        return invalid("the gradients of the values have more elements than ", shape.to_string());
      }
      copy_elements(
          dtype, values.data(),
          static_cast<char*>(made.mutable_data()) + at * static_cast<int64_t>(dtype_size(dtype)),
          number);
    } else if (encoded.shape().rank() == 0) {
      number = made.num_elements();
    } else if (all[i].type_name.empty()) {
      if (splits.empty()) {
        MR_ASSIGN(splits, read_splits(context.input(1), shape.rank() < 1 ? 0 : shape.dim(0)));
      }
      MR_ASSIGN(number, elements_of_row(splits, i, shape));
    } else {
      return invalid("Input Variant element at index ", i, " doesn't hold a RaggedTensorVariant: '",
                     all[i].type_name.substr(0, 100), "'");
    }
    at += number;
  }
  if (at != made.num_elements()) {
    return invalid("the gradients of the values have ", at, " elements, not those of ",
                   shape.to_string());
  }
  return made;
}

Status infer_values_of_gradient(InferContext& context) {
  return infer_shape_of(context, "dense_values_shape", 2);
}

Status to_variant_gradient(GradContext& g) {
  const int levels = g.num_inputs() - 1;
  const Endpoint values = g.input(levels);
  Endpoint splits = levels > 0 ? g.input(0) : g.vector({0});
  // A row of several levels holds the values between the splits that its own lead to.
  for (int level = 1; level < levels; ++level)
    splits = g.add("GatherV2", {g.input(level), splits, g.scalar(DType::i32, 0)});
  g.set_input_grad(
      levels, g.add("RaggedTensorToVariantGradient", {g.grad(), splits, g.add("Shape", {values})},
                    {{"Tvalues", g.dtype(values)}}));
  return {};
}

Status from_variant_gradient(GradContext& g) {
  const PartialShape encoded = g.shape(g.input(0));
  if (!encoded.has_rank() || encoded.rank() > 1) {
    return invalid(
        "Unable to compute gradient: RaggedTensorToVariant can currently only generate "
        "0D or 1D output, not ",
        encoded.to_string());
  }
  const int levels = g.num_outputs() - 1;
  const DType splits_dtype = levels > 0 ? g.dtype(g.output(0)) : DType::i64;
  std::vector<Endpoint> inputs;
  for (int slot = 0; slot < levels; ++slot) inputs.push_back(g.output(slot));
  inputs.push_back(g.grad(levels));
  g.set_input_grad(0, g.add("RaggedTensorToVariant", inputs,
                            {{"batched_input", encoded.rank() == 1},
                             {"RAGGED_RANK", int64_t{levels}},
                             {"Tsplits", splits_dtype}}));
  return {};
}

// --- the variants ---

Result<Variant> zeros_of_ragged(const Variant& of, TensorArithmetic& tensors) {
  Variant made = of;
  if (made.tensors.empty()) return made;
  MR_ASSIGN(made.tensors.back(), tensors.zeros_like(of.tensors.back()));
  return made;
}

Result<Variant> sum_of_ragged(const Variant& a, const Variant& b, TensorArithmetic& tensors) {
  if (a.tensors.size() != b.tensors.size() || a.tensors.empty()) {
    return invalid("ragged tensors of ranks ", a.tensors.size(), " and ", b.tensors.size(),
                   " have no sum");
  }
  for (size_t i = 0; i + 1 < a.tensors.size(); ++i) {
    if (a.tensors[i] == b.tensors[i]) continue;
    return invalid("ragged tensors whose splits differ have no sum: ", a.tensors[i].to_string(),
                   " and ", b.tensors[i].to_string());
  }
  Variant made = a;
  MR_ASSIGN(made.tensors.back(), tensors.sum(a.tensors.back(), b.tensors.back()));
  return made;
}

}  // namespace

Status register_ragged_variants(OpRegistry& ops) {
  MR_TRY(ops.add_variant({.type_name = std::string(kBoxedRagged),
                          .plural = "ragged tensors",
                          .zeros_like = zeros_of_ragged,
                          .sum = sum_of_ragged}));
  MR_TRY(ops.add({
      .name = "RaggedTensorToVariant",
      .doc = "A ragged tensor in a variant, or each of its rows in one.",
      .signature = "rt_nested_splits: RAGGED_RANK*Tsplits, rt_dense_values: Tvalues -> "
                   "encoded_ragged: variant | RAGGED_RANK: int >= 0, Tvalues: type, "
                   "Tsplits: {int32, int64} = int64, batched_input: bool",
      .infer = infer_to_variant,
      .cpu = kernel_with(to_variant, boolean("batched_input")),
      .grad = to_variant_gradient,
  }));
  MR_TRY(ops.add({
      .name = "RaggedTensorFromVariant",
      .doc = "The ragged tensor of a variant, or of many, with their axes in front.",
      .signature = "encoded_ragged: variant -> output_nested_splits: output_ragged_rank*Tsplits, "
                   "output_dense_values: Tvalues | input_ragged_rank: int >= -1, "
                   "output_ragged_rank: int >= 0, Tvalues: type, "
                   "Tsplits: {int32, int64} = int64",
      .infer = infer_from_variant,
      .cpu = kernel_with(from_variant, integer("input_ragged_rank")),
      .grad = from_variant_gradient,
  }));
  return ops.add({
      .name = "RaggedTensorToVariantGradient",
      .doc = "What arrives at the variants of a ragged tensor, for its values.",
      .signature =
          "encoded_ragged_grad: variant, row_splits: Tsplits, dense_values_shape: int32 -> "
          "dense_values_grad: Tvalues | Tvalues: type, Tsplits: {int32, int64} = int64",
      .infer = infer_values_of_gradient,
      .cpu = kernel(values_of_gradient),
      .not_differentiable = "TensorFlow has no gradient for it either",
  });
}

}  // namespace millrace
