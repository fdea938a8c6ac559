// Shape: the dimensions of a tensor, all known. PartialShape: what is known of them beforehand.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

#include "absl/container/inlined_vector.h"

#include "millrace/base/result.h"

namespace millrace {

inline constexpr int kMaxRank = 254;
inline constexpr int64_t kUnknownDim = -1;

// Row-major dimensions, outermost first; rank 0 is a scalar. The number of elements fits int64.
class Shape {
 public:
  using Dims = absl::InlinedVector<int64_t, 4>;

  Shape() = default;  // scalar
  // For shapes written in code: every dim must be >= 0 (checked; aborts otherwise).
  Shape(std::initializer_list<int64_t> dims);
  // For shapes that come from outside. Errors: INVALID_ARGUMENT for a negative dim, more than
  // 254 dims, or a product (zeros left out) over 2^63 - 1.
  static Result<Shape> create(std::span<const int64_t> dims);

  int rank() const { return static_cast<int>(dims_.size()); }
  int64_t dim(int axis) const { return dims_[axis]; }
  int64_t operator[](int axis) const { return dims_[axis]; }
  std::span<const int64_t> dims() const { return dims_; }
  int64_t num_elements() const { return num_elements_; }
  bool is_scalar() const { return dims_.empty(); }

  // "[2,3]"; "[]" for a scalar.
  std::string to_string() const;
  friend bool operator==(const Shape& a, const Shape& b) { return a.dims_ == b.dims_; }

 private:
  Dims dims_;
  int64_t num_elements_ = 1;
};

// A shape of which the rank, or some dims (kUnknownDim), may be unknown.
class PartialShape {
 public:
  PartialShape() = default;  // unknown rank
  PartialShape(
      const Shape& shape);  // NOLINT(google-explicit-constructor): a Shape is one, fully known
  // Written in code: dims >= 0 or kUnknownDim.
  PartialShape(std::initializer_list<int64_t> dims);
  static PartialShape unknown() { return {}; }
  static PartialShape scalar() { return PartialShape(Shape()); }
  static PartialShape of_rank(int rank);
  // From outside; as Shape::create, but kUnknownDim is allowed.
  static Result<PartialShape> create(std::span<const int64_t> dims);

  bool has_rank() const { return known_rank_; }
  int rank() const { return known_rank_ ? static_cast<int>(dims_.size()) : -1; }
  int64_t dim(int axis) const { return dims_[axis]; }
  std::span<const int64_t> dims() const { return dims_; }
  bool is_fully_known() const;
  std::optional<Shape> to_shape() const;

  // True if a tensor of `shape` may stand where this is declared.
  bool allows(const Shape& shape) const;
  // What both say; INVALID_ARGUMENT if they contradict each other.
  Result<PartialShape> merge(const PartialShape& other) const;

  // "[2,?]"; "<unknown>" without a rank.
  std::string to_string() const;
  friend bool operator==(const PartialShape& a, const PartialShape& b) {
    return a.known_rank_ == b.known_rank_ && a.dims_ == b.dims_;
  }

 private:
  bool known_rank_ = false;
  Shape::Dims dims_;
};

}  // namespace millrace
