#include "millrace/ops/ragged/splits.h"

#include "millrace/ops/loops/arguments.h"

namespace millrace {

Result<Splits> read_splits(const Tensor& tensor, int64_t below) {
  if (tensor.shape().rank() != 1) {
    return invalid("Invalid ragged splits: they should be a vector, not ",
                   tensor.shape().to_string());
  }
  MR_ASSIGN(Splits splits, read_elements(tensor, "ragged splits"));
  if (splits.empty())
    return invalid(
        "Invalid ragged splits: ragged splits must have at least one splits, but is empty");
  for (size_t i = 0; i < splits.size(); ++i) {
    if (splits[i] < 0)
      return invalid("Invalid ragged splits: splits[", i, "] = ", splits[i], " < 0");
    if (i > 0 && splits[i] < splits[i - 1]) {
      return invalid(
          "Invalid ragged splits: ragged splits must be monotonically increasing, but "
          "ragged_splits[",
          i, "]=", splits[i], " is smaller than row_splits[", i - 1, "]=", splits[i - 1]);
    }
  }
  if (splits.back() > below) {
    return invalid("Invalid ragged splits: the last is ", splits.back(), ", but there are only ",
                   below, " of what they split");
  }
  return splits;
}

Status check_covers(const Splits& splits, int64_t below) {
  if (splits.front() != 0) {
    return invalid("Invalid ragged splits: first element of ragged splits must be 0 but is ",
                   splits.front());
  }
  if (splits.back() != below) {
    return invalid(
        "Invalid ragged splits: last element of ragged splits must be the number of "
        "ragged values(",
        below, ") but is ", splits.back());
  }
  return {};
}

Result<std::vector<Splits>> read_nested_splits(const KernelContext& context, int slot, int levels,
                                               const Tensor& values) {
  if (values.shape().rank() < 1)
    return invalid("ragged values must have rank 1 or more, not be a scalar");
  std::vector<Splits> nested(static_cast<size_t>(levels));
  int64_t below = values.shape().dim(0);
  for (int level = levels; level-- > 0;) {
    auto& splits = nested[static_cast<size_t>(level)];
    MR_ASSIGN(splits, read_splits(context.input(slot + level), below));
    below = static_cast<int64_t>(splits.size()) - 1;
  }
  return nested;
}

Status check_room(int64_t splits) { return Tensor::allocate(DType::i64, {splits}).status(); }

Status add_outer_splits(const Shape& shape, std::vector<Splits>& made) {
  int64_t rows = 1;
  for (int axis = 0; axis + 1 < shape.rank(); ++axis) {
    rows *= shape.dim(axis);
    MR_TRY(check_room(rows));
    Splits splits = {0};
    for (int64_t row = 0; row < rows; ++row) splits.push_back(splits.back() + shape.dim(axis + 1));
    made.push_back(std::move(splits));
  }
  return {};
}

Result<Tensor> splits_tensor(DType dtype, std::span<const int64_t> splits) {
  return integer_tensor(dtype, {static_cast<int64_t>(splits.size())}, splits);
}

}  // namespace millrace
