// One number out of a run of them, as fast as memory gives them: several partial results side by
// side, since one after the other would wait for each other, and wider instructions where the
// processor has them.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "millrace/ops/loops/instructions.h"

namespace millrace::cpu {

struct Larger {
  template <class T>
  static bool wins(T a, T b) {
    return a > b;
  }
};
struct Smaller {
  template <class T>
  static bool wins(T a, T b) {
    return a < b;
  }
};

namespace internal_row_folds {

// Four vectors, spelled out: compilers keep an array of as many elements in memory.
constexpr int kVectors = 4;
template <class T>
using Vector __attribute__((vector_size(32))) = T;

template <class Better, class T>
MR_BODY T best_body(T start, const T* x, int64_t n) {
  static_assert(!std::is_same_v<T, bool>);
  constexpr int64_t kLanes = 32 / sizeof(T);
  Vector<T> best[kVectors];
  for (Vector<T>& vector : best) vector = Vector<T>{} + start;
  int64_t i = 0;
  for (; i + kVectors * kLanes <= n; i += kVectors * kLanes) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      Vector<T> next;
      std::memcpy(&next, x + i + v * kLanes, sizeof(next));
      if constexpr (std::is_same_v<Better, Larger>) {
        best[v] = next > best[v] ? next : best[v];
      } else {
        best[v] = next < best[v] ? next : best[v];
      }
    }
  }
  T all = start;
  for (const Vector<T>& vector : best)
    for (int64_t lane = 0; lane < kLanes; ++lane)
      all = Better::wins(static_cast<T>(vector[lane]), all) ? vector[lane] : all;
  for (; i < n; ++i) all = Better::wins(x[i], all) ? x[i] : all;
  return all;
}
template <class Better, class T>
T best_plain(T start, const T* x, int64_t n) {
  return best_body<Better>(start, x, n);
}
template <class Better, class T>
MR_AVX2 T best_avx2(T start, const T* x, int64_t n) {
  return best_body<Better>(start, x, n);
}

}  // namespace internal_row_folds

// The best of `start` and n elements, Larger or Smaller. A NaN beats nothing and is beaten by
// nothing.
template <class Better, class T>
T best_of(T start, const T* x, int64_t n) {
  using Fold = T (*)(T, const T*, int64_t);
  if constexpr (std::is_same_v<T, bool>) {
    // Of which there are no vectors.
    const auto* const bytes = reinterpret_cast<const uint8_t*>(x);
    return best_of<Better, uint8_t>(start ? 1 : 0, bytes, n) != 0;
  } else {
    return widest<Fold>(&internal_row_folds::best_plain<Better, T>,
                        &internal_row_folds::best_avx2<Better, T>)(start, x, n);
  }
}

}  // namespace millrace::cpu
