#include "millrace/ops/state/scatter.h"

#include "millrace/ops/loops/indices.h"
#include "millrace/ops/loops/strided_copy.h"
#include "millrace/ops/state/variable.h"

namespace millrace {
namespace {

Status check_updates(const Shape& params, const Shape& indices, const Shape& updates) {
  if (params.rank() == 0) return invalid("a scalar has no rows to scatter into");
  if (updates.is_scalar()) return {};
  std::vector<int64_t> dims(indices.dims().begin(), indices.dims().end());
  dims.insert(dims.end(), params.dims().begin() + 1, params.dims().end());
  MR_ASSIGN(const Shape expected, Shape::create(dims));
  if (updates == expected) return {};
  return invalid(
      "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got ",
      "updates.shape ", updates.to_string(), ", indices.shape ", indices.to_string(),
      ", params.shape ", params.to_string());
}

}  // namespace

Status scatter(Tensor& params, const Tensor& indices, const Tensor& updates, cpu::BinaryLoop loop) {
  MR_TRY(check_updates(params.shape(), indices.shape(), updates.shape()));
  MR_ASSIGN(const std::vector<int64_t> rows, read_indices(indices, params.shape().dim(0)));
  if (rows.empty()) return {};
  // Only now: whatever can fail does so before the first row changes.
  MR_TRY(unshare(params));

  const DType dtype = params.dtype();
  const auto size = static_cast<int64_t>(dtype_size(dtype));
  const int64_t row_length = params.num_elements() / params.shape().dim(0);
  const int64_t step = updates.shape().is_scalar() ? 0 : 1;
  const char* from = static_cast<const char*>(updates.data());
  char* const all = static_cast<char*>(params.mutable_data());
  // One value for a whole row is spread over a row first, for where it only replaces.
  Tensor spread;
  if (loop == nullptr && step == 0) {
    MR_ASSIGN(spread, Tensor::allocate(dtype, {row_length}));
    const int64_t one = 1, none = 0;
    copy_box({&row_length, 1}, updates, {0, {&none, 1}}, spread, {0, {&one, 1}});
    from = static_cast<const char*>(spread.data());
  }
  for (const int64_t row : rows) {
    char* to = all + row * row_length * size;
    if (loop != nullptr) {
      loop(to, 1, from, step, to, row_length);
    } else {
      copy_elements(dtype, from, to, row_length);
    }
    from += step * row_length * size;
  }
  return {};
}

}  // namespace millrace
