#include "millrace/ops/spectral/fourier.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <numbers>

namespace millrace {
namespace {

using Number = Fourier::Number;

// A pass of a factor costs its square.
constexpr int64_t kLargestFactor = 31;

// Smallest first, but fours before twos.
std::vector<int64_t> factors_of(int64_t n) {
  std::vector<int64_t> factors;
  for (; n % 4 == 0; n /= 4) factors.push_back(4);
  for (int64_t p = 2; p <= kLargestFactor && n > 1; ++p) {
    for (; n % p == 0; n /= p) factors.push_back(p);
  }
  if (n > 1) factors.push_back(n);
  return factors;
}

// e^(2 pi i part / whole), exact where it is a quarter turn.
Number turn(int64_t part, int64_t whole, double sign) {
  if (part == 0) return 1;
  if (part * 4 == whole) return {0, sign};
  if (part * 2 == whole) return -1;
  if (part * 4 == whole * 3) return {0, -sign};
  const double angle =
      2 * std::numbers::pi * static_cast<double>(part) / static_cast<double>(whole);
  return {std::cos(angle), sign * std::sin(angle)};
}

// Of finite numbers, which are all that is looked at; std::complex asks more.
Number times(Number a, Number b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

}  // namespace

Result<Fourier> Fourier::create(int64_t n, Direction direction) {
  Fourier made;
  try {
    MR_TRY(made.plan(n, direction));
  } catch (const std::bad_alloc&) {
    return error(Code::resource_exhausted, "no memory for a Fourier transform of ", n, " numbers");
  }
  return made;
}

Status Fourier::plan(int64_t n, Direction direction) {
  n_ = n;
  sign_ = direction == Direction::forward ? -1 : 1;
  factors_ = factors_of(n);
  if (!factors_.empty() && factors_.back() > kLargestFactor) return plan_convolution();
  turns_.resize(static_cast<size_t>(n));
  for (int64_t k = 0; k < n; ++k) turns_[static_cast<size_t>(k)] = turn(k, n, sign_);
  return {};
}

Status Fourier::plan_convolution() {
  int64_t longer = 1;
  while (longer < 2 * n_ - 1) longer *= 2;
  MR_ASSIGN(Fourier forth, create(longer, Direction::forward));
  MR_ASSIGN(Fourier back, create(longer, Direction::backward));
  forth_ = std::make_shared<const Fourier>(std::move(forth));
  back_ = std::make_shared<const Fourier>(std::move(back));
  chirp_.resize(static_cast<size_t>(n_));
  int64_t square = 0;  // k^2 modulo 2 n
  for (int64_t k = 0; k < n_; ++k) {
    chirp_[static_cast<size_t>(k)] = turn(square, 2 * n_, sign_);
    square = (square + 2 * k + 1) % (2 * n_);
  }
  kernel_.assign(static_cast<size_t>(longer), 0);
  for (int64_t k = 0; k < n_; ++k) {
    const Number value = std::conj(chirp_[static_cast<size_t>(k)]);
    kernel_[static_cast<size_t>(k)] = value;
    if (k > 0) kernel_[static_cast<size_t>(longer - k)] = value;
  }
  std::vector<Number> room(static_cast<size_t>(forth_->room()));
  forth_->run(kernel_.data(), room.data());
  return {};
}

int64_t Fourier::room() const { return forth_ ? forth_->size() + forth_->room() : n_; }

int64_t Fourier::cost() const {
  if (forth_) return 2 * forth_->cost() + 4 * forth_->size();
  int64_t each = 2;
  for (const int64_t factor : factors_) each += 2 * factor;
  return each * n_;
}

void Fourier::run(Number* line, Number* room) const {
  if (forth_) return convolve(line, room);
  std::copy_n(line, n_, room);
  passes(room, 1, line, n_, 0);
}

// The transform of from[0], from[stride] …, n of them. Those of every p-th are made first.
void Fourier::passes(const Number* from, int64_t stride, Number* to, int64_t n,
                     size_t factor) const {
  if (n == 1) {
    *to = *from;
    return;
  }
  const int64_t p = factors_[factor], part = n / p;
  for (int64_t r = 0; r < p; ++r)
    passes(from + r * stride, stride * p, to + r * part, part, factor + 1);
  combine(to, n, p);
}

void Fourier::combine(Number* to, int64_t n, int64_t p) const {
  const int64_t part = n / p, step = n_ / n, quarter = n_ / p;
  Number taken[kLargestFactor];
  for (int64_t k = 0; k < part; ++k) {
    taken[0] = to[k];
    for (int64_t r = 1; r < p; ++r)
      taken[r] = times(to[r * part + k], turns_[static_cast<size_t>(r * k * step)]);
    if (p == 2) {
      to[k] = taken[0] + taken[1];
      to[part + k] = taken[0] - taken[1];
    } else if (p == 4) {
      const Number a = taken[0] + taken[2], b = taken[0] - taken[2];
      const Number c = taken[1] + taken[3], d = taken[1] - taken[3];
      const Number turned{-sign_ * d.imag(), sign_ * d.real()};
      to[k] = a + c;
      to[part + k] = b + turned;
      to[2 * part + k] = a - c;
      to[3 * part + k] = b - turned;
    } else {
      for (int64_t q = 0; q < p; ++q) {
        Number sum = taken[0];
        for (int64_t r = 1; r < p; ++r)
          sum += times(taken[r], turns_[static_cast<size_t>(r * q % p * quarter)]);
        to[q * part + k] = sum;
      }
    }
  }
}

// j k = (j^2 + k^2 - (k - j)^2) / 2: a convolution with a chirp, between two products with it.
void Fourier::convolve(Number* line, Number* room) const {
  const int64_t longer = forth_->size();
  Number* const inner = room + longer;
  for (int64_t k = 0; k < n_; ++k) room[k] = times(line[k], chirp_[static_cast<size_t>(k)]);
  std::fill(room + n_, room + longer, Number(0));
  forth_->run(room, inner);
  for (int64_t k = 0; k < longer; ++k) room[k] = times(room[k], kernel_[static_cast<size_t>(k)]);
  back_->run(room, inner);
  const double scale = 1.0 / static_cast<double>(longer);
  for (int64_t k = 0; k < n_; ++k) line[k] = times(room[k], chirp_[static_cast<size_t>(k)]) * scale;
}

}  // namespace millrace
