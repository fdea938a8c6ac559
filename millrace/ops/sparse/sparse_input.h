// SparseInput: a sparse tensor as ops are given it: places, values and the shape of the whole.
//
//   MR_ASSIGN(const SparseInput in, read_sparse(context, 0, Places::inside));
//   for (int64_t i = 0; i < in.number; ++i) use(in.place(i), in.values);
//
// Places may come in any order, and more than once, unless an op says otherwise. It shares the
// buffers of what it was read from, and is a value like any other.
#pragma once

#include <span>
#include <vector>

#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"

namespace millrace {

struct SparseInput {
  Tensor indices;             // int64, [number, rank]
  Tensor values;              // [number]
  std::vector<int64_t> dims;  // of the whole, none negative; their product may be over 2^63 - 1
  int64_t number = 0;
  size_t rank = 0;

  std::span<const int64_t> place(int64_t i) const {
    return indices.flat<int64_t>().subspan(static_cast<size_t>(i) * rank, rank);
  }
};

// Whether a place outside of the shape is refused. Ops that only move places let it be: some
// programs mark what is missing with -1.
enum class Places : uint8_t { inside, anywhere };

// From int32 or int64 indices. Errors: INVALID_ARGUMENT for wrong ranks, sizes that disagree,
// negative dims, and places outside.
Result<SparseInput> read_sparse(const Tensor& indices, const Tensor& values, const Tensor& shape,
                                Places places);
// From three inputs in a row.
Result<SparseInput> read_sparse(const KernelContext& context, int slot, Places places);

// Errors: INVALID_ARGUMENT "indices[1] = [0,5] is out of bounds: need 0 <= index < [2,3]".
Status check_inside(const SparseInput& in);
// The same ranks and dims. Errors: INVALID_ARGUMENT naming the first that differ.
Status check_same_shape(const SparseInput& a, const SparseInput& b);

// In which order the places of [number, rank] indices come row by row; equal ones as they stand.
std::vector<int64_t> row_major_order(const Tensor& indices);
// The same, seeing only these axes.
std::vector<int64_t> order_by(const Tensor& indices, std::span<const int> axes);
bool is_row_major(const Tensor& indices);

// The rows of a tensor of any type that are named, all of them there.
Result<Tensor> picked_rows(const Tensor& tensor, std::span<const int64_t> rows);

// int64 [number, rank] of places put one behind the other.
Result<Tensor> places_tensor(int64_t number, size_t rank, std::span<const int64_t> places);

// Where each place of two lists, both in row-major order, comes in their union: -1 if it is not in
// that list.
struct Meeting {
  int64_t first = -1, second = -1;
};
std::vector<Meeting> meet(const Tensor& first, const Tensor& second);

// Rules. The three inputs from `slot` on can be a sparse tensor.
Status infer_sparse(const InferContext& context, int slot = 0);
// Outputs 0 to 2 are a sparse tensor of a rank, which may be kUnknownDim, of so many elements.
// Errors: INVALID_ARGUMENT if their places can't be counted.
Status set_sparse(InferContext& context, int64_t number, int64_t rank, int outputs = 3);
// The rank of the sparse tensor whose inputs begin at `slot`, or kUnknownDim.
int64_t sparse_rank(const InferContext& context, int slot = 0);

}  // namespace millrace
