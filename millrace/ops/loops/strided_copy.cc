#include "millrace/ops/loops/strided_copy.h"

#include <cstring>

#include "millrace/ops/loops/cpu_loops.h"

namespace millrace {
namespace {

// What is copied at once: some milliseconds, and more than a cache holds, since memcpy writes such
// blocks around it.
constexpr int64_t kMostBytes = int64_t{16} << 20;

using CopyRun = void (*)(const void* from, int64_t from_stride, void* to, int64_t to_stride,
                         int64_t count);

template <class T>
void copy_run(const void* from, int64_t from_stride, void* to, int64_t to_stride, int64_t count) {
  const T* x = static_cast<const T*>(from);
  T* y = static_cast<T*>(to);
  // A broadcast value: what is stored need not be read again for each element.
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
  CancelProbe nobody;
  // Fails only if it is cancelled.
  static_cast<void>(copy_box(dims, from, from_layout, to, to_layout, nobody));
}

Status copy_box(std::span<const int64_t> dims, const Tensor& from, const BoxLayout& from_layout,
                Tensor& to, const BoxLayout& to_layout, CancelProbe& probe) {
  const Walk<2> walk(dims, {from_layout.strides, to_layout.strides});
  const DType dtype = from.dtype();
  const auto size = static_cast<int64_t>(dtype_size(dtype));
  const char* source = static_cast<const char*>(from.data()) + from_layout.begin * size;
  char* target = static_cast<char*>(to.mutable_data()) + to_layout.begin * size;
  // The walk has merged axes that lie behind each other, so a whole tensor comes here as one run
  // and goes by memcpy; only what is really strided pays for a step per element.
  const bool is_dense = walk.run_stride(0) == 1 && walk.run_stride(1) == 1;
  const CopyRun run = run_for(dtype);
  const int64_t piece = is_plain(dtype) ? kMostBytes / size : CancelProbe::kPiece;
  const auto copy = [&](const std::array<int64_t, 2>& at, int64_t count) {
    const char* piece_from = source + at[0] * size;
    char* piece_to = target + at[1] * size;
    if (is_dense) {
      copy_elements(dtype, piece_from, piece_to, count);
    } else {
      run(piece_from, walk.run_stride(0), piece_to, walk.run_stride(1), count);
    }
  };
  return walk.each_piece(probe, copy, piece);
}

Result<Tensor> copied_box(const Shape& shape, const Tensor& from, const BoxLayout& from_layout,
                          CancelProbe probe) {
  MR_ASSIGN(Tensor made, Tensor::allocate(from.dtype(), shape));
  const Strides to = row_major_strides(shape);
  MR_TRY(copy_box(shape.dims(), from, from_layout, made, {0, to}, probe));
  return made;
}

}  // namespace millrace
