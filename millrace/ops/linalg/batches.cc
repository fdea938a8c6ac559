#include "millrace/ops/linalg/batches.h"

#include <new>

#include "millrace/ops/loops/narrow.h"
#include "millrace/ops/loops/share_work.h"

namespace millrace {
namespace {

Status check_rank(int rank, int slot) {
  if (rank >= 2) return {};
  return invalid("Input tensor ", slot, " must have rank >= 2, got ", rank);
}

template <class From, class To>
Result<Tensor> converted(const Tensor& from, CancelProbe& probe) {
  MR_ASSIGN(Tensor made, Tensor::allocate(dtype_of<To>, from.shape()));
  const From* x = from.flat<From>().data();
  To* y = made.mutable_flat<To>().data();
  MR_TRY(probe.in_pieces(from.num_elements(), [&](int64_t begin, int64_t count) {
    std::transform(x + begin, x + begin + count, y + begin,
                   [](const From& each) { return static_cast<To>(each); });
  }));
  return made;
}

}  // namespace

Result<Shape> Batch::shape(std::initializer_list<int64_t> trailing) const {
  std::vector<int64_t> dims = leading;
  dims.insert(dims.end(), trailing);
  return Shape::create(dims);
}

Result<Batch> batch_of(const Tensor& tensor, int slot) {
  const std::span<const int64_t> dims = tensor.shape().dims();
  MR_TRY(check_rank(tensor.shape().rank(), slot));
  Batch made{.leading = {dims.begin(), dims.end() - 2}, .count = 1};
  made.rows = dims[dims.size() - 2];
  made.columns = dims[dims.size() - 1];
  // Also where matrices are empty, so not by division.
  MR_ASSIGN(const Shape counted, Shape::create(made.leading));
  made.count = counted.num_elements();
  return made;
}

Result<Batch> square_batch_of(const Tensor& tensor, int slot) {
  MR_ASSIGN(Batch made, batch_of(tensor, slot));
  if (made.rows == made.columns) return made;
  return invalid("Input matrix must be square: input ", slot, " is ", tensor.shape().to_string());
}

DType matrix_type(DType dtype) { return dtype == DType::c64 ? DType::c128 : wide_type(dtype); }

Result<Tensor> complex_input(KernelContext& context, int slot) {
  const Tensor& input = context.input(slot);
  CancelProbe probe(context);
  switch (input.dtype()) {
    case DType::f32:
      return converted<float, std::complex<double>>(input, probe);
    case DType::f64:
      return converted<double, std::complex<double>>(input, probe);
    case DType::c64:
      return converted<std::complex<float>, std::complex<double>>(input, probe);
    default:
      return input;
  }
}

Result<Tensor> wide_input(KernelContext& context, int slot) {
  const Tensor& input = context.input(slot);
  if (input.dtype() == DType::c64) return complex_input(context, slot);
  return widened(input, CancelProbe(context));
}

Status give(KernelContext& context, int slot, const Tensor& wide) {
  if (wide.dtype() == DType::c128 && context.output_dtype(slot) == DType::c64) {
    CancelProbe probe(context);
    return context.set_output(slot,
                              converted<std::complex<double>, std::complex<float>>(wide, probe));
  }
  return context.set_output(slot, narrowed(wide, context.output_dtype(slot), CancelProbe(context)));
}

Status each_matrix(KernelContext& context, int64_t count, double cost,
                   absl::FunctionRef<Status(int64_t)> work) {
  const auto each = static_cast<int64_t>(std::min(cost, 1e15)) + 1;
  return share_range(
      context, count, each, [&](int64_t begin, int64_t end, CancelProbe& probe) -> Status {
        for (int64_t i = begin; i < end; ++i) {
          try {
            MR_TRY(work(i));
          } catch (const std::bad_alloc&) {
            return error(Code::resource_exhausted, "no memory to take a matrix apart");
          }
          if (!probe.go_on(each)) return probe.status();
        }
        return {};
      });
}

Result<PartialShape> PartialBatch::shape(std::initializer_list<int64_t> trailing) const {
  if (!has_rank) return PartialShape::unknown();
  std::vector<int64_t> dims = leading;
  dims.insert(dims.end(), trailing);
  return PartialShape::create(dims);
}

Result<PartialBatch> partial_batch(const InferContext& context, int slot) {
  const PartialShape& shape = context.input(slot);
  PartialBatch made{.has_rank = shape.has_rank()};
  if (!made.has_rank) return made;
  const std::span<const int64_t> dims = shape.dims();
  MR_TRY(check_rank(shape.rank(), slot));
  made.leading.assign(dims.begin(), dims.end() - 2);
  made.rows = dims[dims.size() - 2];
  made.columns = dims[dims.size() - 1];
  return made;
}

Result<PartialBatch> partial_square_batch(const InferContext& context, int slot) {
  MR_ASSIGN(PartialBatch made, partial_batch(context, slot));
  if (made.rows == kUnknownDim) made.rows = made.columns;
  if (made.columns == kUnknownDim) made.columns = made.rows;
  if (made.rows == made.columns) return made;
  return invalid("Dimensions must be equal, but are ", made.rows, " and ", made.columns,
                 ": input matrix must be square");
}

Status infer_square(InferContext& context) {
  MR_ASSIGN(const PartialBatch batch, partial_square_batch(context, 0));
  return context.set_output(0, batch.shape({batch.rows, batch.columns}));
}

}  // namespace millrace
