#include "millrace/ops/exchange/accumulator.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/ops/exchange/quotients.h"
#include "millrace/ops/loops/sums.h"

namespace millrace {
namespace {

// sum + more, in the sum's place if nobody else holds it.
Status add_up(Tensor& sum, const Tensor& more) {
  const void* const before = sum.data();
  const Tensor held = sum.is_sole_owner() ? Tensor() : sum;
  if (held.has_value()) {
    MR_ASSIGN(sum, Tensor::allocate(held.dtype(), held.shape()));
  }
  cpu::addition_loop(sum.dtype())(before, 1, more.data(), 1, sum.mutable_data(),
                                  sum.num_elements());
  return {};
}

size_t row_bytes(const Tensor& rows) {
  const int64_t count = rows.shape().dim(0);
  return count == 0 ? 0 : rows.num_bytes() / static_cast<size_t>(count);
}

}  // namespace

Accumulator::Accumulator(AccumulatorSpec spec, std::string name)
    : spec_(std::move(spec)), name_(std::move(name)), gathered_(Turns::in_order) {}

Accumulator::~Accumulator() { close(cancelled("accumulator '", name_, "' was dropped")); }

Status Accumulator::check_same(const AccumulatorSpec& other) const {
  if (other.is_sparse != spec_.is_sparse) {
    return invalid("Shared conditional accumulator '", name_, "' is ",
                   spec_.is_sparse ? "sparse" : "dense", " but one that is ",
                   other.is_sparse ? "sparse" : "dense", " was requested");
  }
  if (other.dtype != spec_.dtype) {
    return invalid("Shared conditional accumulator '", name_, "' has data type ",
                   dtype_name(spec_.dtype), " but requested type ", dtype_name(other.dtype));
  }
  if (other.shape != spec_.shape) {
    return invalid("Shared conditional accumulator '", name_, "' has shape ",
                   spec_.shape.to_string(), " but requested shape ", other.shape.to_string());
  }
  if (other.is_mean != spec_.is_mean) {
    return invalid("Shared conditional accumulator '", name_, "' has reduction type ",
                   spec_.is_mean ? "MEAN" : "SUM", " but requested ",
                   other.is_mean ? "MEAN" : "SUM");
  }
  return {};
}

Status Accumulator::apply(int64_t local_step, const Tensor& gradient) {
  return gathered_.change([&](Gathered& gathered) -> Status {
    if (local_step < gathered.global_step) return {};
    MR_TRY(check_shape(gradient, gathered));
    MR_TRY(add(gradient, gathered));
    ++gathered.count;
    return {};
  });
}

Status Accumulator::apply(int64_t local_step, const GradientRows& rows) {
  return gathered_.change([&](Gathered& gathered) -> Status {
    if (local_step < gathered.global_step) return {};
    MR_TRY(check_rows(rows, gathered));
    MR_TRY(add(rows, gathered));
    ++gathered.count;
    return {};
  });
}

int32_t Accumulator::count() const {
  return gathered_.look([](const Gathered& gathered) { return gathered.count; });
}

void Accumulator::set_global_step(int64_t step) {
  (void)gathered_.change([&](Gathered& gathered) { return gathered.global_step = step; });
}

void Accumulator::take(int64_t required, Cancellation* cancellation, Done<GradientRows> done) {
  const auto took = std::make_shared<GradientRows>();
  gathered_.attempt(
      [this, required, took](Gathered& gathered) -> std::optional<Status> {
        if (gathered.count < required) return std::nullopt;
        auto rows = taken(gathered);
        if (!rows.ok()) return rows.status();
        *took = *std::move(rows);
        return Status();
      },
      cancellation, cancelled("TakeGrad operation was cancelled"),
      Done<void>([took, done = std::move(done)](Status status) mutable {
        if (!status.ok()) return done(std::move(status));
        done(std::move(*took));
      }));
}

std::string Accumulator::description() const {
  return gathered_.look([&](const Gathered& gathered) {
    return str_cat(spec_.is_sparse ? "sparse " : "", "accumulator '", name_, "': ", gathered.count,
                   " gradients of ", dtype_name(spec_.dtype), " at step ", gathered.global_step);
  });
}

void Accumulator::close(const Status& why) { gathered_.close(why); }

Status Accumulator::check_shape(const Tensor& gradient, const Gathered& gathered) const {
  if (!spec_.shape.allows(gradient.shape())) {
    return invalid("Shape mismatch: expected ", spec_.shape.to_string(), ", got ",
                   gradient.shape().to_string());
  }
  if (gathered.count > 0 && gathered.sum.shape() != gradient.shape()) {
    return invalid("Shape mismatch: expected ", gathered.sum.shape().to_string(), ", got ",
                   gradient.shape().to_string());
  }
  return {};
}

Status Accumulator::add(const Tensor& gradient, Gathered& gathered) const {
  if (gathered.count > 0) return add_up(gathered.sum, gradient);
  // The accumulator outlives the step, and so must what it holds.
  MR_ASSIGN(gathered.sum, gradient.kept());
  return {};
}

Status Accumulator::check_rows(const GradientRows& rows, const Gathered& gathered) const {
  const PartialShape& shape = spec_.shape;
  const Shape& values = rows.values.shape();
  if (rows.indices.shape().rank() != 1) {
    return invalid("Input indices should be vector but received shape: ",
                   rows.indices.shape().to_string());
  }
  if (values.rank() == 0) return invalid("Values cannot be 0-dimensional.");
  if (values.dim(0) != rows.indices.num_elements()) {
    return invalid("Expected ", rows.indices.num_elements(), " non-empty input values, got ",
                   values.dim(0));
  }
  if (rows.shape) {
    const auto dims = rows.shape->flat<int64_t>();
    if (shape.rank() > static_cast<int>(dims.size())) {
      return invalid("Shape mismatch: expected shape rank at least ", shape.rank(), ", got ",
                     dims.size());
    }
    for (int i = 0; i < shape.rank(); ++i) {
      if (shape.dim(i) != kUnknownDim && shape.dim(i) != dims[static_cast<size_t>(i)]) {
        return invalid("Shape mismatch: expected shape dim ", i, " to be ", shape.dim(i), ", got ",
                       dims[static_cast<size_t>(i)]);
      }
    }
  }
  if (shape.rank() > 0 && shape.dim(0) != kUnknownDim) {
    const auto indices = rows.indices.flat<int64_t>();
    for (size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] < shape.dim(0)) continue;
      return invalid("Shape mismatch: index of slice ", i, " exceeded limits of shape; index is ",
                     indices[i], " exceeded ", shape.dim(0));
    }
  }
  if (gathered.count > 0) {
    const Shape& sum = gathered.sum.shape();
    if (sum.rank() != values.rank()) {
      return invalid("Shape mismatch: expected values rank ", sum.rank(), ", got ", values.rank());
    }
    for (int i = 1; i < sum.rank(); ++i) {
      if (sum.dim(i) == values.dim(i)) continue;
      return invalid("Shape mismatch: expected values dim ", i, " to be ", sum.dim(i), ", got ",
                     values.dim(i));
    }
    return {};
  }
  if (shape.rank() > values.rank()) {
    return invalid("Shape mismatch: expected values rank at least ", shape.rank(), ", got ",
                   values.rank());
  }
  for (int i = 1; i < shape.rank(); ++i) {
    if (shape.dim(i) == kUnknownDim || shape.dim(i) == values.dim(i)) continue;
    return invalid("Shape mismatch: expected values dim ", i, " to be ", shape.dim(i), ", got ",
                   values.dim(i));
  }
  return {};
}

// Both sides are taken to be in order of their indices, as what gradients of gathers give is.
Status Accumulator::add(const GradientRows& rows, Gathered& gathered) const {
  const auto more = rows.indices.flat<int64_t>();
  if (gathered.count == 0) {
    MR_ASSIGN(gathered.sum, rows.values.kept());
    gathered.indices.assign(more.begin(), more.end());
    gathered.together.assign(more.size(), 1);
    return {};
  }
  struct Source {
    std::optional<size_t> old, added;
  };
  std::vector<Source> sources;
  std::vector<int64_t> indices, together;
  const std::vector<int64_t>& known = gathered.indices;
  for (size_t i = 0, j = 0; i < known.size() || j < more.size();) {
    const bool has_old = i < known.size() && (j == more.size() || known[i] <= more[j]);
    const bool has_added = j < more.size() && (i == known.size() || more[j] <= known[i]);
    indices.push_back(has_old ? known[i] : more[j]);
    together.push_back((has_old ? gathered.together[i] : 0) + (has_added ? 1 : 0));
    Source source;
    if (has_old) source.old = i++;
    if (has_added) source.added = j++;
    sources.push_back(source);
  }
  Shape::Dims dims(rows.values.shape().dims().begin(), rows.values.shape().dims().end());
  dims[0] = static_cast<int64_t>(sources.size());
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  MR_ASSIGN(Tensor sum, Tensor::allocate(spec_.dtype, shape));
  const size_t bytes = row_bytes(sum);
  const int64_t row_size = bytes == 0 ? 0 : static_cast<int64_t>(bytes / dtype_size(spec_.dtype));
  const cpu::BinaryLoop add_loop = cpu::addition_loop(spec_.dtype);
  char* to = static_cast<char*>(sum.mutable_data());
  const auto* old_rows = static_cast<const char*>(gathered.sum.data());
  const auto* added_rows = static_cast<const char*>(rows.values.data());
  for (const Source& source : sources) {
    if (bytes == 0) break;
    const char* const old = source.old ? old_rows + *source.old * bytes : nullptr;
    const char* const added = source.added ? added_rows + *source.added * bytes : nullptr;
    if (old != nullptr && added != nullptr) {
      add_loop(old, 1, added, 1, to, row_size);
    } else {
      std::memcpy(to, old != nullptr ? old : added, bytes);
    }
    to += bytes;
  }
  gathered.sum = std::move(sum);
  gathered.indices = std::move(indices);
  gathered.together = std::move(together);
  return {};
}

Result<GradientRows> Accumulator::taken(Gathered& gathered) const {
  GradientRows rows;
  if (spec_.is_sparse) {
    MR_ASSIGN(rows, taken_rows(gathered));
  } else {
    rows.values = gathered.sum;
    gathered.sum = Tensor();
    if (spec_.is_mean) {
      MR_ASSIGN(rows.values, cpu::divided(std::move(rows.values), gathered.count));
    }
  }
  gathered = Gathered{.global_step = gathered.global_step + 1, .count = 0, .sum = {}};
  return rows;
}

Result<GradientRows> Accumulator::taken_rows(Gathered& gathered) const {
  GradientRows rows;
  rows.indices = Tensor::vector<int64_t>(std::span<const int64_t>(gathered.indices));
  rows.values = gathered.sum;
  gathered.sum = Tensor();
  if (spec_.is_mean) {
    MR_ASSIGN(rows.values, cpu::rows_divided(std::move(rows.values), gathered.together));
  }
  const Shape& values = rows.values.shape();
  std::vector<int64_t> dims(values.dims().begin(), values.dims().end());
  // How many rows there are all in all, no gradient tells.
  dims[0] = spec_.shape.rank() > 0 ? spec_.shape.dim(0) : kUnknownDim;
  rows.shape = Tensor::vector<int64_t>(std::span<const int64_t>(dims));
  return rows;
}

}  // namespace millrace
