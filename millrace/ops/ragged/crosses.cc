// Part of families.h: register_ragged_crosses.
#include <algorithm>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/features.h"
#include "millrace/ops/loops/hashes.h"
#include "millrace/ops/ragged/families.h"
#include "millrace/ops/ragged/splits.h"

namespace millrace {
namespace {

// The features of each row stand in `values` from ends[row] to ends[row + 1].
struct CrossedColumn {
  Tensor values;
  Splits ends;

  size_t rows() const { return ends.size() - 1; }
  int64_t count(size_t row) const { return ends[row + 1] - ends[row]; }
};

constexpr const char* kRankTwo = "tf.ragged.cross only supports inputs with rank=2.";

Result<CrossedColumn> ragged_column(const Tensor& values, const Tensor& splits) {
  if (values.shape().rank() != 1) return invalid(kRankTwo);
  MR_ASSIGN(Splits ends, read_splits(splits, values.num_elements()));
  MR_TRY(check_covers(ends, values.num_elements()));
  return CrossedColumn{values, std::move(ends)};
}

// Rows are read as far as they ascend from 0 on: what stands out of order is never come to.
Result<CrossedColumn> sparse_cross_column(const Tensor& indices, const Tensor& values,
                                          const Tensor& shape) {
  if (indices.shape().rank() != 2 || values.shape().rank() != 1 || shape.shape().rank() != 1)
    return invalid("a sparse input is a matrix of indices, a vector of values and one of sizes");
  if (indices.shape().dim(1) != 2 || shape.num_elements() != 2) return invalid(kRankTwo);
  if (indices.shape().dim(0) != values.num_elements()) {
    return invalid("a sparse input has ", indices.shape().dim(0), " indices and ",
                   values.num_elements(), " values");
  }
  const int64_t rows = shape.flat<int64_t>()[0];
  if (rows < 0) return invalid("a sparse input has ", rows, " rows");
  MR_TRY(check_room(rows));
  const auto all = indices.flat<int64_t>();
  CrossedColumn column{values, {0}};
  int64_t at = 0;
  for (int64_t row = 0; row < rows; ++row) {
    while (at < values.num_elements() && all[static_cast<size_t>(2 * at)] == row) ++at;
    column.ends.push_back(at);
  }
  return column;
}

Result<CrossedColumn> dense_cross_column(const Tensor& values) {
  if (values.shape().rank() != 2) return invalid(kRankTwo);
  MR_TRY(check_room(values.shape().dim(0)));
  CrossedColumn column{values, {0}};
  for (int64_t row = 0; row < values.shape().dim(0); ++row)
    column.ends.push_back(column.ends.back() + values.shape().dim(1));
  return column;
}

// What the node says, beside the types.
struct RaggedCrossNode {
  std::string order;  // of the columns: R, S or D for each
  size_t ragged = 0, sparse = 0, dense = 0;
  int64_t buckets = 0, key = 0;
};

struct BoundRaggedCross {
  Result<RaggedCrossNode> read(const KernelSpec& spec) const {
    RaggedCrossNode node;
    MR_ASSIGN(node.order, spec.attrs.string("input_order"));
    MR_ASSIGN(const std::vector<DType> ragged, spec.attrs.types("ragged_values_types"));
    MR_ASSIGN(const std::vector<DType> splits, spec.attrs.types("ragged_splits_types"));
    MR_ASSIGN(const std::vector<DType> sparse, spec.attrs.types("sparse_values_types"));
    MR_ASSIGN(const std::vector<DType> dense, spec.attrs.types("dense_types"));
    MR_ASSIGN(const int64_t number, spec.attrs.integer("Nsparse"));
    MR_ASSIGN(node.buckets, spec.attrs.integer("num_buckets"));
    MR_ASSIGN(node.key, spec.attrs.integer("hash_key"));
    node.ragged = ragged.size();
    node.sparse = sparse.size();
    node.dense = dense.size();
    if (splits.size() != ragged.size() || static_cast<size_t>(number) != sparse.size())
      return invalid("ragged_values, ragged_row_splits and the sparse inputs differ in number");
    if (node.order.size() != node.ragged + node.sparse + node.dense)
      return invalid("Invalid length for input_order: '", node.order, "' for ",
                     node.ragged + node.sparse + node.dense, " inputs");
    MR_TRY(check_order(node));
    return node;
  }

 private:
  static Status check_order(const RaggedCrossNode& node) {
    for (const auto& [letter, number] :
         {std::pair('R', node.ragged), std::pair('S', node.sparse), std::pair('D', node.dense)}) {
      if (static_cast<size_t>(std::ranges::count(node.order, letter)) == number) continue;
      return invalid("Unexpected input_order value: '", node.order, "' for ", node.ragged,
                     " ragged, ", node.sparse, " sparse and ", node.dense, " dense inputs");
    }
    return {};
  }
};

Result<std::vector<CrossedColumn>> read_crossed(KernelContext& context,
                                                const RaggedCrossNode& node) {
  size_t ragged = 0, sparse = 0, dense = 0;
  const auto at = [&](size_t slot) { return context.input(static_cast<int>(slot)); };
  const auto next = [&](char letter) -> Result<CrossedColumn> {
    if (letter == 'R') {
      const size_t i = ragged++;
      return ragged_column(at(i), at(node.ragged + i));
    }
    if (letter == 'S') {
      const size_t i = 2 * node.ragged + sparse++;
      return sparse_cross_column(at(i), at(node.sparse + i), at(2 * node.sparse + i));
    }
    return dense_cross_column(at(2 * node.ragged + 3 * node.sparse + dense++));
  };
  std::vector<CrossedColumn> columns;
  for (const char letter : node.order) {
    MR_ASSIGN(CrossedColumn column, next(letter));
    if (!columns.empty() && column.rows() != columns[0].rows()) {
      return invalid("inputs must all have the same batch dimension size: they have ",
                     columns[0].rows(), " and ", column.rows(), " rows");
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

// Where the crosses of each row end.
Result<Splits> crossed_ends(const std::vector<CrossedColumn>& columns) {
  Splits ends = {0};
  for (size_t row = 0; !columns.empty() && row < columns[0].rows(); ++row) {
    int64_t number = 1, end = 0;
    bool is_too_many = false;
    for (const CrossedColumn& column : columns)
      is_too_many |= __builtin_mul_overflow(number, column.count(row), &number);
    is_too_many |= __builtin_add_overflow(ends.back(), number, &end);
    if (is_too_many) {
      return error(Code::resource_exhausted, "the features of row ", row,
                   " have more than 2^63 - 1 crosses: give fewer columns, or fewer features");
    }
    ends.push_back(end);
  }
  return ends;
}

// put(which, places of the features) for each cross; the feature of the last column changes
// fastest.
template <class Put>
Status each_ragged_cross(const std::vector<CrossedColumn>& columns, const Splits& ends, Put put,
                         CancelProbe& probe) {
  std::vector<int64_t> places(columns.size());
  for (size_t row = 0; row + 1 < ends.size(); ++row) {
    for (size_t i = 0; i < columns.size(); ++i) places[i] = columns[i].ends[row];
    for (int64_t which = ends[row]; which < ends[row + 1]; ++which) {
      put(static_cast<size_t>(which), places);
      for (size_t i = columns.size(); i > 0 && ++places[i - 1] == columns[i - 1].ends[row + 1]; --i)
        places[i - 1] = columns[i - 1].ends[row];
      if (!probe.go_on(static_cast<int64_t>(4 * columns.size()))) return probe.status();
    }
    if (!probe.go_on(static_cast<int64_t>(columns.size()))) return probe.status();
  }
  return {};
}

Status ragged_cross(KernelContext& context, const RaggedCrossNode& node) {
  MR_ASSIGN(const std::vector<CrossedColumn> columns, read_crossed(context, node));
  MR_ASSIGN(const Splits ends, crossed_ends(columns));
  MR_ASSIGN(Tensor values, context.allocate(0, {ends.back()}));
  CancelProbe probe(context);
  if (context.output_dtype(0) == DType::string) {
    const auto out = values.mutable_flat<std::string>();
    const auto put = [&](size_t which, const std::vector<int64_t>& at) {
      for (size_t i = 0; i < columns.size(); ++i) {
        if (i > 0) out[which] += "_X_";
        append_feature(&out[which], columns[i].values, at[i]);
      }
    };
    MR_TRY(each_ragged_cross(columns, ends, put, probe));
  } else {
    const auto out = values.mutable_flat<int64_t>();
    const auto put = [&](size_t which, const std::vector<int64_t>& at) {
      auto hash = static_cast<uint64_t>(node.key);
      for (size_t i = 0; i < columns.size(); ++i)
        hash = joined_hash64(hash, feature_hash(columns[i].values, at[i]));
      out[which] = feature_bucket(hash, node.buckets);
    };
    MR_TRY(each_ragged_cross(columns, ends, put, probe));
  }
  MR_TRY(context.set_output(1, splits_tensor(context.output_dtype(1), ends)));
  context.set_output(0, std::move(values));
  return {};
}

Status infer_ragged_cross(InferContext& context) {
  context.set_output(0, {kUnknownDim});
  context.set_output(1, {kUnknownDim});
  return {};
}

}  // namespace

Status register_ragged_crosses(OpRegistry& ops) {
  const std::string order = ", hashed_output = false, num_buckets = 0, hash_key = 0, ";
  return ops.add({
      .name = "RaggedCross",
      .doc = "Each combination of a feature of every input, row by row, in the inputs' order: the "
             "texts joined by \"_X_\", or the bucket that their hash falls into.",
      .signature =
          "ragged_values: ragged_values_types, ragged_row_splits: ragged_splits_types, "
          "sparse_indices: Nsparse*int64, sparse_values: sparse_values_types, "
          "sparse_shape: Nsparse*int64, dense_inputs: dense_types -> "
          "output_values: out_values_type, output_row_splits: out_row_splits_type | "
          "Nsparse: int >= 0, input_order: string, hashed_output: bool, num_buckets: int >= 0, "
          "hash_key: int, ragged_values_types: list({int64, string}) >= 0, "
          "ragged_splits_types: list({int32, int64}) >= 0, "
          "sparse_values_types: list({int64, string}) >= 0, "
          "dense_types: list({int64, string}) >= 0, out_values_type: {int64, string}, "
          "out_row_splits_type: {int32, int64}",
      .infer = infer_ragged_cross,
      .cpu = kernel_with(ragged_cross, BoundRaggedCross()),
      .not_differentiable = "crosses of features have no gradient",
      .examples = {str_cat("['a' 'b' 'c'], [0 2 2 3], [[1 2] [3 4] [5 6]] -> "
                           "['1_X_a' '1_X_b' '2_X_a' '2_X_b' '5_X_c' '6_X_c'], [0 4 4 6] | "
                           "Nsparse = 0, input_order = 'DR'",
                           order,
                           "ragged_values_types = {string}, ragged_splits_types = {int32}, "
                           "sparse_values_types = {}, dense_types = {int64}, "
                           "out_values_type = string, out_row_splits_type = int64"),
                   str_cat(
                       "['batch1-FC1-F1'], ['batch1-FC2-F1'], ['batch1-FC3-F1'], [0 1], "
                       "[0 1], [0 1] -> [83], [0 1] | Nsparse = 0, "
                       "input_order = 'RRR', hashed_output = true, num_buckets = 100, "
                       "hash_key = 956888297470, "
                       "ragged_values_types = {string, string, string}, "
                       "ragged_splits_types = {int64, int64, int64}, sparse_values_types = {}, "
                       "dense_types = {}, out_values_type = int64, out_row_splits_type = int64")},
  });
}

}  // namespace millrace
