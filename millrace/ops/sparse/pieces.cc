#include "millrace/ops/sparse/pieces.h"

#include <algorithm>

#include "millrace/ops/loops/strided_copy.h"

namespace millrace {

Status check_strictly_ordered(const SparseInput& in) {
  for (int64_t i = 1; i < in.number; ++i) {
    const auto before = in.place(i - 1), here = in.place(i);
    if (std::ranges::lexicographical_compare(before, here)) continue;
    if (std::ranges::equal(before, here)) return invalid("indices[", i, "] is repeated.");
    return invalid("indices[", i,
                   "] is out of order. Many sparse ops require sorted indices. Use "
                   "`tf.sparse.reorder` to create a correctly ordered copy.");
  }
  return {};
}

Result<std::vector<SparsePiece>> cut_by_rows(const SparseInput& in) {
  if (in.rank < 2)
    return invalid("Rank of input SparseTensor should be > 1, but saw rank: ", in.rank);
  MR_TRY(check_inside(in));
  MR_TRY(check_strictly_ordered(in));
  const std::vector<int64_t> dims(in.dims.begin() + 1, in.dims.end());
  const auto rank = static_cast<int64_t>(dims.size());
  // One handle of nothing for all empty rows. Asked for first: there may be more rows than memory.
  MR_TRY(Tensor::allocate(DType::string, {in.dims[0]}).status());
  MR_ASSIGN(const Tensor no_places, Tensor::allocate(DType::i64, {0, rank}));
  MR_ASSIGN(const Tensor no_values, Tensor::allocate(in.values.dtype(), {0}));
  std::vector<SparsePiece> pieces(static_cast<size_t>(in.dims[0]), {no_places, no_values, dims});
  for (int64_t begin = 0, end = 0; begin < in.number; begin = end) {
    const int64_t row = in.place(begin)[0];
    for (end = begin; end < in.number && in.place(end)[0] == row;) ++end;
    MR_ASSIGN(Tensor places, Tensor::allocate(DType::i64, {end - begin, rank}));
    int64_t* to = places.mutable_flat<int64_t>().data();
    for (int64_t i = begin; i < end; ++i) to = std::ranges::copy(in.place(i).subspan(1), to).out;
    SparsePiece& piece = pieces[static_cast<size_t>(row)];
    piece.indices = std::move(places);
    MR_ASSIGN(piece.values, in.values.rows(begin, end));
  }
  return pieces;
}

Result<SparsePiece> stack_pieces(std::span<const SparsePiece> pieces,
                                 std::span<const int64_t> lead) {
  if (pieces.empty()) return invalid("there is no SparseTensor to stack");
  const DType dtype = pieces[0].values.dtype();
  const size_t rank = pieces[0].dims.size(), whole = lead.size() + rank;
  std::vector<int64_t> dims(lead.begin(), lead.end());
  dims.insert(dims.end(), pieces[0].dims.begin(), pieces[0].dims.end());
  int64_t number = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].dims.size() != rank) {
      return invalid("Inconsistent shape across SparseTensors: rank prior to SparseTensor[", i,
                     "] was: ", rank, " but rank of SparseTensor[", i,
                     "] is: ", pieces[i].dims.size());
    }
    if (pieces[i].values.dtype() != dtype) {
      return invalid("SparseTensor[", i, "] is of ", dtype_name(pieces[i].values.dtype()),
                     ", those before it of ", dtype_name(dtype));
    }
    for (size_t axis = 0; axis < rank; ++axis)
      dims[lead.size() + axis] = std::max(dims[lead.size() + axis], pieces[i].dims[axis]);
    number += pieces[i].values.num_elements();
  }
  SparsePiece made;
  MR_ASSIGN(made.indices, Tensor::allocate(DType::i64, {number, static_cast<int64_t>(whole)}));
  MR_ASSIGN(made.values, Tensor::allocate(dtype, {number}));
  int64_t* to = made.indices.mutable_flat<int64_t>().data();
  char* values = static_cast<char*>(made.values.mutable_data());
  std::vector<int64_t> at(lead.size(), 0);  // of a piece, along the leading axes
  for (const SparsePiece& piece : pieces) {
    const int64_t here = piece.values.num_elements();
    const int64_t* from = piece.indices.flat<int64_t>().data();
    for (int64_t i = 0; i < here; ++i, from += rank) {
      to = std::ranges::copy(at, to).out;
      to = std::copy_n(from, rank, to);
    }
    copy_elements(dtype, piece.values.data(), values, here);
    values += here * static_cast<int64_t>(dtype_size(dtype));
    for (size_t axis = lead.size(); axis-- > 0;) {
      if (++at[axis] < lead[axis]) break;
      at[axis] = 0;
    }
  }
  made.dims = std::move(dims);
  return made;
}

void set_piece(KernelContext& context, SparsePiece piece) {
  context.set_output(0, std::move(piece.indices));
  context.set_output(1, std::move(piece.values));
  context.set_output(2, Tensor::vector<int64_t>(piece.dims));
}

}  // namespace millrace
