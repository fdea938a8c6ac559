// Part of families.h: register_counts.
#include <algorithm>
#include <cmath>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/bins.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/occurrences.h"
#include "millrace/ops/loops/sums.h"
#include "millrace/ops/math/families.h"

namespace millrace {
namespace {

constexpr const char* kPlaces = "the elements only say where to count";
using Weights = cpu::Types<int32_t, int64_t, float, double>;

// --- Bincount, DenseBincount ---

// How elements are counted: all in one row of bins, or each row of a matrix in its own.
enum class CountBy : uint8_t { all, rows };

Result<Tensor> count_into_bins(KernelContext& context, cpu::BinaryLoop add, bool binary,
                               CountBy by) {
  const Tensor& input = context.input(0);
  const Tensor& weights = context.input(2);
  MR_ASSIGN(const int64_t size, read_number_of_bins(context.input(1)));
  if (weights.num_elements() > 0 && weights.shape() != input.shape()) {
    return invalid("If weights are passed, they must have the same shape (",
                   weights.shape().to_string(), ") as arr (", input.shape().to_string(), ")");
  }
  MR_ASSIGN(const std::vector<int64_t> all, read_elements(input, "arr"));
  Bins::Options options{.size = size,
                        .only_marks = binary,
                        .weights = weights,
                        .add = add,
                        .refusal = "Input arr must be non-negative!"};
  auto columns = static_cast<int64_t>(all.size());
  if (by == CountBy::rows && input.shape().rank() == 2) {
    options.rows = input.shape().dim(0);
    columns = input.shape().dim(1);
  }
  const int64_t rows = options.rows.value_or(1);
  MR_ASSIGN(Bins bins, Bins::create(std::move(options)));
  CancelProbe probe(context);
  size_t next = 0;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column, ++next) {
      MR_TRY(bins.count(next, all[next], row));
      if (!probe.go_on(1)) return probe.status();
    }
    if (!probe.go_on(1)) return probe.status();
  }
  return std::move(bins).take();
}

Result<Tensor> bincount(KernelContext& context, cpu::BinaryLoop add) {
  return count_into_bins(context, add, false, CountBy::all);
}

Result<Tensor> dense_bincount(KernelContext& context, cpu::BinaryLoop add, bool binary) {
  if (context.input(0).shape().rank() > 2) {
    return invalid("Shape must be at most rank 2 but is rank ", context.input(0).shape().rank());
  }
  return count_into_bins(context, add, binary, CountBy::rows);
}

Status infer_bincount(InferContext& context) {
  MR_TRY(context.input_of_rank(1, 0));
  MR_ASSIGN(const auto size, constant_integers(context, 1, "size"));
  int64_t bins = kUnknownDim;
  if (size) {
    MR_ASSIGN(bins, read_number_of_bins(*context.constant(1)));
  }
  const bool is_dense = context.attrs().find("binary_output") != nullptr;
  const PartialShape& input = context.input(0);
  if (is_dense && !input.has_rank()) return {};
  if (is_dense && input.rank() > 2)
    return invalid("Shape must be at most rank 2 but is rank ", input.rank());
  if (is_dense && input.rank() == 2) {
    context.set_output(0, PartialShape{input.dim(0), bins});
  } else {
    context.set_output(0, PartialShape{bins});
  }
  return {};
}

// --- DenseCountSparseOutput ---

Status dense_occurrences(KernelContext& context, cpu::BinaryLoop add,
                         const OccurrenceLimits& limits) {
  const Tensor& input = context.input(0);
  const Tensor& weights = context.input(1);
  const Shape& shape = input.shape();
  if (shape.rank() != 1 && shape.rank() != 2)
    return invalid("Input must be a 1 or 2-dimensional tensor. Got: ", shape.to_string());
  if (weights.num_elements() > 0 && weights.shape() != shape) {
    return invalid("Weights and data must have the same shape. Weight shape: ",
                   weights.shape().to_string(), "; data shape: ", shape.to_string());
  }
  MR_ASSIGN(const std::vector<int64_t> values, read_elements(input, "values"));
  Occurrences how{.limits = limits, .weights = weights, .add = add};
  std::vector<int64_t> rows;
  if (shape.rank() == 2) {
    rows.reserve(values.size());
    for (size_t i = 0; i < values.size(); ++i)
      rows.push_back(static_cast<int64_t>(i) / shape.dim(1));
    how.rows_of_values = rows;
    how.rows = shape.dim(0);
  }
  return count_occurrences(context, values, how);
}

Status infer_dense_occurrences(InferContext& context) {
  const PartialShape& input = context.input(0);
  if (input.has_rank() && input.rank() != 1 && input.rank() != 2)
    return invalid("Input must be a 1 or 2-dimensional tensor. Got: ", input.to_string());
  set_occurrences(context, input.has_rank() ? input.rank() : kUnknownDim);
  return {};
}

// --- Bucketize ---

using BucketLoop = void (*)(const void* in, int64_t n, std::span<const float> boundaries,
                            int32_t* out);

template <class T>
void bucket_loop(const void* in, int64_t n, std::span<const float> boundaries, int32_t* out) {
  const T* x = static_cast<const T*>(in);
  for (int64_t i = 0; i < n; ++i) {
    const auto above = std::upper_bound(boundaries.begin(), boundaries.end(), x[i],
                                        [](T value, float edge) { return value < edge; });
    out[i] = static_cast<int32_t>(above - boundaries.begin());
  }
}

struct BoundBoundaries {
  Result<std::vector<float>> read(const KernelSpec& spec) const {
    const AttrValue* value = spec.attrs.find("boundaries");
    if (value == nullptr || !value->as_list_of<float>())
      return invalid("boundaries must be a list of numbers");
    std::vector<float> boundaries = *value->as_list_of<float>();
    if (std::ranges::is_sorted(boundaries)) return boundaries;
    return invalid("Expected sorted boundaries");
  }
};

Result<Tensor> bucketize(KernelContext& context, BucketLoop loop,
                         const std::vector<float>& boundaries) {
  const Tensor& input = context.input(0);
  MR_ASSIGN(Tensor made, context.allocate(0, input.shape()));
  const auto size = static_cast<int64_t>(dtype_size(input.dtype()));
  MR_TRY(CancelProbe(context).in_pieces(input.num_elements(), [&](int64_t begin, int64_t count) {
    loop(static_cast<const char*>(input.data()) + begin * size, count, boundaries,
         made.mutable_flat<int32_t>().data() + begin);
  }));
  return made;
}

// --- HistogramFixedWidth ---

using HistogramLoop = Status (*)(const Tensor& values, const Tensor& range,
                                 std::vector<int64_t>& bins);

template <class T>
Status histogram_loop(const Tensor& values, const Tensor& range, std::vector<int64_t>& bins) {
  const T low = range.flat<T>()[0], high = range.flat<T>()[1];
  if (!(low < high)) {
    return invalid("value_range should satisfy value_range[0] < value_range[1], but got [", low,
                   ", ", high, "]");
  }
  const auto number = static_cast<double>(bins.size());
  const double step = (static_cast<double>(high) - static_cast<double>(low)) / number;
  for (const T value : values.flat<T>()) {
    double at = (static_cast<double>(value) - static_cast<double>(low)) / step;
    if (std::isnan(at)) return invalid("values must not contain NaN");
    at = std::clamp(std::floor(at), 0.0, number - 1);
    ++bins[static_cast<size_t>(at)];
  }
  return {};
}

Result<Tensor> histogram(KernelContext& context, HistogramLoop loop) {
  if (context.input(1).shape() != Shape{2})
    return invalid("value_range should be a vector of 2 elements. Got ",
                   context.input(1).shape().to_string());
  if (!context.input(2).shape().is_scalar()) return invalid("nbins should be a scalar.");
  MR_ASSIGN(const int64_t number, read_integer(context.input(2), "nbins"));
  if (number < 1) return invalid("nbins should be a positive number, but got '", number, "'");
  // Refuses what is too large before the bins are made.
  MR_ASSIGN(const Tensor space, Tensor::allocate(DType::i64, {number}));
  std::vector<int64_t> bins(static_cast<size_t>(number), 0);
  MR_TRY(loop(context.input(0), context.input(1), bins));
  return integer_tensor(context.output_dtype(0), {number}, bins);
}

Status infer_histogram(InferContext& context) {
  MR_TRY(context.input_of_rank(1, 1));
  MR_TRY(context.input_of_rank(2, 0));
  MR_ASSIGN(const auto number, constant_integers(context, 2, "nbins"));
  if (!number) {
    context.set_output(0, PartialShape::of_rank(1));
    return {};
  }
  if (number->front() < 1) return invalid("Requires nbins > 0: nbins = ", number->front());
  context.set_output(0, PartialShape{number->front()});
  return {};
}

}  // namespace

Status register_counts(OpRegistry& ops) {
  const auto add = cpu::LoopFor{cpu::addition_loop, 2};
  MR_TRY(ops.add({
      .name = "Bincount",
      .doc = "How often each number from 0 to below size comes; with weights, the sum of those of "
             "the elements that are it.",
      .signature = "arr: int32, size: int32, weights: T -> bins: T | T: {int32, int64, float, "
                   "double}",
      .infer = infer_bincount,
      .cpu = kernel_with(bincount, add),
      .not_differentiable = kPlaces,
      .examples = {"[1 1 2 7], 4, [] -> [0 2 1 0]", "[1 1 2], 3, [5 6 7] -> [0 11 7]",
                   "[[1 1] [2 0]], 3, [] -> [1 2 1]"},
  }));
  MR_TRY(ops.add({
      .name = "DenseBincount",
      .doc =
          "How often each number from 0 to below size comes, or whether it does; of a matrix, in "
          "each row. With weights, the sum of those of the elements that are it.",
      .signature = "input: Tidx, size: Tidx, weights: T -> output: T | Tidx: {int32, int64}, "
                   "T: {int32, int64, float, double}, binary_output: bool = false",
      .infer = infer_bincount,
      .cpu = kernel_with(dense_bincount, add, boolean("binary_output")),
      .not_differentiable = kPlaces,
      .examples = {"[1 1 2 7], 4, [] -> [0 2 1 0]", "[[1 1] [2 0]], 3, [] -> [[0 2 0] [1 0 1]]",
                   "[[1 1] [2 0]], 3, [] -> [[0 1 0] [1 0 1]] | binary_output = true"},
  }));
  MR_TRY(ops.add({
      .name = "DenseCountSparseOutput",
      .doc =
          "Which numbers come and how often, or whether they do; of a matrix, in each row. As a "
          "sparse tensor of shape [numbers] or [rows, numbers]. Those from maxlength on are left "
          "out. With weights, the sum of those of the elements that are it.",
      .signature = "values: T, weights: output_type -> output_indices: int64, "
                   "output_values: output_type, output_dense_shape: int64 | T: {int32, int64}, "
                   "minlength: int >= -1 = -1, maxlength: int >= -1 = -1, binary_output: bool, "
                   "output_type: {int32, int64, float, double}",
      .infer = infer_dense_occurrences,
      .cpu = kernel_with(dense_occurrences, cpu::LoopFor{cpu::addition_loop, 1},
                         OccurrenceLimits::Bound()),
      .not_differentiable = kPlaces,
      .examples = {"[1 2 1 3], [] -> [[1] [2] [3]], [2 1 1], [4] | binary_output = false",
                   "[[1 2 1] [0 0 5]], [[1 2 3] [4 5 6]] -> [[0 1] [0 2] [1 0] [1 5]], [4 2 9 6], "
                   "[2 6] | binary_output = false",
                   "[[1 2 1] [0 0 5]], [] -> [[0 1] [0 2] [1 0]], [1 1 1], [2 3] | "
                   "binary_output = true, minlength = 9, maxlength = 3"},
  }));
  MR_TRY(ops.add({
      .name = "Bucketize",
      .doc = "Between which of the boundaries each element is: how many are not above it.",
      .signature = "input: T -> output: int32 | T: {int32, int64, float, double}, "
                   "boundaries: list(float)",
      .infer = infer::same_as_input,
      .cpu = kernel_with(bucketize,
                         cpu::loop_of_input<Weights>([]<class T>() { return &bucket_loop<T>; }),
                         BoundBoundaries()),
      .not_differentiable = "its result is an index",
      .examples = {"[[-5 10000] [150 10]] -> [[0 3] [3 2]] | boundaries = {0, 10, 100}"},
  }));
  return ops.add({
      .name = "HistogramFixedWidth",
      .doc =
          "How many values are in each of nbins equal parts of value_range; those outside are in "
          "the first or last.",
      .signature = "values: T, value_range: T, nbins: int32 -> out: dtype | "
                   "T: {int32, int64, float, double}, dtype: {int32, int64} = int32",
      .infer = infer_histogram,
      .cpu = kernel_with(histogram,
                         cpu::loop_of_input<Weights>([]<class T>() { return &histogram_loop<T>; })),
      .not_differentiable = "its result is a count",
      .examples = {"[-1 0 3 2 5 15], [0 5], 5 -> [2 0 1 1 2]"},
  });
}

}  // namespace millrace
