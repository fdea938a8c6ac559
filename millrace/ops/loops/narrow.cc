#include "millrace/ops/loops/narrow.h"

namespace millrace {
namespace {

template <class From, class To>
Result<Tensor> converted(const Tensor& from, CancelProbe& probe) {
  MR_ASSIGN(Tensor made, Tensor::allocate(dtype_of<To>, from.shape()));
  const From* x = from.flat<From>().data();
  To* y = made.mutable_flat<To>().data();
  MR_TRY(probe.in_pieces(from.num_elements(), [&](int64_t begin, int64_t count) {
    for (int64_t i = begin; i < begin + count; ++i) y[i] = static_cast<To>(x[i]);
  }));
  return made;
}

}  // namespace

DType wide_type(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype;
}

Result<Tensor> widened(const Tensor& tensor, CancelProbe probe) {
  if (tensor.dtype() == DType::f16) return converted<Half, float>(tensor, probe);
  if (tensor.dtype() == DType::bf16) return converted<BFloat16, float>(tensor, probe);
  return tensor;
}

Result<Tensor> narrowed(const Tensor& tensor, DType dtype, CancelProbe probe) {
  if (dtype == DType::f16) return converted<float, Half>(tensor, probe);
  if (dtype == DType::bf16) return converted<float, BFloat16>(tensor, probe);
  return tensor;
}

}  // namespace millrace
