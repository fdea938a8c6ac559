#include "millrace/ops/loops/strided_copy.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cstring>

#include "millrace/ops/loops/cpu_loops.h"
#include "millrace/ops/loops/fill.h"
#include "millrace/ops/loops/instructions.h"
#include "millrace/ops/loops/share_work.h"

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
    cpu::fill_elements(y, count, *x);
  } else {
    for (int64_t i = 0; i < count; ++i) y[i * to_stride] = x[i * from_stride];
  }
}

CopyRun run_for(DType dtype) {
  return cpu::pick_storage<CopyRun>(dtype, []<class T>() -> CopyRun { return &copy_run<T>; });
}

// --- planes: the source lies along one axis, the target along another ---

// `rows` elements a source step apart, each followed by `columns` that lie side by side; the target
// has them the other way round.
struct Plane {
  int64_t rows, row_step;        // of the source
  int64_t columns, column_step;  // of the target
};
using CopyPlane = void (*)(const void* from, void* to, const Plane& plane);

// In squares whose sides are a line of the cache: each line of both is touched once, and whole.
template <class T>
void copy_plane(const void* from, void* to, const Plane& plane) {
  constexpr int64_t kSide = 64 / sizeof(T);
  const T* const x = static_cast<const T*>(from);
  T* const y = static_cast<T*>(to);
  for (int64_t row = 0; row < plane.rows; row += kSide) {
    for (int64_t column = 0; column < plane.columns; column += kSide) {
      const T* const source = x + row * plane.row_step + column;
      T* const target = y + column * plane.column_step + row;
      if (plane.rows - row >= kSide && plane.columns - column >= kSide) {
        T kept[kSide][kSide];
        for (int64_t i = 0; i < kSide; ++i)
          std::memcpy(kept[i], source + i * plane.row_step, sizeof(kept[i]));
        for (int64_t j = 0; j < kSide; ++j) {
          T line[kSide];
          for (int64_t i = 0; i < kSide; ++i) line[i] = kept[i][j];
          std::memcpy(target + j * plane.column_step, line, sizeof(line));
        }
        continue;
      }
      const int64_t rows = std::min(kSide, plane.rows - row);
      const int64_t columns = std::min(kSide, plane.columns - column);
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j)
          target[j * plane.column_step + i] = source[i * plane.row_step + j];
    }
  }
}

#if defined(__x86_64__)
// Eight rows of eight words become columns: pairs of words change places, then pairs of pairs, then
// halves.
MR_AVX2 void turn_eight(const uint32_t* from, int64_t row_step, uint32_t* to, int64_t column_step) {
  __m256 rows[8], pairs[8], fours[8];
  for (int i = 0; i < 8; ++i)
    rows[i] = _mm256_loadu_ps(reinterpret_cast<const float*>(from + i * row_step));
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    for (int half = 0; half < 2; ++half) {
      const __m256 upper = pairs[i + half], lower = pairs[i + half + 2];
      fours[i + 2 * half] = _mm256_shuffle_ps(upper, lower, _MM_SHUFFLE(1, 0, 1, 0));
      fours[i + 2 * half + 1] = _mm256_shuffle_ps(upper, lower, _MM_SHUFFLE(3, 2, 3, 2));
    }
  }
  for (int j = 0; j < 4; ++j) {
    float* const column = reinterpret_cast<float*>(to + j * column_step);
    _mm256_storeu_ps(column, _mm256_permute2f128_ps(fours[j], fours[j + 4], 0x20));
    _mm256_storeu_ps(column + 4 * column_step,
                     _mm256_permute2f128_ps(fours[j], fours[j + 4], 0x31));
  }
}

// Words in squares of sixteen, as copy_plane: a line of the cache is two of eight.
MR_AVX2 void copy_words_avx2(const void* from, void* to, const Plane& plane) {
  constexpr int64_t kSide = 16;
  const int64_t rows = plane.rows / kSide * kSide, columns = plane.columns / kSide * kSide;
  const uint32_t* const x = static_cast<const uint32_t*>(from);
  uint32_t* const y = static_cast<uint32_t*>(to);
  for (int64_t row = 0; row < rows; row += kSide) {
    for (int64_t column = 0; column < columns; column += 8) {
      const uint32_t* const source = x + row * plane.row_step + column;
      uint32_t* const target = y + column * plane.column_step + row;
      turn_eight(source, plane.row_step, target, plane.column_step);
      turn_eight(source + 8 * plane.row_step, plane.row_step, target + 8, plane.column_step);
    }
  }
  const auto rest = [&](int64_t row, int64_t column, int64_t row_end, int64_t column_end) {
    Plane part = plane;
    part.rows = row_end - row;
    part.columns = column_end - column;
    if (part.rows > 0 && part.columns > 0)
      copy_plane<uint32_t>(x + row * plane.row_step + column, y + column * plane.column_step + row,
                           part);
  };
  rest(0, columns, rows, plane.columns);
  rest(rows, 0, plane.rows, plane.columns);
}
#endif

CopyPlane plane_for(DType dtype) {
#if defined(__x86_64__)
  if (dtype_size(dtype) == sizeof(uint32_t) && is_plain(dtype) &&
      cpu::instructions() >= cpu::Instructions::avx2)
    return &copy_words_avx2;
#endif
  return cpu::pick_storage<CopyPlane>(dtype, []<class T>() -> CopyPlane {
    if constexpr (std::is_trivially_copyable_v<T>) {
      return &copy_plane<T>;
    } else {
      return nullptr;
    }
  });
}

// The axis along which the source's elements lie side by side where the target's do along the
// innermost; 0 if there is none.
int crossing_axis(const Walk<2>& walk) {
  if (walk.run_stride(0) == 1 || walk.run_stride(1) != 1) return 0;
  for (int axis = 1; axis < walk.axes(); ++axis) {
    if (walk.stride(0, axis) == 1 && walk.length(axis) > 1) return axis;
  }
  return 0;
}

// --- rows: short runs that both have side by side, a step apart ---

// Those of so few bytes cost more to begin than to copy.
constexpr int64_t kShortRow = 256;

void copy_row(const char* from, char* to, int64_t bytes) {
  for (; bytes >= 16; bytes -= 16, from += 16, to += 16) std::memcpy(to, from, 16);
  for (; bytes >= 4; bytes -= 4, from += 4, to += 4) std::memcpy(to, from, 4);
  for (; bytes > 0; --bytes) *to++ = *from++;
}

// A box in memory: elements, how large they are, and how many are copied between two looks at the
// step.
struct BoxCopy {
  DType dtype;
  int64_t size, piece;
  const char* source;
  char* target;

  // Part of a walk whose innermost runs lie anyhow.
  Status runs(const Walk<2>& walk, CancelProbe& probe) const {
    // The walk has merged axes that lie behind each other, so a whole tensor comes here as one run
    // and goes by memcpy; only what is really strided pays for a step per element.
    const bool is_dense = walk.run_stride(0) == 1 && walk.run_stride(1) == 1;
    if (is_dense && walk.axes() > 1 && is_plain(dtype) && walk.run_length() * size <= kShortRow)
      return rows(walk, probe);
    const CopyRun run = run_for(dtype);
    return walk.each_piece(
        probe,
        [&](const std::array<int64_t, 2>& at, int64_t count) {
          if (is_dense) {
            copy_elements(dtype, source + at[0] * size, target + at[1] * size, count);
          } else {
            run(source + at[0] * size, walk.run_stride(0), target + at[1] * size,
                walk.run_stride(1), count);
          }
        },
        piece);
  }

  Status rows(const Walk<2>& walk, CancelProbe& probe) const {
    const int64_t bytes = walk.run_length() * size;
    const Walk<2> over = walk.without(0);
    const int64_t from_step = over.run_stride(0) * size, to_step = over.run_stride(1) * size;
    return over.each_piece(probe, [&](const std::array<int64_t, 2>& at, int64_t count) {
      const char* from = source + at[0] * size;
      char* to = target + at[1] * size;
      for (int64_t i = 0; i < count; ++i, from += from_step, to += to_step)
        copy_row(from, to, bytes);
    });
  }

  // Planes between the innermost axis and another.
  Status planes(const Walk<2>& walk, int crossing, CancelProbe& probe) const {
    const Plane whole{walk.run_length(), walk.run_stride(0), walk.length(crossing),
                      walk.stride(1, crossing)};
    // As many rows as are copied between two looks at the step.
    const int64_t band = std::max<int64_t>(64, CancelProbe::kPiece / whole.columns / 64 * 64);
    const CopyPlane copy = plane_for(dtype);
    const Walk<2> over = walk.without(crossing).without(0);
    const bool is_through = over.each_run([&](const std::array<int64_t, 2>& at) {
      for (int64_t i = 0; i < over.run_length(); ++i) {
        const char* const from = source + (at[0] + i * over.run_stride(0)) * size;
        char* const to = target + (at[1] + i * over.run_stride(1)) * size;
        for (int64_t row = 0; row < whole.rows; row += band) {
          Plane plane = whole;
          plane.rows = std::min(band, whole.rows - row);
          copy(from + row * whole.row_step * size, to + row * size, plane);
          if (!probe.go_on(plane.rows * plane.columns)) return false;
        }
      }
      return true;
    });
    return is_through ? Status() : probe.status();
  }

  Status part(const Walk<2>& walk, CancelProbe& probe) const {
    const int crossing = is_plain(dtype) ? crossing_axis(walk) : 0;
    return crossing > 0 ? planes(walk, crossing, probe) : runs(walk, probe);
  }
};

BoxCopy box_copy(const Tensor& from, const BoxLayout& from_layout, Tensor& to,
                 const BoxLayout& to_layout) {
  const DType dtype = from.dtype();
  const auto size = static_cast<int64_t>(dtype_size(dtype));
  return {dtype, size, is_plain(dtype) ? kMostBytes / size : CancelProbe::kPiece,
          static_cast<const char*>(from.data()) + from_layout.begin * size,
          static_cast<char*>(to.mutable_data()) + to_layout.begin * size};
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
  return box_copy(from, from_layout, to, to_layout).part(walk, probe);
}

Status copy_box(std::span<const int64_t> dims, const Tensor& from, const BoxLayout& from_layout,
                Tensor& to, const BoxLayout& to_layout, KernelContext& context) {
  const Walk<2> walk(dims, {from_layout.strides, to_layout.strides});
  const BoxCopy copy = box_copy(from, from_layout, to, to_layout);
  int64_t elements = 1;
  for (const int64_t dim : dims) elements *= dim;
  const int64_t outer = walk.outer_length();
  return share_range(context, outer, outer == 0 ? 0 : elements / outer,
                     [&](int64_t begin, int64_t end, CancelProbe& probe) {
                       const bool is_all = end - begin == outer;
                       return copy.part(is_all ? walk : walk.outer_part(begin, end), probe);
                     });
}

Result<Tensor> copied_box(const Shape& shape, const Tensor& from, const BoxLayout& from_layout,
                          CancelProbe probe) {
  MR_ASSIGN(Tensor made, Tensor::allocate(from.dtype(), shape));
  const Strides to = row_major_strides(shape);
  MR_TRY(copy_box(shape.dims(), from, from_layout, made, {0, to}, probe));
  return made;
}

Result<Tensor> copied_box(const Shape& shape, const Tensor& from, const BoxLayout& from_layout,
                          KernelContext& context) {
  MR_ASSIGN(Tensor made, Tensor::allocate(from.dtype(), shape));
  const Strides to = row_major_strides(shape);
  MR_TRY(copy_box(shape.dims(), from, from_layout, made, {0, to}, context));
  return made;
}

}  // namespace millrace
