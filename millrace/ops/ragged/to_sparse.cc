// Part of families.h: register_ragged_to_sparse.
#include "millrace/op/cancel_probe.h"
#include "millrace/op/gradient.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/ragged/families.h"
#include "millrace/ops/ragged/splits.h"

namespace millrace {
namespace {

int64_t longest_row(const Splits& splits) {
  int64_t longest = 0;
  for (size_t i = 1; i < splits.size(); ++i) longest = std::max(longest, splits[i] - splits[i - 1]);
  return longest;
}

// Which row each thing of a level is in.
class RowOfEach {
 public:
  explicit RowOfEach(const Splits& splits) : splits_(splits) {}
  // Asked in ascending order.
  int64_t row_of(int64_t thing) {
    while (splits_[row_ + 1] <= thing) ++row_;
    return static_cast<int64_t>(row_);
  }
  int64_t begin() const { return splits_[row_]; }

 private:
  const Splits& splits_;
  size_t row_ = 0;
};

// Each level begins at 0 and ends where the next one does, said as TensorFlow says it here.
Status check_ends(const KernelContext& context, int levels, const Tensor& values) {
  for (int level = 0; level < levels; ++level) {
    MR_ASSIGN(const std::vector<int64_t> splits,
              read_elements(context.input(level), "ragged splits"));
    if (splits.empty()) return invalid("ragged splits may not be empty.");
    if (splits.front() != 0) {
      return invalid("First value of ragged splits must be 0, but is ", splits.front(),
                     " in level ", level);
    }
    int64_t below = values.shape().rank() < 1 ? 0 : values.shape().dim(0);
    if (level + 1 < levels) below = context.input(level + 1).num_elements() - 1;
    if (splits.back() != below) {
      return invalid("Final value of ragged splits must match the length of what they split, ",
                     below, ", but is ", splits.back(), " in level ", level);
    }
  }
  return {};
}

Status ragged_to_sparse(KernelContext& context) {
  const int levels = context.num_inputs() - 1;
  const Tensor& values = context.input(levels);
  MR_TRY(check_ends(context, levels, values));
  MR_ASSIGN(const std::vector<Splits> nested, read_nested_splits(context, 0, levels, values));
  std::vector<int64_t> dims = {static_cast<int64_t>(nested[0].size()) - 1};
  std::vector<RowOfEach> rows;
  for (int level = 0; level < levels; ++level) {
    const auto at = static_cast<size_t>(level);
    dims.push_back(longest_row(nested[at]));
    rows.emplace_back(nested[at]);
  }
  const auto inner = values.shape().dims().subspan(1);
  dims.insert(dims.end(), inner.begin(), inner.end());
  const int64_t number = values.num_elements();
  const auto rank = static_cast<int64_t>(dims.size());
  MR_ASSIGN(const Shape shape, Shape::create(std::array<int64_t, 2>{number, rank}));
  MR_ASSIGN(Tensor places, Tensor::allocate(DType::i64, shape));
  int64_t* out = places.mutable_flat<int64_t>().data();
  const int64_t outer = number > 0 ? values.shape().dim(0) : 0;
  const int64_t length = outer > 0 ? number / outer : 0;
  CancelProbe probe(context);
  std::vector<int64_t> place(static_cast<size_t>(levels) + 1);
  for (int64_t value = 0; value < outer; ++value) {
    // From the innermost level outwards: in which row it is, and where there.
    int64_t thing = value;
    for (auto level = static_cast<size_t>(levels); level-- > 0;) {
      const int64_t row = rows[level].row_of(thing);
      place[level + 1] = thing - rows[level].begin();
      thing = row;
    }
    place[0] = thing;
    for (int64_t element = 0; element < length; ++element) {
      out = std::ranges::copy(place, out).out;
      int64_t left = element;
      for (size_t axis = inner.size(); axis-- > 0; left /= inner[axis])
        out[axis] = left % inner[axis];
      out += inner.size();
    }
    if (!probe.go_on(length * rank + levels)) return probe.status();
  }
  context.set_output(0, std::move(places));
  MR_TRY(context.set_output(1, values.reshaped({number})));
  context.set_output(2, Tensor::vector<int64_t>(dims));
  return {};
}

Status infer_ragged_to_sparse(InferContext& context) {
  const int levels = context.num_inputs() - 1;
  for (int slot = 0; slot < levels; ++slot) MR_TRY(context.input_of_rank(slot, 1));
  const PartialShape& values = context.input(levels);
  if (values.has_rank() && values.rank() < 1)
    return invalid("ragged values must have rank 1 or more");
  const int64_t rank = values.has_rank() ? levels + values.rank() : kUnknownDim;
  context.set_output(0, PartialShape{kUnknownDim, rank});
  context.set_output(1, PartialShape::of_rank(1));
  context.set_output(2, PartialShape{rank});
  return {};
}

Status ragged_to_sparse_gradient(GradContext& g) {
  const Endpoint values = g.input(g.num_inputs() - 1);
  g.set_input_grad(g.num_inputs() - 1, g.add("Reshape", {g.grad(1), g.shape_node(values)}));
  return {};
}

}  // namespace

Status register_ragged_to_sparse(OpRegistry& ops) {
  return ops.add({
      .name = "RaggedTensorToSparse",
      .doc = "The elements of a ragged tensor with their places, as a sparse tensor.",
      .signature = "rt_nested_splits: RAGGED_RANK*Tsplits, rt_dense_values: T -> "
                   "sparse_indices: int64, sparse_values: T, sparse_dense_shape: int64 | "
                   "RAGGED_RANK: int >= 1, T: type, Tsplits: {int32, int64} = int64",
      .infer = infer_ragged_to_sparse,
      .cpu = kernel(ragged_to_sparse),
      .grad = ragged_to_sparse_gradient,
      .examples = {"[0 2 2 3], [1 0 1] -> [[0 0] [0 1] [2 0]], [1 0 1], [3 2] | RAGGED_RANK = 1",
                   "[0 1 2], [0 0 2], [[1 0] [0 1]] -> "
                   "[[1 0 0 0] [1 0 0 1] [1 0 1 0] [1 0 1 1]], [1 0 0 1], [2 1 2 2] | "
                   "RAGGED_RANK = 2"},
  });
}

}  // namespace millrace
