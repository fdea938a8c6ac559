#include "millrace/ops/loops/bins.h"

#include <cstring>

#include "millrace/op/gradient.h"
#include "millrace/ops/loops/arguments.h"

namespace millrace {

Result<int64_t> read_number_of_bins(const Tensor& size) {
  if (!size.shape().is_scalar()) {
    return invalid("Shape must be rank 0 but is rank ", size.shape().rank(), ": size has shape ",
                   size.shape().to_string());
  }
  MR_ASSIGN(const int64_t bins, read_integer(size, "size"));
  if (bins >= 0) return bins;
  return invalid("size (", bins, ") must be non-negative");
}

Result<Bins> Bins::create(Options options) {
  std::vector<int64_t> dims;
  if (options.rows) dims.push_back(*options.rows);
  dims.push_back(options.size);
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  MR_ASSIGN(Tensor made, Tensor::zeros(options.weights.dtype(), shape));
  MR_ASSIGN(Tensor unit, scalar_of(options.weights.dtype(), 1));
  return Bins(std::move(options), std::move(made), std::move(unit));
}

Bins::Bins(Options options, Tensor made, Tensor unit)
    : options_(std::move(options)),
      unit_(std::move(unit)),
      width_(static_cast<int64_t>(dtype_size(unit_.dtype()))),
      made_(std::move(made)),
      bins_(static_cast<char*>(made_.mutable_data())) {
  if (!options_.only_marks && options_.weights.num_elements() > 0)
    weights_ = static_cast<const char*>(options_.weights.data());
}

Status Bins::count(size_t i, int64_t value, int64_t row) {
  if (value < 0) return invalid(options_.refusal, " It has ", value, " at place ", i);
  if (value >= options_.size) return {};
  char* const bin = bins_ + (row * options_.size + value) * width_;
  const void* const weight =
      weights_ == nullptr ? unit_.data() : weights_ + static_cast<int64_t>(i) * width_;
  if (options_.only_marks) {
    std::memcpy(bin, weight, static_cast<size_t>(width_));
  } else {
    options_.add(bin, 1, weight, 1, bin, 1);
  }
  return {};
}

}  // namespace millrace
