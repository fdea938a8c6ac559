#include "millrace/ops/strided_copy.h"

#include <cstring>

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

struct Bytes16 {
  uint64_t halves[2];
};

// Plain elements of one size are copied by the same code.
CopyRun run_for(DType dtype) {
  switch (dtype) {
    case DType::string:
      return &copy_run<std::string>;
    case DType::resource:
      return &copy_run<ResourceHandle>;
    case DType::variant:
      return &copy_run<Variant>;
    default:
      break;
  }
  switch (dtype_size(dtype)) {
    case 1:
      return &copy_run<uint8_t>;
    case 2:
      return &copy_run<uint16_t>;
    case 4:
      return &copy_run<uint32_t>;
    case 8:
      return &copy_run<uint64_t>;
    default:
      return &copy_run<Bytes16>;
  }
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
