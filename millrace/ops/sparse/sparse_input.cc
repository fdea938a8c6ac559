#include "millrace/ops/sparse/sparse_input.h"

#include <algorithm>
#include <numeric>

#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/cpu_loops.h"
#include "millrace/ops/loops/indices.h"

namespace millrace {
namespace {

Result<Tensor> wide_places(const Tensor& indices) {
  if (indices.dtype() == DType::i64) return indices;
  MR_ASSIGN(const std::vector<int64_t> all, read_elements(indices, "indices"));
  return integer_tensor(DType::i64, indices.shape(), all);
}

template <class T>
void pick_rows_of(const void* from, int64_t length, std::span<const int64_t> rows, void* to) {
  const T* in = static_cast<const T*>(from);
  T* out = static_cast<T*>(to);
  for (const int64_t row : rows) out = std::copy_n(in + row * length, length, out);
}

int compare_places(std::span<const int64_t> a, std::span<const int64_t> b) {
  for (size_t axis = 0; axis < a.size(); ++axis) {
    if (a[axis] != b[axis]) return a[axis] < b[axis] ? -1 : 1;
  }
  return 0;
}

}  // namespace

Status check_inside(const SparseInput& in) {
  const int64_t* index = in.indices.flat<int64_t>().data();
  for (int64_t i = 0; i < in.number; ++i) {
    for (size_t axis = 0; axis < in.rank; ++axis, ++index) {
      if (*index >= 0 && *index < in.dims[axis]) continue;
      return invalid("indices[", i, "] = ", index_text(in.place(i)),
                     " is out of bounds: need 0 <= index < ", index_text(in.dims));
    }
  }
  return {};
}

Result<SparseInput> read_sparse(const Tensor& indices, const Tensor& values, const Tensor& shape,
                                Places places) {
  if (indices.shape().rank() != 2) {
    return invalid("Input indices should be a matrix but received shape ",
                   indices.shape().to_string());
  }
  if (values.shape().rank() != 1) {
    return invalid("Input values should be a vector but received shape ",
                   values.shape().to_string());
  }
  if (shape.shape().rank() != 1) {
    return invalid("Input shape should be a vector but received shape ", shape.shape().to_string());
  }
  if (indices.shape().dim(0) != values.num_elements()) {
    return invalid("Number of values must match first dimension of indices. Got ",
                   values.num_elements(), " values, indices shape: ", indices.shape().to_string(),
                   ". Number of elements in indices (", indices.shape().dim(0), ") and values (",
                   values.num_elements(), ") do not match");
  }
  if (indices.shape().dim(1) != shape.num_elements()) {
    return invalid(
        "Number of dimensions must match second dimension of indices. Got ", shape.num_elements(),
        " dimensions, indices shape: ", indices.shape().to_string(), ". Index rank (",
        indices.shape().dim(1), ") and shape rank (", shape.num_elements(), ") do not match");
  }
  SparseInput made;
  MR_ASSIGN(made.dims, read_elements(shape, "shape"));
  for (const int64_t dim : made.dims) {
    if (dim < 0) {
      return invalid("Expected shape dimensions to be non-negative, got ", dim, " in ",
                     index_text(made.dims));
    }
  }
  MR_ASSIGN(made.indices, wide_places(indices));
  made.values = values;
  made.number = values.num_elements();
  made.rank = made.dims.size();
  if (places == Places::inside) MR_TRY(check_inside(made));
  return made;
}

Result<SparseInput> read_sparse(const KernelContext& context, int slot, Places places) {
  return read_sparse(context.input(slot), context.input(slot + 1), context.input(slot + 2), places);
}

Status check_same_shape(const SparseInput& a, const SparseInput& b) {
  if (a.rank != b.rank) {
    return invalid("Two operands have different ranks; received: ", a.rank, " vs ", b.rank,
                   ". Operands do not have the same ranks");
  }
  for (size_t axis = 0; axis < a.rank; ++axis) {
    if (a.dims[axis] == b.dims[axis]) continue;
    return invalid("Operands' shapes do not match: got ", a.dims[axis], " and ", b.dims[axis],
                   " for dimension ", axis);
  }
  return {};
}

std::vector<int64_t> order_by(const Tensor& indices, std::span<const int> axes) {
  const int64_t rank = indices.shape().dim(1);
  const int64_t* const all = indices.flat<int64_t>().data();
  std::vector<int64_t> order(static_cast<size_t>(indices.shape().dim(0)));
  std::iota(order.begin(), order.end(), 0);
  const auto before = [&](int64_t a, int64_t b) {
    for (const int axis : axes) {
      const int64_t x = all[a * rank + axis], y = all[b * rank + axis];
      if (x != y) return x < y;
    }
    return false;
  };
  if (!std::is_sorted(order.begin(), order.end(), before))
    std::stable_sort(order.begin(), order.end(), before);
  return order;
}

std::vector<int64_t> row_major_order(const Tensor& indices) {
  std::vector<int> axes(static_cast<size_t>(indices.shape().dim(1)));
  std::iota(axes.begin(), axes.end(), 0);
  return order_by(indices, axes);
}

bool is_row_major(const Tensor& indices) {
  const auto rank = static_cast<size_t>(indices.shape().dim(1));
  const auto all = indices.flat<int64_t>();
  for (size_t at = rank; rank > 0 && at < all.size(); at += rank) {
    if (compare_places(all.subspan(at - rank, rank), all.subspan(at, rank)) > 0) return false;
  }
  return true;
}

Result<Tensor> picked_rows(const Tensor& tensor, std::span<const int64_t> rows) {
  Shape::Dims dims(tensor.shape().dims().begin(), tensor.shape().dims().end());
  int64_t length = 1;
  for (size_t axis = 1; axis < dims.size(); ++axis) length *= dims[axis];
  dims[0] = static_cast<int64_t>(rows.size());
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  MR_ASSIGN(Tensor made, Tensor::allocate(tensor.dtype(), shape));
  using Loop = void (*)(const void*, int64_t, std::span<const int64_t>, void*);
  const Loop loop =
      cpu::pick_storage<Loop>(tensor.dtype(), []<class T>() -> Loop { return &pick_rows_of<T>; });
  if (length > 0) loop(tensor.data(), length, rows, made.mutable_data());
  return made;
}

Result<Tensor> places_tensor(int64_t number, size_t rank, std::span<const int64_t> places) {
  return integer_tensor(DType::i64, {number, static_cast<int64_t>(rank)}, places);
}

std::vector<Meeting> meet(const Tensor& first, const Tensor& second) {
  const auto rank = static_cast<size_t>(first.shape().dim(1));
  const auto place = [rank](const Tensor& of, int64_t i) {
    return of.flat<int64_t>().subspan(static_cast<size_t>(i) * rank, rank);
  };
  const int64_t a_end = first.shape().dim(0), b_end = second.shape().dim(0);
  std::vector<Meeting> made;
  made.reserve(static_cast<size_t>(std::max(a_end, b_end)));
  for (int64_t a = 0, b = 0; a < a_end || b < b_end;) {
    int order = 0;
    if (a == a_end || b == b_end) {
      order = a == a_end ? 1 : -1;
    } else {
      order = compare_places(place(first, a), place(second, b));
    }
    made.push_back({order <= 0 ? a++ : -1, order >= 0 ? b++ : -1});
  }
  return made;
}

Status infer_sparse(const InferContext& context, int slot) {
  MR_TRY(context.input_of_rank(slot, 2));
  MR_TRY(context.input_of_rank(slot + 1, 1));
  MR_TRY(context.input_of_rank(slot + 2, 1));
  return {};
}

Status set_sparse(InferContext& context, int64_t number, int64_t rank, int outputs) {
  context.set_output(1, PartialShape{number});
  if (outputs > 2) context.set_output(2, PartialShape{rank});
  return context.set_output(0, PartialShape::create(Shape::Dims{number, rank}));
}

int64_t sparse_rank(const InferContext& context, int slot) {
  const PartialShape& indices = context.input(slot);
  const PartialShape& shape = context.input(slot + 2);
  if (indices.has_rank() && indices.dim(1) != kUnknownDim) return indices.dim(1);
  return shape.has_rank() ? shape.dim(0) : kUnknownDim;
}

}  // namespace millrace
