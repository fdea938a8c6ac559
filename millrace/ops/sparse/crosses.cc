// Part of families.h: register_sparse_crosses.
#include <algorithm>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/features.h"
#include "millrace/ops/loops/hashes.h"
#include "millrace/ops/sparse/families.h"
#include "millrace/ops/sparse/sparse_input.h"

namespace millrace {
namespace {

// The features of a row that one column has, in the column's values.
struct Run {
  int64_t row = 0, begin = 0, count = 0;
};

// A column of features: a sparse matrix, of whose places only the rows matter, or a dense one.
struct Column {
  Tensor values;
  int64_t batch = 0;
  bool is_dense = false;
  std::vector<Run> runs;  // of a sparse one: the rows that have features, in ascending order

  Run row(int64_t at) const {
    const int64_t width = values.shape().dim(1);
    return {at, at * width, width};
  }
};

// Rows are read as far as they ascend from 0 on: what stands out of order is never come to.
std::vector<Run> read_runs(const Tensor& indices, int64_t batch) {
  std::vector<Run> runs;
  const auto all = indices.flat<int64_t>();
  for (int64_t i = 0; i < indices.shape().dim(0); ++i) {
    const int64_t row = all[static_cast<size_t>(2 * i)];
    if (row < (runs.empty() ? 0 : runs.back().row) || row >= batch) break;
    if (runs.empty() || runs.back().row != row) runs.push_back({row, i, 0});
    ++runs.back().count;
  }
  return runs;
}

Result<Column> sparse_column(const Tensor& indices, Tensor values, const Tensor& shape,
                             size_t position) {
  if (indices.shape().rank() != 2) {
    return invalid("Input indices should be a matrix but received shape ",
                   indices.shape().to_string(), " at position ", position);
  }
  if (indices.shape().dim(1) != 2) {
    return invalid("Expected D2 of index to be 2 got ", indices.shape().dim(1), " at position ",
                   position);
  }
  if (values.shape().rank() != 1) {
    return invalid("Input values should be a vector but received shape ",
                   values.shape().to_string(), " at position ", position);
  }
  if (indices.shape().dim(0) != values.shape().dim(0)) {
    return invalid("Expected size of values to be ", indices.shape().dim(0), " got ",
                   values.shape().dim(0), " at position ", position);
  }
  if (shape.shape().rank() != 1) {
    return invalid("Input shapes should be a vector but received shape ", shape.shape().to_string(),
                   " at position ", position);
  }
  if (shape.num_elements() != 2) {
    return invalid("shape should imply a 2D tensor, but got ", shape.shape().to_string(),
                   " at position ", position);
  }
  Column column;
  column.batch = shape.flat<int64_t>()[0];
  if (column.batch < 0) {
    return invalid("Expected a batch size of 0 or more, got ", column.batch, " at position ",
                   position);
  }
  column.runs = read_runs(indices, column.batch);
  column.values = std::move(values);
  return column;
}

Result<Column> dense_column(Tensor values, size_t position) {
  if (values.shape().rank() != 2) {
    return invalid("Dense inputs should be a matrix but received shape ",
                   values.shape().to_string(), " at position ", position);
  }
  Column column;
  column.batch = values.shape().dim(0);
  column.is_dense = true;
  column.values = std::move(values);
  return column;
}

// Of the inputs indices, values, shapes and dense_inputs, the sparse ones first.
Result<std::vector<Column>> read_columns(KernelContext& context, size_t sparse, size_t dense) {
  std::vector<Column> columns;
  const auto at = [&](size_t slot) { return context.input(static_cast<int>(slot)); };
  for (size_t i = 0; i < sparse; ++i) {
    MR_ASSIGN(Column column, sparse_column(at(i), at(sparse + i), at(2 * sparse + i), i));
    columns.push_back(std::move(column));
  }
  for (size_t i = 0; i < dense; ++i) {
    MR_ASSIGN(Column column, dense_column(at(3 * sparse + i), i));
    columns.push_back(std::move(column));
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].batch == columns[0].batch) continue;
    return invalid("Expected batch size ", columns[0].batch, " got ", columns[i].batch,
                   columns[i].is_dense ? " at dense tensor " : " at position ",
                   columns[i].is_dense ? i - sparse : i);
  }
  return columns;
}

// The rows in which every column has a feature, each with a Run of every column, one row's runs
// after the other's.
std::vector<Run> rows_of_all(const std::vector<Column>& columns) {
  std::vector<Run> all;
  if (columns.empty()) return all;
  std::vector<size_t> next(columns.size(), 0);
  const auto add_row = [&](int64_t row) {
    const size_t begin = all.size();
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].is_dense) {
        all.push_back(columns[i].row(row));
      } else {
        const std::vector<Run>& runs = columns[i].runs;
        while (next[i] < runs.size() && runs[next[i]].row < row) ++next[i];
        if (next[i] < runs.size() && runs[next[i]].row == row) all.push_back(runs[next[i]]);
      }
    }
    if (all.size() < begin + columns.size()) all.resize(begin);
  };
  for (const Column& column : columns) {
    if (column.is_dense && column.values.num_elements() == 0) return all;
  }
  // Dense columns alone have a feature in every row; otherwise the first has less than that.
  if (columns[0].is_dense) {
    for (int64_t row = 0; row < columns[0].batch; ++row) add_row(row);
  } else {
    for (const Run& run : columns[0].runs) add_row(run.row);
  }
  return all;
}

struct Sizes {
  int64_t all = 0, largest = 0;
};

Result<Sizes> sizes_of(std::span<const Run> runs, size_t columns) {
  Sizes sizes;
  for (size_t begin = 0; begin < runs.size(); begin += columns) {
    int64_t number = 1;
    bool is_too_many = false;
    for (const Run& run : runs.subspan(begin, columns))
      is_too_many |= __builtin_mul_overflow(number, run.count, &number);
    is_too_many |= __builtin_add_overflow(sizes.all, number, &sizes.all);
    if (is_too_many) {
      return error(Code::resource_exhausted, "the features of row ", runs[begin].row,
                   " have more than 2^63 - 1 crosses: give fewer columns, or fewer features");
    }
    sizes.largest = std::max(sizes.largest, number);
  }
  return sizes;
}

// All crosses of all rows; the feature of the last column changes fastest. put(which, places of the
// features in the values of their columns) answers what that cost.
template <class Put>
Status each_cross(std::span<const Run> runs, size_t columns, Tensor& indices, Put put,
                  CancelProbe& probe) {
  std::vector<int64_t> places(columns);
  int64_t* to = static_cast<int64_t*>(indices.mutable_data());
  size_t which = 0;
  for (size_t begin = 0; begin < runs.size(); begin += columns) {
    const auto row = runs.subspan(begin, columns);
    for (size_t i = 0; i < columns; ++i) places[i] = row[i].begin;
    for (int64_t in_row = 0;; ++in_row) {
      *to++ = row[0].row;
      *to++ = in_row;
      if (!probe.go_on(put(which++, std::span<const int64_t>(places)))) return probe.status();
      size_t i = columns;
      while (i > 0 && ++places[i - 1] == row[i - 1].begin + row[i - 1].count) {
        places[i - 1] = row[i - 1].begin;
        --i;
      }
      if (i == 0) break;
    }
  }
  return {};
}

// cross(columns, places of the features) of each.
template <class T, class Cross>
Status set_crosses(KernelContext& context, const std::vector<Column>& columns, Cross cross) {
  const std::vector<Run> runs = rows_of_all(columns);
  MR_ASSIGN(const Sizes sizes, sizes_of(runs, columns.size()));
  MR_ASSIGN(const Shape places, Shape::create(std::vector<int64_t>{sizes.all, 2}));
  MR_ASSIGN(Tensor indices, Tensor::allocate(DType::i64, places));
  MR_ASSIGN(Tensor values, context.allocate(1, {sizes.all}));
  const auto out = values.mutable_flat<T>();
  CancelProbe probe(context);
  const auto put = [&](size_t which, std::span<const int64_t> at) -> int64_t {
    out[which] = cross(columns, at);
    return static_cast<int64_t>(4 * at.size());
  };
  MR_TRY(each_cross(runs, columns.size(), indices, put, probe));
  const int64_t batch = columns.empty() ? 0 : columns[0].batch;
  context.set_output(0, std::move(indices));
  context.set_output(1, std::move(values));
  context.set_output(2, Tensor::vector<int64_t>({batch, sizes.largest}));
  return {};
}

// --- what a cross is ---

std::string joined_text(const std::vector<Column>& columns, std::span<const int64_t> at,
                        const std::string& separator) {
  std::string text;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) text += separator;
    append_feature(&text, columns[i].values, at[i]);
  }
  return text;
}

// TensorFlow takes the lower half of an integer's bytes for all of it; its buckets are part of
// models, so that it stays so.
std::string_view hashed_bytes(const Column& column, int64_t at) {
  const auto place = static_cast<size_t>(at);
  if (column.values.dtype() == DType::string) return column.values.flat<std::string>()[place];
  return {reinterpret_cast<const char*>(&column.values.flat<int64_t>()[place]), 4};
}

// By FarmHash a dense integer is its own hash, a sparse one is not.
uint64_t weak_hash(const Column& column, int64_t at) {
  if (column.is_dense) return feature_hash(column.values, at);
  return feature_fingerprint(hashed_bytes(column, at));
}

// --- the ops ---

// How many columns a node has, and of which types.
struct CrossNode {
  size_t sparse = 0, dense = 0;
};

struct BoundCross {
  Result<CrossNode> read(const KernelSpec& spec) const {
    MR_ASSIGN(const int64_t number, spec.attrs.integer("N"));
    MR_ASSIGN(const std::vector<DType> sparse, spec.attrs.types("sparse_types"));
    MR_ASSIGN(const std::vector<DType> dense, spec.attrs.types("dense_types"));
    if (static_cast<size_t>(number) != sparse.size()) {
      return invalid("Expected ", number, " input values, got ", sparse.size(),
                     ": N and sparse_types must say the same");
    }
    return CrossNode{sparse.size(), dense.size()};
  }
};

Status check_are_texts(const std::vector<Column>& columns) {
  for (const Column& column : columns) {
    if (column.values.dtype() == DType::string) continue;
    return invalid(column.is_dense ? "Dense inputs" : "Input values",
                   " should be of internal type string but received ",
                   dtype_name(column.values.dtype()));
  }
  return {};
}

Status cross(KernelContext& context, CrossNode node, int64_t buckets, int64_t key,
             DType internal_type) {
  MR_ASSIGN(const std::vector<Column> columns, read_columns(context, node.sparse, node.dense));
  if (internal_type == DType::string) MR_TRY(check_are_texts(columns));
  if (context.output_dtype(1) == DType::string) {
    return set_crosses<std::string>(context, columns, [](const auto& of, const auto& at) {
      return joined_text(of, at, "_X_");
    });
  }
  return set_crosses<int64_t>(context, columns, [&](const auto& of, const auto& at) {
    auto hash = static_cast<uint64_t>(key);
    for (size_t i = 0; i < of.size(); ++i)
      hash = joined_hash64(hash, feature_hash(of[i].values, at[i]));
    return feature_bucket(hash, buckets);
  });
}

Status cross_texts(KernelContext& context, CrossNode node) {
  const Tensor& separator = context.input(context.num_inputs() - 1);
  if (!separator.shape().is_scalar()) {
    return invalid("Input separator should be a scalar. Received: ", separator.shape().to_string());
  }
  MR_ASSIGN(const std::vector<Column> columns, read_columns(context, node.sparse, node.dense));
  const std::string& between = separator.item<std::string>();
  return set_crosses<std::string>(context, columns, [&](const auto& of, const auto& at) {
    return joined_text(of, at, between);
  });
}

Status cross_hashed(KernelContext& context, CrossNode node) {
  const int last = context.num_inputs() - 1;
  const Tensor &buckets = context.input(last - 2), &strong = context.input(last - 1);
  const auto salt = context.input(last).flat<int64_t>();
  if (!buckets.shape().is_scalar())
    return invalid("num_buckets must be a scalar, got shape: ", buckets.shape().to_string());
  if (!strong.shape().is_scalar())
    return invalid("strong_hash must be a scalar, got shape: ", strong.shape().to_string());
  if (salt.size() != 2)
    return invalid("Input \"salt\" must have length 2 but has length ", salt.size());
  MR_ASSIGN(const std::vector<Column> columns, read_columns(context, node.sparse, node.dense));
  const SipKey key{static_cast<uint64_t>(salt[0]), static_cast<uint64_t>(salt[1])};
  const bool is_strong = strong.item<bool>();
  const auto hash_of = [&](const Column& column, int64_t at) {
    return is_strong ? sip_hash64(key, hashed_bytes(column, at)) : weak_hash(column, at);
  };
  const auto number = buckets.item<int64_t>();
  return set_crosses<int64_t>(context, columns, [&](const auto& of, const auto& at) {
    uint64_t hash = hash_of(of[0], at[0]);
    for (size_t i = 1; i < of.size(); ++i) hash = joined_hash64(hash, hash_of(of[i], at[i]));
    return feature_bucket(hash, number);
  });
}

Status infer_cross(InferContext& context) { return set_sparse(context, kUnknownDim, 2); }

constexpr std::string_view kColumns =
    "indices: N*int64, values: sparse_types, shapes: N*int64, dense_inputs: dense_types";
constexpr std::string_view kTypes =
    "N: int >= 0, sparse_types: list({int64, string}) >= 0, "
    "dense_types: list({int64, string}) >= 0";

std::string signature_of(std::string_view more, std::string_view values, std::string_view attrs) {
  return str_cat(kColumns, more, " -> output_indices: int64, output_values: ", values,
                 ", output_shape: int64 | ", kTypes, attrs);
}

constexpr const char* kNoGradient = "crosses of features have no gradient";
// A column of texts, one of integers, and two dense ones.
constexpr std::string_view kTwo = "[[0 0] [1 0] [1 1]], [[0 0] [1 0]]";
constexpr std::string_view kMixed =
    "[[0 0] [1 0] [1 1]], [[0 0] [1 0]], [1 2 3], ['d' 'e'], [2 2], [2 1], [[7 8] [9 10]], "
    "[['x'] ['y']]";
constexpr std::string_view kMixedTypes =
    "N = 2, sparse_types = {int64, string}, dense_types = {int64, string}";

}  // namespace

Status register_sparse_crosses(OpRegistry& ops) {
  const std::string places = "[[0 0] [1 0] [1 1]]";
  const std::string texts =
      str_cat(kTwo, ", ['a' 'b' 'c'], ['d' 'e'], [2 2], [2 1] -> ", places, ", ");
  const std::string nodes =
      ", [2 2] | N = 2, sparse_types = {string, string}, dense_types = {}, "
      "internal_type = string, ";
  MR_TRY(ops.add({
      .name = "SparseCross",
      .doc = "Each combination of a feature of every column, row by row: the texts joined by "
             "\"_X_\", or a hash of them.",
      .signature = signature_of("", "out_type",
                                ", hashed_output: bool, num_buckets: int >= 0, hash_key: int, "
                                "out_type: {int64, string}, internal_type: {int64, string}"),
      .infer = infer_cross,
      .cpu = kernel_with(cross, BoundCross(), integer("num_buckets"), integer("hash_key"),
                         type("internal_type")),
      .not_differentiable = kNoGradient,
      .examples = {str_cat(texts, "['a_X_d' 'b_X_e' 'c_X_e']", nodes,
                           "out_type = string, hashed_output = false, num_buckets = 0, "
                           "hash_key = 0"),
                   str_cat(texts, "[82 61 41]", nodes,
                           "out_type = int64, hashed_output = true, num_buckets = 100, "
                           "hash_key = 956888297470")},
  }));
  const std::string crossed = "[[0 0] [0 1] [1 0] [1 1] [1 2] [1 3]]";
  MR_TRY(ops.add({
      .name = "SparseCrossV2",
      .doc = "Each combination of a feature of every column, row by row, as texts joined by sep.",
      .signature = signature_of(", sep: string", "string", ""),
      .infer = infer_cross,
      .cpu = kernel_with(cross_texts, BoundCross()),
      .not_differentiable = kNoGradient,
      .examples = {str_cat(kMixed, ", '&' -> ", crossed,
                           ", ['1&d&7&x' '1&d&8&x' '2&e&9&y' '2&e&10&y' '3&e&9&y' '3&e&10&y'], "
                           "[2 4] | ",
                           kMixedTypes)},
  }));
  return ops.add({
      .name = "SparseCrossHashed",
      .doc = "Each combination of a feature of every column, row by row, as the bucket that its "
             "hash falls into; by SipHash under salt if strong_hash, else by FarmHash.",
      .signature =
          signature_of(", num_buckets: int64, strong_hash: bool, salt: int64", "int64", ""),
      .infer = infer_cross,
      .cpu = kernel_with(cross_hashed, BoundCross()),
      .not_differentiable = kNoGradient,
      .examples = {str_cat(kMixed, ", 1000, false, [137 173] -> ", crossed,
                           ", [862 48 266 5 157 670], [2 4] | ", kMixedTypes)},
  });
}

}  // namespace millrace
