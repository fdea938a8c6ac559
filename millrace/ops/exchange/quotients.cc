#include "millrace/ops/exchange/quotients.h"

#include <utility>

#include "millrace/ops/loops/cpu_loops.h"

namespace millrace::cpu {
namespace {

using QuotientLoop = void (*)(void* elements, int64_t n, int64_t count);

template <class T>
void quotient_loop(void* elements, int64_t n, int64_t count) {
  T* const values = static_cast<T*>(elements);
  if constexpr (std::is_integral_v<T>) {
    for (int64_t i = 0; i < n; ++i)
      values[i] = static_cast<T>(static_cast<Math<T>>(values[i]) / count);
  } else {
    // The count in the elements' own type, as TensorFlow has it.
    const auto divisor = static_cast<Math<T>>(static_cast<T>(static_cast<float>(count)));
    for (int64_t i = 0; i < n; ++i)
      values[i] = static_cast<T>(static_cast<Math<T>>(values[i]) / divisor);
  }
}

QuotientLoop quotient_loop_for(DType dtype) {
  return pick<QuotientLoop>(Number(), dtype,
                            []<class T>() -> QuotientLoop { return &quotient_loop<T>; });
}

Result<Tensor> owned(Tensor tensor) {
  if (tensor.is_sole_owner()) return tensor;
  return tensor.clone();
}

}  // namespace

Result<Tensor> divided(Tensor sum, int64_t count) {
  if (count == 1) return sum;
  MR_ASSIGN(sum, owned(std::move(sum)));
  quotient_loop_for(sum.dtype())(sum.mutable_data(), sum.num_elements(), count);
  return sum;
}

Result<Tensor> rows_divided(Tensor rows, std::span<const int64_t> counts) {
  if (rows.num_elements() == 0) return rows;
  MR_ASSIGN(rows, owned(std::move(rows)));
  const int64_t row_size = rows.num_elements() / static_cast<int64_t>(counts.size());
  const size_t row_bytes = static_cast<size_t>(row_size) * dtype_size(rows.dtype());
  const QuotientLoop loop = quotient_loop_for(rows.dtype());
  char* row = static_cast<char*>(rows.mutable_data());
  for (const int64_t count : counts) {
    if (count != 1) loop(row, row_size, count);
    row += row_bytes;
  }
  return rows;
}

}  // namespace millrace::cpu
