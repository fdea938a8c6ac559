#include "millrace/tensor/shape.h"

#include <cstdio>
#include <cstdlib>

namespace millrace {
namespace {

std::string dims_text(std::span<const int64_t> dims) {
  std::string text = "[";
  for (const int64_t dim : dims) {
    if (text.size() > 1) text += ',';
    text += dim == kUnknownDim ? "?" : std::to_string(dim);
  }
  return text += ']';
}

// The product of the dims. Zeros and unknowns are left out of the overflow check, so that partial
// products (strides, rows) of any accepted shape fit too.
Result<int64_t> count_elements(std::span<const int64_t> dims, int64_t lowest) {
  if (dims.size() > static_cast<size_t>(kMaxRank))
    return invalid("a shape has ", dims.size(), " dimensions; at most ", kMaxRank,
                   " are supported");
  int64_t product = 1;
  bool has_zero = false;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const int64_t dim = dims[axis];
    if (dim < lowest) {
      return invalid("dimension ", axis, " of a shape is ", dim, "; sizes start at 0",
                     lowest < 0 ? " (-1 if unknown)" : "");
    }
    if (dim <= 0) {
      has_zero |= dim == 0;
    } else if (__builtin_mul_overflow(product, dim, &product)) {
      return invalid("shape ", dims_text(dims),
                     " has more than 2^63 - 1 elements: "
                     "Encountered overflow when multiplying its dims");
    }
  }
  return has_zero ? 0 : product;
}

int64_t count_or_abort(std::span<const int64_t> dims, int64_t lowest) {
  const Result<int64_t> count = count_elements(dims, lowest);
  if (count.ok()) return *count;
  std::fprintf(stderr, "a shape written in code is wrong: %s\n", count.status().message().c_str());
  std::abort();
}

}  // namespace

Shape::Shape(std::initializer_list<int64_t> dims)
    : dims_(dims.begin(), dims.end()), num_elements_(count_or_abort(dims_, 0)) {}

Result<Shape> Shape::create(std::span<const int64_t> dims) {
  MR_ASSIGN(const int64_t count, count_elements(dims, 0));
  Shape made;
  made.dims_.assign(dims.begin(), dims.end());
  made.num_elements_ = count;
  return made;
}

std::string Shape::to_string() const { return dims_text(dims_); }

PartialShape::PartialShape(const Shape& shape)
    : known_rank_(true), dims_(shape.dims().begin(), shape.dims().end()) {}

PartialShape::PartialShape(std::initializer_list<int64_t> dims)
    : known_rank_(true), dims_(dims.begin(), dims.end()) {
  count_or_abort(dims_, kUnknownDim);
}

PartialShape PartialShape::of_rank(int rank) {
  PartialShape made;
  made.known_rank_ = true;
  made.dims_.assign(rank, kUnknownDim);
  return made;
}

Result<PartialShape> PartialShape::create(std::span<const int64_t> dims) {
  MR_TRY(count_elements(dims, kUnknownDim));
  PartialShape made;
  made.known_rank_ = true;
  made.dims_.assign(dims.begin(), dims.end());
  return made;
}

bool PartialShape::is_fully_known() const {
  if (!known_rank_) return false;
  for (const int64_t dim : dims_) {
    if (dim == kUnknownDim) return false;
  }
  return true;
}

std::optional<Shape> PartialShape::to_shape() const {
  if (!is_fully_known()) return std::nullopt;
  Result<Shape> made = Shape::create(dims_);
  if (!made.ok()) return std::nullopt;
  return std::move(made).value();
}

bool PartialShape::allows(const Shape& shape) const {
  if (!known_rank_) return true;
  if (rank() != shape.rank()) return false;
  for (int axis = 0; axis < rank(); ++axis) {
    if (dims_[axis] != kUnknownDim && dims_[axis] != shape.dim(axis)) return false;
  }
  return true;
}

Result<PartialShape> PartialShape::merge(const PartialShape& other) const {
  if (!known_rank_) return other;
  if (!other.known_rank_) return *this;
  if (rank() != other.rank()) {
    return invalid("shapes ", to_string(), " and ", other.to_string(), " have different ranks, ",
                   rank(), " and ", other.rank());
  }
  PartialShape merged = *this;
  for (int axis = 0; axis < rank(); ++axis) {
    int64_t& dim = merged.dims_[axis];
    if (dim == kUnknownDim) dim = other.dims_[axis];
    if (other.dims_[axis] != kUnknownDim && dim != other.dims_[axis]) {
      return invalid("shapes ", to_string(), " and ", other.to_string(), " differ in dimension ",
                     axis, ": ", dim, " and ", other.dims_[axis]);
    }
  }
  MR_TRY(count_elements(merged.dims_, kUnknownDim));
  return merged;
}

std::string PartialShape::to_string() const { return known_rank_ ? dims_text(dims_) : "<unknown>"; }

}  // namespace millrace
