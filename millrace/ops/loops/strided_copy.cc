#include "millrace/ops/loops/strided_copy.h"

#include <cstring>

#include "millrace/ops/loops/cpu_loops.h"

namespace millrace {
namespace {

using CopyRun = void (*)(const void* from, int64_t from_stride, void* to, int64_t to_stride,
                         int64_t count);

template <class T>
void copy_run(const void* from, int64_t from_stride, void* to, int64_t to_stride, int64_t count) {
  const T* x = static_cast<const T*>(from);
  T* y = static_cast<T*>(to);
  if (to_stride == 1 && from_stride == 0) {
    std::fill_n(y, count, *x);
  } else {
    for (int64_t i = 0; i < count; ++i) y[i * to_stride] = x[i * from_stride];
  }
}

CopyRun run_for(DType dtype) {
  return cpu::pick_storage<CopyRun>(dtype, []<class T>() -> CopyRun { return &copy_run<T>; });
}

}  // namespace

void copy_elements(DType dtype, const void* from, void* to, int64_t count) {
  if (count == 0) return;
  if (is_plain(dtype)) {
    std::memcpy(to, from, static_cast<size_t>(count) * dtype_size(dtype));
  } else {
    run_for(dtype)(from, 1, to, 1, count);
  }
}

void copy_box(std::span<const int64_t> dims, const Tensor& from, const BoxLayout& from_layout,
              Tensor& to, const BoxLayout& to_layout) {
  const Walk<2> walk(dims, {from_layout.strides, to_layout.strides});
  const DType dtype = from.dtype();
  const auto size = static_cast<int64_t>(dtype_size(dtype));
  const char* source = static_cast<const char*>(from.data()) + from_layout.begin * size;
  char* target = static_cast<char*>(to.mutable_data()) + to_layout.begin * size;
  const bool is_dense = walk.run_stride(0) == 1 && walk.run_stride(1) == 1;
  const CopyRun run = run_for(dtype);
  walk.each_run([&](const std::array<int64_t, 2>& at) {
    const char* run_from = source + at[0] * size;
    char* run_to = target + at[1] * size;
    if (is_dense) {
      copy_elements(dtype, run_from, run_to, walk.run_length());
    } else {
      run(run_from, walk.run_stride(0), run_to, walk.run_stride(1), walk.run_length());
    }
    return true;
  });
}

}  // namespace millrace
