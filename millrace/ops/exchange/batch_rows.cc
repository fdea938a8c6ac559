#include "millrace/ops/exchange/batch_rows.h"

#include <algorithm>
#include <utility>

#include "millrace/ops/loops/strided_copy.h"

namespace millrace {

Result<std::vector<Tensor>> batch_inputs(KernelContext& context, int end) {
  std::vector<Tensor> made;
  for (int slot = 0; slot < end; ++slot) {
    const Shape& shape = context.input(slot).shape();
    if (shape.is_scalar()) {
      return invalid("Batching input tensors must have at least one dimension. Tensor ", slot,
                     " of '", context.node_name(), "' is a scalar");
    }
    if (slot > 0 && shape.dim(0) != made[0].shape().dim(0)) {
      return invalid(
          "Batching input tensors supplied in a given op invocation must have equal 0th-dimension "
          "size. Those of '",
          context.node_name(), "' have ", made[0].shape().dim(0), " and ", shape.dim(0), " rows");
    }
    MR_ASSIGN(Tensor kept, context.take_input(slot).kept());
    made.push_back(std::move(kept));
  }
  return made;
}

Result<Tensor> joined_rows(std::span<const Tensor> parts, int64_t rows) {
  const Tensor& first = parts[0];
  if (parts.size() == 1 && first.shape().dim(0) == rows) return first;
  Shape::Dims dims(first.shape().dims().begin(), first.shape().dims().end());
  dims[0] = rows;
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  MR_ASSIGN(Tensor made, Tensor::allocate(first.dtype(), shape));
  if (rows == 0 || made.num_elements() == 0) return made;
  const int64_t width = made.num_elements() / rows;
  int64_t row = 0;
  const auto copy = [&](const Tensor& from, int64_t count) -> Status {
    MR_ASSIGN(Tensor to, made.rows(row, row + count));
    copy_elements(made.dtype(), from.data(), to.mutable_data(), count * width);
    row += count;
    return {};
  };
  for (const Tensor& part : parts) MR_TRY(copy(part, part.shape().dim(0)));
  MR_ASSIGN(const Tensor top, made.rows(0, 1));
  while (row < rows) MR_TRY(copy(top, 1));
  return made;
}

Result<Tensor> joined_alike(std::span<const Tensor> parts, int64_t rows) {
  const auto first = parts[0].shape().dims().subspan(1);
  for (const Tensor& part : parts) {
    const auto row = part.shape().dims().subspan(1);
    if (part.dtype() == parts[0].dtype() && std::ranges::equal(row, first)) continue;
    return invalid(
        "pieces that belong together differ in what their rows are: ", dtype_name(parts[0].dtype()),
        parts[0].shape().to_string(), " and ", dtype_name(part.dtype()), part.shape().to_string());
  }
  return joined_rows(parts, rows);
}

int64_t rows_of(const std::vector<BatchPiece>& pieces) {
  int64_t rows = 0;
  for (const BatchPiece& piece : pieces) rows += piece.end - piece.begin;
  return rows;
}

Result<std::vector<Tensor>> joined_pieces(const std::vector<BatchPiece>& pieces,
                                          const BatchRules& rules) {
  const int64_t rows = rules.padded(rows_of(pieces));
  std::vector<Tensor> joined;
  for (size_t i = 0; i < pieces[0].task->tensors().size(); ++i) {
    std::vector<Tensor> parts;
    for (const BatchPiece& piece : pieces) {
      MR_ASSIGN(Tensor part, piece.task->tensors()[i].rows(piece.begin, piece.end));
      parts.push_back(std::move(part));
    }
    MR_ASSIGN(Tensor together, joined_rows(parts, rows));
    joined.push_back(std::move(together));
  }
  return joined;
}

}  // namespace millrace
