#include "millrace/ops/loops/nd_rows.h"

#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/gather.h"
#include "millrace/ops/loops/indices.h"
#include "millrace/ops/loops/strided_copy.h"
#include "millrace/ops/loops/sums.h"

namespace millrace {
namespace {

// "[2, 0]"
std::string coordinates(std::span<const int64_t> index) {
  std::string text;
  for (const int64_t one : index) str_append(&text, text.empty() ? "" : ", ", one);
  return "[" + text + "]";
}

void either_loop(const void* a, int64_t a_step, const void* b, int64_t b_step, bool* out,
                 int64_t n) {
  const bool* x = static_cast<const bool*>(a);
  const bool* y = static_cast<const bool*>(b);
  for (int64_t i = 0; i < n; ++i) out[i] = x[i * a_step] || y[i * b_step];
}

bool bool_sum(const void* a, int64_t a_step, const void* b, int64_t b_step, void* out, int64_t n) {
  either_loop(a, a_step, b, b_step, static_cast<bool*>(out), n);
  return true;
}

bool string_sum(const void* a, int64_t a_step, const void* b, int64_t b_step, void* out,
                int64_t n) {
  const std::string* x = static_cast<const std::string*>(a);
  const std::string* y = static_cast<const std::string*>(b);
  std::string* z = static_cast<std::string*>(out);
  for (int64_t i = 0; i < n; ++i) z[i] = x[i * a_step] + y[i * b_step];
  return true;
}

struct NdRows {
  static constexpr int64_t kNone = -1;  // an index out of range that is ignored
  std::vector<int64_t> numbers;         // which slice, counted in slices
  int64_t length = 1;                   // elements of a slice
};

// `what` is "param shape" or "shape", as TensorFlow's clients know it.
Result<NdRows> read_nd_rows(const Tensor& indices, const Shape& params, std::string_view what,
                            BadIndices bad) {
  const int rank = indices.shape().rank();
  if (rank == 0) return invalid("indices must be at least a vector");
  const std::span<const int64_t> places =
      indices.shape().dims().first(static_cast<size_t>(rank - 1));
  const int64_t depth = indices.shape().dim(rank - 1);
  if (depth > params.rank()) {
    return invalid("index innermost dimension length must be <= params rank; saw: ", depth, " vs. ",
                   params.rank());
  }
  NdRows rows;
  for (int axis = static_cast<int>(depth); axis < params.rank(); ++axis)
    rows.length *= params.dim(axis);
  int64_t number = 1;
  for (const int64_t dim : places) number *= dim;
  if (depth == 0) {
    // Nothing that is in memory bounds the number: refused before there is one for each.
    MR_ASSIGN(const Tensor space, Tensor::allocate(DType::i64, {number}));
    rows.numbers.assign(static_cast<size_t>(number), 0);
    return rows;
  }
  MR_ASSIGN(const std::vector<int64_t> all, read_elements(indices, "indices"));
  rows.numbers.resize(static_cast<size_t>(number));
  const std::span<const int64_t> dims = params.dims().first(static_cast<size_t>(depth));
  const int64_t* index = all.data();
  for (int64_t i = 0; i < number; ++i, index += depth) {
    uint64_t at = 0;  // of an index that is out of range it may be anything
    bool is_bad = false;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      const auto place = static_cast<uint64_t>(index[axis]),
                 dim = static_cast<uint64_t>(dims[axis]);
      is_bad |= place >= dim;
      at = at * dim + place;
    }
    if (is_bad && bad == BadIndices::are_errors) {
      return invalid("indices", place_text(places, i), " = ",
                     coordinates({index, static_cast<size_t>(depth)}), " does not index into ",
                     what, " ", params.to_string());
    }
    rows.numbers[static_cast<size_t>(i)] = is_bad ? NdRows::kNone : static_cast<int64_t>(at);
  }
  return rows;
}

Status check_nd_updates(const Shape& params, const Shape& indices, const Shape& updates) {
  if (params.is_scalar() && indices.rank() > 0 && indices.dim(indices.rank() - 1) > 0) {
    return invalid("Output must be at least 1-D, got shape: [], for indices of shape ",
                   indices.to_string());
  }
  MR_ASSIGN(const PartialShape expected, nd_rows_shape(indices, params));
  if (*expected.to_shape() == updates) return {};
  return invalid(
      "Must have updates.shape = indices.shape[:-1] + params_shape[indices.shape[-1]:], "
      "got updates.shape: ",
      updates.to_string(), ", indices.shape: ", indices.to_string(),
      ", params_shape: ", params.to_string());
}

}  // namespace

Result<BadIndices> BoundBadIndices::read(const KernelSpec& spec) const {
  MR_ASSIGN(const std::string policy, spec.attrs.string("bad_indices_policy"));
  if (policy == "IGNORE") return BadIndices::are_ignored;
  if (policy.empty() || policy == "DEFAULT" || policy == "ERROR") return BadIndices::are_errors;
  return invalid("bad_indices_policy is '", policy, "'; it must be '', DEFAULT, ERROR or IGNORE");
}

Result<PartialShape> nd_rows_shape(const PartialShape& indices, const PartialShape& params) {
  if (!indices.has_rank()) return PartialShape::unknown();
  if (indices.rank() == 0) return invalid("indices must be at least a vector");
  const int64_t depth = indices.dim(indices.rank() - 1);
  if (!params.has_rank() || depth == kUnknownDim) return PartialShape::unknown();
  if (depth > params.rank()) {
    return invalid("indices.shape[-1] must be <= params.rank, but saw indices shape: ",
                   indices.to_string(), " and params shape: ", params.to_string());
  }
  std::vector<int64_t> dims(indices.dims().begin(), indices.dims().end() - 1);
  dims.insert(dims.end(), params.dims().begin() + depth, params.dims().end());
  return PartialShape::create(dims);
}

Result<Tensor> gather_nd(const Tensor& params, const Tensor& indices, BadIndices bad,
                         CancelProbe probe) {
  MR_ASSIGN(const PartialShape known, nd_rows_shape(indices.shape(), params.shape()));
  const Shape shape = *known.to_shape();
  if (params.num_elements() == 0 && shape.num_elements() > 0)
    return invalid("Requested more than 0 entries, but params is empty.  Params shape: ",
                   params.shape().to_string());
  MR_ASSIGN(const NdRows rows, read_nd_rows(indices, params.shape(), "param shape", bad));
  MR_ASSIGN(Tensor made, bad == BadIndices::are_ignored ? Tensor::zeros(params.dtype(), shape)
                                                        : Tensor::allocate(params.dtype(), shape));
  const DType dtype = params.dtype();
  const CopyRows copy = copy_rows_for(dtype, rows.length);
  const int64_t bytes = rows.length * static_cast<int64_t>(dtype_size(dtype));
  const char* const from = static_cast<const char*>(params.data());
  const auto copy_some = [&](int64_t begin, int64_t count) {
    char* const to = static_cast<char*>(made.mutable_data()) + begin * bytes;
    const int64_t* const numbers = rows.numbers.data() + begin;
    if (bad == BadIndices::are_errors) return copy(dtype, from, numbers, count, to, rows.length);
    for (int64_t i = 0; i < count; ++i)
      if (numbers[i] != NdRows::kNone)
        copy(dtype, from, numbers + i, 1, to + i * bytes, rows.length);
  };
  const int64_t piece = std::max<int64_t>(1, CancelProbe::kPiece / (rows.length + 1));
  MR_TRY(probe.in_pieces(static_cast<int64_t>(rows.numbers.size()), copy_some, piece));
  return made;
}

cpu::BinaryLoop nd_sum_loop(DType dtype) {
  if (dtype == DType::boolean) return &bool_sum;
  if (dtype == DType::string) return &string_sum;
  return cpu::addition_loop(dtype);
}

Status scatter_nd(Tensor& params, const Tensor& indices, const Tensor& updates,
                  cpu::BinaryLoop loop, BadIndices bad, CancelProbe probe) {
  MR_TRY(check_nd_updates(params.shape(), indices.shape(), updates.shape()));
  MR_ASSIGN(const NdRows rows, read_nd_rows(indices, params.shape(), "shape", bad));
  const int64_t bytes = rows.length * static_cast<int64_t>(dtype_size(params.dtype()));
  const char* from = static_cast<const char*>(updates.data());
  char* const all = static_cast<char*>(params.mutable_data());
  for (const int64_t row : rows.numbers) {
    char* to = all + row * bytes;
    if (row == NdRows::kNone) {
      // Left as it is.
    } else if (loop == nullptr) {
      copy_elements(params.dtype(), from, to, rows.length);
    } else {
      loop(to, 1, from, 1, to, rows.length);
    }
    from += bytes;
    if (!probe.go_on(rows.length + 1)) return probe.status();
  }
  return {};
}

}  // namespace millrace
