// One number out of a run of them, as fast as memory gives them: several partial results side by
// side, since one after the other would wait for each other, and wider instructions where the
// processor has them.
#pragma once

#include <cstdint>

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

template <class Better, class T>
MR_BODY T best_body(T start, const T* x, int64_t n) {
  constexpr int64_t kLanes = 128 / sizeof(T);
  T lanes[kLanes];
  for (T& lane : lanes) lane = start;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] = Better::wins(x[i + lane], lanes[lane]) ? x[i + lane] : lanes[lane];
  T best = start;
  for (const T lane : lanes) best = Better::wins(lane, best) ? lane : best;
  for (; i < n; ++i) best = Better::wins(x[i], best) ? x[i] : best;
  return best;
}
template <class Better, class T>
T best_plain(T start, const T* x, int64_t n) {
  return best_body<Better>(start, x, n);
}
template <class Better, class T>
MR_AVX2 T best_avx2(T start, const T* x, int64_t n) {
  return best_body<Better>(start, x, n);
}

template <class T>
MR_BODY double sum_body(const T* x, int64_t n) {
  constexpr int64_t kLanes = 16;
  double lanes[kLanes] = {}, sum = 0;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += static_cast<double>(x[i + lane]);
  for (const double lane : lanes) sum += lane;
  for (; i < n; ++i) sum += static_cast<double>(x[i]);
  return sum;
}
template <class T>
double sum_plain(const T* x, int64_t n) {
  return sum_body(x, n);
}
template <class T>
MR_AVX2 double sum_avx2(const T* x, int64_t n) {
  return sum_body(x, n);
}

}  // namespace internal_row_folds

// The best of `start` and n elements, Larger or Smaller. A NaN beats nothing and is beaten by
// nothing.
template <class Better, class T>
T best_of(T start, const T* x, int64_t n) {
  using Fold = T (*)(T, const T*, int64_t);
  return widest<Fold>(&internal_row_folds::best_plain<Better, T>,
                      &internal_row_folds::best_avx2<Better, T>)(start, x, n);
}

// The sum of n elements, kept in double.
template <class T>
double sum_of(const T* x, int64_t n) {
  using Fold = double (*)(const T*, int64_t);
  return widest<Fold>(&internal_row_folds::sum_plain<T>, &internal_row_folds::sum_avx2<T>)(x, n);
}

}  // namespace millrace::cpu
