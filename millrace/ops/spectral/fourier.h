// Discrete Fourier transforms of single lines, of any length.
//
//   X_k = the sum of x_j e^(-2 pi i j k / n)          forward
//   x_j = the sum of X_k e^(+2 pi i j k / n)          backward: not divided by n
//
// A length is taken apart into its prime factors, each of which is one pass over the line. One with
// a large factor goes as a convolution instead (Bluestein), so that every length costs n log n. All
// is computed in double: what a float has to lose is lost only when it is stored.
//
// A Fourier never changes once it is made: many threads may run it, each with its own room.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "millrace/base/result.h"

namespace millrace {

class Fourier {
 public:
  using Number = std::complex<double>;
  enum class Direction : uint8_t { forward, backward };

  // n >= 1. Errors: RESOURCE_EXHAUSTED.
  static Result<Fourier> create(int64_t n, Direction direction);

  int64_t size() const { return n_; }
  // How many numbers of room a run needs.
  int64_t room() const;
  // Transforms `line` in place.
  void run(Number* line, Number* room) const;
  // Elementary steps of a run, roughly.
  int64_t cost() const;

 private:
  Fourier() = default;
  Status plan(int64_t n, Direction direction);
  Status plan_convolution();
  void passes(const Number* from, int64_t stride, Number* to, int64_t n, size_t factor) const;
  void combine(Number* to, int64_t n, int64_t factor) const;
  void convolve(Number* line, Number* room) const;

  int64_t n_ = 1;
  double sign_ = -1;
  std::vector<int64_t> factors_;
  std::vector<Number> turns_;  // e^(sign 2 pi i k / n)
  // Of a length with a large factor: e^(sign pi i k^2 / n), the transform of its conjugate, and the
  // transforms of a longer line that has no large factor.
  std::vector<Number> chirp_, kernel_;
  std::shared_ptr<const Fourier> forth_, back_;
};

}  // namespace millrace
