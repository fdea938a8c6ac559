#include "millrace/ops/loops/gather.h"

#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/cpu_loops.h"
#include "millrace/ops/loops/indices.h"
#include "millrace/ops/loops/share_work.h"
#include "millrace/ops/loops/strided_copy.h"

namespace millrace {
namespace {

struct GatherAxes {
  int axis, batch_dims;
};

template <class AnyShape>
Result<GatherAxes> gather_axes(const AnyShape& params, int indices_rank, int64_t axis,
                               int64_t batch_dims) {
  MR_ASSIGN(const int at, resolve_axis(axis, params.rank(), "gather's axis"));
  const int64_t batch = batch_dims < 0 ? batch_dims + indices_rank : batch_dims;
  if (batch < 0 || batch > indices_rank) {
    return invalid("Expected batch_dims in the range [", -indices_rank, ", ", indices_rank,
                   "], but got ", batch_dims, ", for indices of rank ", indices_rank);
  }
  if (batch > at)
    return invalid("batch_dims (", batch_dims, ") must be less than or equal to axis (", at, ")");
  return GatherAxes{at, static_cast<int>(batch)};
}

// What a row costs besides its elements, in elementary steps.
constexpr int64_t kCostOfRow = 4;

template <class T>
void copy_single(DType, const char* from, const int64_t* rows, int64_t number, char* to, int64_t) {
  const T* x = reinterpret_cast<const T*>(from);
  T* y = reinterpret_cast<T*>(to);
  for (int64_t i = 0; i < number; ++i) y[i] = x[rows[i]];
}

void copy_rows(DType dtype, const char* from, const int64_t* rows, int64_t number, char* to,
               int64_t inner) {
  const int64_t bytes = inner * static_cast<int64_t>(dtype_size(dtype));
  for (int64_t i = 0; i < number; ++i)
    copy_elements(dtype, from + rows[i] * bytes, to + i * bytes, inner);
}

}  // namespace

CopyRows copy_rows_for(DType dtype, int64_t inner) {
  if (inner != 1) return &copy_rows;
  return cpu::pick_storage<CopyRows>(dtype, []<class T>() -> CopyRows { return &copy_single<T>; });
}

std::string index_text(std::span<const int64_t> index) {
  std::string text;
  for (const int64_t each : index) str_append(&text, text.empty() ? "" : ",", each);
  return str_cat("[", text, "]");
}

std::string place_text(std::span<const int64_t> dims, int64_t position) {
  if (dims.empty()) return "";
  std::string text = "]";
  for (size_t axis = dims.size(); axis-- > 0;) {
    text = str_cat(axis > 0 ? "," : "[", position % dims[axis], text);
    position /= dims[axis];
  }
  return text;
}

Result<std::vector<int64_t>> read_indices(const Tensor& indices, int64_t limit) {
  MR_ASSIGN(std::vector<int64_t> values, read_elements(indices, "indices"));
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= 0 && values[i] < limit) continue;
    return invalid("indices", place_text(indices.shape().dims(), static_cast<int64_t>(i)), " = ",
                   values[i], " is not in [0, ", limit, ")");
  }
  return values;
}

Result<PartialShape> gathered_shape(const PartialShape& params, const PartialShape& indices,
                                    int64_t axis, int64_t batch_dims) {
  if (!params.has_rank() || !indices.has_rank()) return PartialShape::unknown();
  MR_ASSIGN(const GatherAxes axes, gather_axes(params, indices.rank(), axis, batch_dims));
  std::vector<int64_t> dims(params.dims().begin(), params.dims().begin() + axes.axis);
  for (int i = 0; i < axes.batch_dims; ++i) {
    if (dims[i] == kUnknownDim) dims[i] = indices.dim(i);
    if (indices.dim(i) != kUnknownDim && indices.dim(i) != dims[i]) {
      return invalid("params.shape[", i, "]: ", dims[i], " should be equal to indices.shape[", i,
                     "]: ", indices.dim(i));
    }
  }
  dims.insert(dims.end(), indices.dims().begin() + axes.batch_dims, indices.dims().end());
  dims.insert(dims.end(), params.dims().begin() + axes.axis + 1, params.dims().end());
  return PartialShape::create(dims);
}

Result<Tensor> gather(KernelContext& context, const Tensor& params, const Tensor& indices,
                      int64_t axis, int64_t batch_dims) {
  MR_ASSIGN(const PartialShape known,
            gathered_shape(params.shape(), indices.shape(), axis, batch_dims));
  MR_ASSIGN(const GatherAxes axes,
            gather_axes(params.shape(), indices.shape().rank(), axis, batch_dims));
  const int64_t limit = params.shape().dim(axes.axis);
  MR_ASSIGN(const std::vector<int64_t> rows, read_indices(indices, limit));
  MR_ASSIGN(Tensor output, Tensor::allocate(params.dtype(), *known.to_shape()));
  if (output.num_elements() == 0) return output;

  const auto product = [&](int begin, int end) {
    int64_t product = 1;
    for (int i = begin; i < end; ++i) product *= params.shape().dim(i);
    return product;
  };
  const int64_t batches = product(0, axes.batch_dims);
  const int64_t outer = product(axes.batch_dims, axes.axis);
  const int64_t inner = product(axes.axis + 1, params.shape().rank());
  const int64_t each = static_cast<int64_t>(rows.size()) / batches;
  const auto size = static_cast<int64_t>(dtype_size(params.dtype()));
  const CopyRows copy = copy_rows_for(params.dtype(), inner);
  const char* const from = static_cast<const char*>(params.data());
  char* const to = static_cast<char*>(output.mutable_data());
  // The output's rows, numbered through: `each` for each index before the axis.
  const int64_t number = batches * outer * each;
  MR_TRY(share_range(
      context, number, inner + kCostOfRow,
      [&](int64_t begin, int64_t end, CancelProbe& probe) -> Status {
        const int64_t piece = std::max<int64_t>(1, CancelProbe::kPiece / (inner + kCostOfRow));
        while (begin < end) {
          const int64_t block = begin / each, at = begin % each;
          const int64_t count = std::min({end - begin, each - at, piece});
          copy(params.dtype(), from + block * limit * inner * size,
               rows.data() + block / outer * each + at, count, to + begin * inner * size, inner);
          begin += count;
          if (!probe.go_on(count * (inner + kCostOfRow))) return probe.status();
        }
        return {};
      }));
  return output;
}

}  // namespace millrace
