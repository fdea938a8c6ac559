// One system of three diagonals, solved by elimination. For sources of this room alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "millrace/ops/linalg/eigen.h"

namespace millrace {

struct TridiagonalSolving {
  bool pivots = true, perturbs = false;
};

// A system of n > 0 rows. Row k of the eliminated matrix has a pivot and two elements behind it.
//
// One that `perturbs` has a solution even if it is singular, as eigenvectors by inverse iteration
// want it: a pivot by which it can't be divided without overflow is moved away from 0, by epsilon
// times the largest element and twice that each time, until it can. The order of rows and the steps
// are LAPACK's (xLAGTF, xLAGTS), which TensorFlow follows: the solution hangs on each of them.
template <class T>
struct TridiagonalSystem {
  using Real = typename Eigen::NumTraits<T>::Real;
  using Row = Eigen::Matrix<T, 1, Eigen::Dynamic>;

  Eigen::Map<const Matrix<T>> diagonals;
  Eigen::Map<Matrix<T>> x;  // begins as the right side
  TridiagonalSolving solving;
  int64_t n = diagonals.cols();
  std::vector<T> pivots = std::vector<T>(static_cast<size_t>(n));
  std::vector<T> seconds = std::vector<T>(static_cast<size_t>(n));
  std::vector<T> thirds = std::vector<T>(static_cast<size_t>(n));
  Real scale = 0;  // of one that perturbs: the sum of what stands in the row before elimination

  T above(int64_t k) const { return k + 1 < n ? diagonals(0, k) : T(0); }
  T main(int64_t k) const { return diagonals(1, k); }
  T below(int64_t k) const { return diagonals(2, k); }

  void run() {
    pivots[0] = main(0);
    seconds[0] = above(0);
    scale = std::abs(pivots[0]) + std::abs(seconds[0]);
    for (int64_t row = 0; row + 1 < n; ++row) {
      const T lower = below(row + 1);
      eliminate(row, lower, swaps(row, lower));
    }
    if (solving.perturbs) return solve_perturbed();
    // Nothing solves it: that is told in every element, as by TensorFlow.
    if (std::find(pivots.begin(), pivots.end(), T(0)) != pivots.end()) {
      x.setConstant(T(std::numeric_limits<Real>::quiet_NaN()));
      return;
    }
    for (int64_t row = n - 1; row >= 0; --row) {
      take_off_what_is_known(row);
      x.row(row) /= pivots[static_cast<size_t>(row)];
    }
  }

 private:
  // Whether the row below, which begins with `lower`, takes the place of `row`.
  bool swaps(int64_t row, T lower) {
    const Real size = std::abs(pivots[static_cast<size_t>(row)]);
    if (!solving.perturbs) return solving.pivots && std::abs(lower) > size;
    const Real next = std::abs(lower) + std::abs(main(row + 1)) + std::abs(above(row + 1));
    const Real own = size == Real(0) ? Real(0) : size / scale;
    const bool changes = lower != T(0) && !(std::abs(lower) / next <= own);
    // What went down stays what it was.
    if (!changes) scale = next;
    return changes;
  }

  // Makes zero of what stands below the pivot of `row`.
  void eliminate(int64_t row, T lower, bool swapped) {
    const auto k = static_cast<size_t>(row);
    if (!swapped) {
      // Of a pivot of 0 nothing has to be taken off a row that begins with 0.
      const T factor = solving.perturbs && lower == T(0) ? T(0) : lower / pivots[k];
      pivots[k + 1] = main(row + 1) - factor * seconds[k];
      seconds[k + 1] = above(row + 1);
      x.row(row + 1) -= factor * x.row(row);
      return;
    }
    const T factor = pivots[k] / lower;
    const T second = seconds[k];
    pivots[k] = lower;
    seconds[k] = main(row + 1);
    thirds[k] = above(row + 1);
    pivots[k + 1] = second - factor * seconds[k];
    seconds[k + 1] = -factor * thirds[k];
    x.row(row).swap(x.row(row + 1));
    x.row(row + 1) -= factor * x.row(row);
  }

  void take_off_what_is_known(int64_t row) {
    const auto k = static_cast<size_t>(row);
    if (row + 1 < n) x.row(row) -= seconds[k] * x.row(row + 1);
    if (row + 2 < n) x.row(row) -= thirds[k] * x.row(row + 2);
  }

  void solve_perturbed() {
    const Real step = std::numeric_limits<Real>::epsilon() * largest();
    for (int64_t row = n - 1; row >= 0; --row) {
      take_off_what_is_known(row);
      Row right = x.row(row);
      const T pivot = divisible(pivots[static_cast<size_t>(row)], step, right);
      x.row(row) = right * (T(1) / pivot);
    }
  }

  // Of the eliminated matrix, without the last row but one.
  Real largest() const {
    Real most = std::abs(pivots.back());
    if (n == 1) return most;
    most = std::max({most, std::abs(main(0)), std::abs(above(0))});
    for (size_t k = 0; k + 2 < pivots.size(); ++k)
      most = std::max({most, std::abs(pivots[k]), std::abs(seconds[k]), std::abs(thirds[k])});
    return most;
  }

  // `pivot`, moved by `step` and more until `right` can be divided by it; one that is tiny, but
  // large enough for `right`, is scaled up with it.
  static T divisible(T pivot, Real step, Row& right) {
    constexpr Real tiny = std::numeric_limits<Real>::min();
    constexpr Real huge = Real(1) / tiny;
    const Real most = right.cwiseAbs().maxCoeff();
    // Towards where it is, lest it come to 0; a step of 0 would never end.
    step = std::copysign(std::max(step, tiny), std::real(pivot));
    for (Real size = std::abs(pivot); size < Real(1); size = std::abs(pivot)) {
      const bool too_small =
          size < tiny ? size == Real(0) || most * tiny > size : most > size * huge;
      if (too_small) {
        pivot += step;
        step *= 2;
        continue;
      }
      if (size < tiny) {
        pivot *= huge;
        right *= huge;
      }
      break;
    }
    return pivot;
  }
};

}  // namespace millrace
