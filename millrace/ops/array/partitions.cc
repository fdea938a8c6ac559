// Part of families.h: register_partitions.
#include <algorithm>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/array/families.h"
#include "millrace/ops/array/gradients.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/indices.h"
#include "millrace/ops/loops/strided_copy.h"

namespace millrace {
namespace {

// The dims of `data` behind those of `prefix`, with which they begin.
Result<std::vector<int64_t>> rest_behind(const PartialShape& data, const PartialShape& prefix,
                                         std::string_view data_name, std::string_view prefix_name) {
  bool fits = data.rank() >= prefix.rank();
  for (int axis = 0; fits && axis < prefix.rank(); ++axis) {
    const int64_t a = data.dim(axis), b = prefix.dim(axis);
    fits = a == b || a == kUnknownDim || b == kUnknownDim;
  }
  if (!fits) {
    return invalid(data_name, ".shape must start with ", prefix_name, ".shape, got ", data_name,
                   ".shape = ", data.to_string(), ", ", prefix_name,
                   ".shape = ", prefix.to_string());
  }
  return std::vector<int64_t>(data.dims().begin() + prefix.rank(), data.dims().end());
}

int64_t product_of(std::span<const int64_t> dims) {
  int64_t product = 1;
  for (const int64_t dim : dims) product *= dim;
  return product;
}

// --- DynamicPartition ---

Status dynamic_partition(KernelContext& context, int64_t number) {
  const Tensor& data = context.input(0);
  const Tensor& partitions = context.input(1);
  MR_ASSIGN(std::vector<int64_t> dims,
            rest_behind(data.shape(), partitions.shape(), "data", "partitions"));
  const int64_t row = product_of(dims);
  const std::span<const int32_t> of_row = partitions.flat<int32_t>();
  std::vector<int64_t> counts(static_cast<size_t>(number), 0);
  for (size_t i = 0; i < of_row.size(); ++i) {
    if (of_row[i] < 0 || of_row[i] >= number) {
      return invalid("partitions", place_text(partitions.shape().dims(), static_cast<int64_t>(i)),
                     " = ", of_row[i], " is not in [0, ", number, ")");
    }
    ++counts[static_cast<size_t>(of_row[i])];
  }
  std::vector<Tensor> parts;
  std::vector<char*> ends;
  dims.insert(dims.begin(), 0);
  for (const int64_t count : counts) {
    dims[0] = count;
    MR_ASSIGN(const Shape shape, Shape::create(dims));
    MR_ASSIGN(Tensor part, Tensor::allocate(data.dtype(), shape));
    ends.push_back(static_cast<char*>(part.mutable_data()));
    parts.push_back(std::move(part));
  }
  // A row that nobody has may be of any size.
  const int64_t bytes = of_row.empty() ? 0 : row * static_cast<int64_t>(dtype_size(data.dtype()));
  const char* from = static_cast<const char*>(data.data());
  CancelProbe probe(context);
  for (const int32_t partition : of_row) {
    char*& to = ends[static_cast<size_t>(partition)];
    copy_elements(data.dtype(), from, to, row);
    from += bytes;
    to += bytes;
    if (!probe.go_on(row + 1)) return probe.status();
  }
  for (size_t i = 0; i < parts.size(); ++i)
    context.set_output(static_cast<int>(i), std::move(parts[i]));
  return {};
}

Status infer_dynamic_partition(InferContext& context) {
  const PartialShape& data = context.input(0);
  const PartialShape& partitions = context.input(1);
  if (!data.has_rank() || !partitions.has_rank()) return {};
  MR_ASSIGN(std::vector<int64_t> dims, rest_behind(data, partitions, "data", "partitions"));
  dims.insert(dims.begin(), kUnknownDim);
  MR_ASSIGN(const PartialShape part, PartialShape::create(dims));
  for (int slot = 0; slot < context.num_outputs(); ++slot) context.set_output(slot, part);
  return {};
}

// --- DynamicStitch ---

// The dims of a row, which all data share.
Result<std::vector<int64_t>> stitched_row(KernelContext& context, int count) {
  std::vector<int64_t> row;
  for (int i = 0; i < count; ++i) {
    const Shape& data = context.input(count + i).shape();
    MR_ASSIGN(std::vector<int64_t> rest,
              rest_behind(data, context.input(i).shape(), str_cat("data[", i, "]"),
                          str_cat("indices[", i, "]")));
    if (i > 0 && rest != row) {
      return invalid("Need data[0].shape[", context.input(0).shape().rank(), ":] = data[", i,
                     "].shape[", context.input(i).shape().rank(),
                     ":], got data[0].shape = ", context.input(count).shape().to_string(),
                     ", data[", i, "].shape = ", data.to_string());
    }
    row = std::move(rest);
  }
  return row;
}

Result<Tensor> dynamic_stitch(KernelContext& context) {
  const int count = context.num_inputs() / 2;
  int64_t rows = 0;
  for (int i = 0; i < count; ++i) {
    for (const int32_t index : context.input(i).flat<int32_t>()) {
      if (index < 0)
        return invalid("indices[", i, "] has ", index, ", which is negative, so out of range");
      rows = std::max<int64_t>(rows, int64_t{index} + 1);
    }
  }
  MR_ASSIGN(std::vector<int64_t> dims, stitched_row(context, count));
  const int64_t row = product_of(dims);
  dims.insert(dims.begin(), rows);
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  const DType dtype = context.output_dtype(0);
  // Rows that no index names are zeros.
  MR_ASSIGN(Tensor merged, Tensor::zeros(dtype, shape));
  const int64_t bytes = row * static_cast<int64_t>(dtype_size(dtype));
  char* const all = static_cast<char*>(merged.mutable_data());
  CancelProbe probe(context);
  for (int i = 0; i < count; ++i) {
    const char* from = static_cast<const char*>(context.input(count + i).data());
    for (const int32_t index : context.input(i).flat<int32_t>()) {
      copy_elements(dtype, from, all + index * bytes, row);
      from += bytes;
      if (!probe.go_on(row + 1)) return probe.status();
    }
  }
  return merged;
}

// The largest of all indices and one, if all are known.
Result<int64_t> known_rows(const InferContext& context, int count) {
  int64_t rows = 0;
  for (int i = 0; i < count; ++i) {
    const Tensor* indices = context.constant(i);
    if (indices == nullptr) return kUnknownDim;
    MR_ASSIGN(const std::vector<int64_t> all, read_elements(*indices, "indices"));
    for (const int64_t index : all) rows = std::max(rows, index + 1);
  }
  return rows;
}

Status infer_dynamic_stitch(InferContext& context) {
  const int count = context.num_inputs() / 2;
  PartialShape row;
  for (int i = 0; i < count; ++i) {
    const PartialShape& indices = context.input(i);
    const PartialShape& data = context.input(count + i);
    if (!indices.has_rank() || !data.has_rank()) continue;
    MR_ASSIGN(const std::vector<int64_t> rest, rest_behind(data, indices, "data", "indices"));
    MR_ASSIGN(const PartialShape one, PartialShape::create(rest));
    MR_ASSIGN(row, row.merge(one));
  }
  if (!row.has_rank()) return {};
  MR_ASSIGN(const int64_t rows, known_rows(context, count));
  std::vector<int64_t> dims = {rows};
  dims.insert(dims.end(), row.dims().begin(), row.dims().end());
  return context.set_output(0, PartialShape::create(dims));
}

}  // namespace

Status register_partitions(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "DynamicPartition",
      .doc = "The rows of data, dealt out: row i goes to output partitions[i].",
      .signature = "data: T, partitions: int32 -> outputs: num_partitions*T | "
                   "num_partitions: int >= 1, T: type",
      .infer = infer_dynamic_partition,
      .cpu = kernel_with(dynamic_partition, integer("num_partitions")),
      .grad = grad::dynamic_partition,
      .examples = {"[1 2 3 4], [0 1 1 0] -> [1 4], [2 3] | num_partitions = 2",
                   "[1 2], [1 1] -> [], [1 2] | num_partitions = 2",
                   "[[1 2] [3 4]], [0 0] -> [[1 2] [3 4]] | num_partitions = 1",
                   "5, 0 -> [5] | num_partitions = 1"},
  }));
  for (const char* name : {"DynamicStitch", "ParallelDynamicStitch"}) {
    MR_TRY(ops.add({
        .name = name,
        .doc = "Rows of several tensors put together: row j of data[i] becomes row indices[i][j]; "
               "of several for one place the last is taken.",
        .signature = "indices: N*int32, data: N*T -> merged: T | N: int >= 1, T: type",
        .infer = infer_dynamic_stitch,
        .cpu = kernel(dynamic_stitch),
        .grad = grad::dynamic_stitch,
        .examples = {"[0 2], 1, [1 0], 1 -> [1 1 0] | N = 2",
                     "[1 0], [[1 2] [3 4]] -> [[3 4] [1 2]] | N = 1"},
    }));
  }
  return {};
}

}  // namespace millrace
