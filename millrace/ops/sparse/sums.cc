// Part of families.h: register_sparse_sums.
#include <complex>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/strided_copy.h"
#include "millrace/ops/sparse/families.h"
#include "millrace/ops/sparse/gradients.h"
#include "millrace/ops/sparse/sparse_input.h"

namespace millrace {
namespace {

// What is made of the elements of two tensors that meet at a place; 0 stands for one that is not
// there. False if what is made is below the threshold.
using Combine = bool (*)(const void* a, const void* b, long double threshold, void* out);

template <class T>
auto size_of_number(T x) {
  if constexpr (std::is_unsigned_v<T>) {
    return x;
  } else if constexpr (std::is_integral_v<T>) {
    // The lowest number has no positive one.
    return std::abs(static_cast<long double>(x));
  } else {
    return std::abs(x);
  }
}

template <class T>
bool add_two(const void* a, const void* b, long double threshold, void* out) {
  using M = cpu::Math<T>;
  const T x = *static_cast<const T*>(a), y = *static_cast<const T*>(b);
  const T sum = static_cast<T>(cpu::add(static_cast<M>(x), static_cast<M>(y)));
  *static_cast<T*>(out) = sum;
  return static_cast<long double>(size_of_number(static_cast<M>(sum))) >= threshold;
}
template <class T>
bool larger_of_two(const void* a, const void* b, long double, void* out) {
  using M = cpu::Math<T>;
  const T x = *static_cast<const T*>(a), y = *static_cast<const T*>(b);
  *static_cast<T*>(out) = static_cast<M>(x) < static_cast<M>(y) ? y : x;
  return true;
}
template <class T>
bool smaller_of_two(const void* a, const void* b, long double, void* out) {
  using M = cpu::Math<T>;
  const T x = *static_cast<const T*>(a), y = *static_cast<const T*>(b);
  *static_cast<T*>(out) = static_cast<M>(y) < static_cast<M>(x) ? y : x;
  return true;
}

struct SparseUnion {
  Tensor places, values;
};

Result<SparseUnion> combined(const SparseInput& a, const SparseInput& b, Combine combine,
                             long double threshold, CancelProbe probe) {
  const std::vector<Meeting> meetings = meet(a.indices, b.indices);
  const DType dtype = a.values.dtype();
  const auto size = static_cast<int64_t>(dtype_size(dtype));
  MR_ASSIGN(const Tensor zero, Tensor::zeros(dtype, Shape()));
  MR_ASSIGN(Tensor values, Tensor::allocate(dtype, {static_cast<int64_t>(meetings.size())}));
  const auto element = [&](const SparseInput& of, int64_t i) {
    return i < 0 ? zero.data() : static_cast<const char*>(of.values.data()) + i * size;
  };
  std::vector<int64_t> places;
  places.reserve(meetings.size() * a.rank);
  int64_t number = 0;
  for (const Meeting& met : meetings) {
    if (!probe.go_on(static_cast<int64_t>(a.rank) + 1)) return probe.status();
    char* const out = static_cast<char*>(values.mutable_data()) + number * size;
    const bool is_large = combine(element(a, met.first), element(b, met.second), threshold, out);
    // As in TensorFlow, what stands in one of them alone is kept however small it is.
    if (!is_large && met.first >= 0 && met.second >= 0) continue;
    const auto place = met.first >= 0 ? a.place(met.first) : b.place(met.second);
    places.insert(places.end(), place.begin(), place.end());
    ++number;
  }
  SparseUnion made;
  MR_ASSIGN(made.places, places_tensor(number, a.rank, places));
  MR_ASSIGN(made.values, values.rows(0, number));
  return made;
}

template <class T>
long double as_long_double(const Tensor& tensor) {
  return static_cast<long double>(static_cast<cpu::Math<T>>(tensor.item<T>()));
}

using ReadThreshold = long double (*)(const Tensor&);
struct ThresholdReader {
  Result<ReadThreshold> read(const KernelSpec& spec) const {
    const DType dtype = spec.inputs[6].dtype;
    const auto found = cpu::pick<ReadThreshold>(
        cpu::Real(), dtype, []<class T>() -> ReadThreshold { return &as_long_double<T>; });
    if (found == nullptr) return cpu::no_loop(spec, dtype);
    return found;
  }
};

struct Combining {
  Combine (*choose)(DType);
  Result<Combine> read(const KernelSpec& spec) const {
    const DType dtype = spec.inputs[1].dtype;
    const Combine found = choose(dtype);
    if (found == nullptr) return cpu::no_loop(spec, dtype);
    return found;
  }
};

Status add_sparse(KernelContext& context, Combine combine, ReadThreshold threshold_of) {
  MR_ASSIGN(const SparseInput a, read_sparse(context, 0, Places::anywhere));
  MR_ASSIGN(const SparseInput b, read_sparse(context, 3, Places::anywhere));
  MR_TRY(check_same_shape(a, b));
  const Tensor& threshold = context.input(6);
  if (!threshold.shape().is_scalar()) {
    return invalid("The magnitude threshold must be a scalar: got shape ",
                   threshold.shape().to_string());
  }
  MR_ASSIGN(SparseUnion sum,
            combined(a, b, combine, threshold_of(threshold), CancelProbe(context)));
  context.set_output(0, std::move(sum.places));
  context.set_output(1, std::move(sum.values));
  context.set_output(2, context.input(2));
  return {};
}

Status infer_add_sparse(InferContext& context) {
  MR_TRY(infer_sparse(context, 0));
  MR_TRY(infer_sparse(context, 3));
  MR_TRY(context.input_of_rank(6, 0));
  return set_sparse(context, kUnknownDim, sparse_rank(context));
}

Status extreme_sparse(KernelContext& context, Combine combine) {
  MR_ASSIGN(const SparseInput a, read_sparse(context, 0, Places::inside));
  MR_ASSIGN(const SparseInput b, read_sparse(context, 3, Places::inside));
  MR_TRY(check_same_shape(a, b));
  MR_ASSIGN(SparseUnion made, combined(a, b, combine, 0, CancelProbe(context)));
  context.set_output(0, std::move(made.places));
  context.set_output(1, std::move(made.values));
  return {};
}

Status infer_extreme_sparse(InferContext& context) {
  MR_TRY(infer_sparse(context, 0));
  MR_TRY(infer_sparse(context, 3));
  return set_sparse(context, kUnknownDim, sparse_rank(context), 2);
}

// --- the gradient of a sum ---

// For each place of `of` what arrives at it in the sum; 0 if the sum left it out.
Result<Tensor> arriving_at(const Tensor& of, const Tensor& sum, const Tensor& arriving) {
  MR_ASSIGN(Tensor made, Tensor::zeros(arriving.dtype(), {of.shape().dim(0)}));
  const auto size = static_cast<int64_t>(dtype_size(made.dtype()));
  for (const Meeting& met : meet(of, sum)) {
    if (met.first < 0 || met.second < 0) continue;
    copy_elements(made.dtype(), static_cast<const char*>(arriving.data()) + met.second * size,
                  static_cast<char*>(made.mutable_data()) + met.first * size, 1);
  }
  return made;
}

Status add_sparse_grad(KernelContext& context) {
  const Tensor& arriving = context.input(0);
  const Tensor& sum = context.input(3);
  for (int slot = 1; slot < 4; ++slot) {
    if (context.input(slot).shape().rank() != 2) {
      return invalid("a_indices, b_indices and sum_indices should be matrices but one has shape ",
                     context.input(slot).shape().to_string());
    }
    if (context.input(slot).shape().dim(1) != context.input(1).shape().dim(1)) {
      return invalid("The densified operands should have the same ndims; got: ",
                     context.input(1).shape().dim(1), " and ", context.input(slot).shape().dim(1));
    }
  }
  if (arriving.shape().rank() != 1) {
    return invalid("Input backprop_val_grad should be a vector but received shape ",
                   arriving.shape().to_string());
  }
  if (arriving.num_elements() != sum.shape().dim(0)) {
    return invalid("# elements of backprop_val_grad and # rows of sum_indices should match: got ",
                   arriving.num_elements(), " and ", sum.shape().dim(0));
  }
  MR_TRY(context.set_output(0, arriving_at(context.input(1), sum, arriving)));
  return context.set_output(1, arriving_at(context.input(2), sum, arriving));
}

Status infer_add_sparse_grad(InferContext& context) {
  MR_TRY(context.input_of_rank(0, 1));
  MR_ASSIGN(const PartialShape a, context.input_of_rank(1, 2));
  MR_ASSIGN(const PartialShape b, context.input_of_rank(2, 2));
  MR_TRY(context.input_of_rank(3, 2));
  context.set_output(0, PartialShape{a.has_rank() ? a.dim(0) : kUnknownDim});
  context.set_output(1, PartialShape{b.has_rank() ? b.dim(0) : kUnknownDim});
  return {};
}

Combine adding(DType dtype) {
  return cpu::pick<Combine>(cpu::Number(), dtype, []<class T>() -> Combine { return &add_two<T>; });
}
Combine taking_larger(DType dtype) {
  return cpu::pick<Combine>(cpu::Real(), dtype,
                            []<class T>() -> Combine { return &larger_of_two<T>; });
}
Combine taking_smaller(DType dtype) {
  return cpu::pick<Combine>(cpu::Real(), dtype,
                            []<class T>() -> Combine { return &smaller_of_two<T>; });
}

Status add_extreme_op(OpRegistry& ops, std::string name, std::string_view which,
                      Combine (*choose)(DType), std::string_view types, std::string example) {
  return ops.add({
      .name = std::move(name),
      .doc = str_cat("The ", which,
                     " of the elements of two sparse tensors of one shape, both in row-major "
                     "order; 0 stands for an element that one of them lacks."),
      .signature = str_cat("a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, "
                           "b_values: T, b_shape: int64 -> output_indices: int64, "
                           "output_values: T | T: ",
                           types),
      .infer = infer_extreme_sparse,
      .cpu = kernel_with(extreme_sparse, Combining{choose}),
      .not_differentiable = "TensorFlow has no gradient for it either",
      .examples = {std::move(example)},
  });
}

}  // namespace

Status register_sparse_sums(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "SparseAdd",
      .doc = "The sum of two sparse tensors of one shape, both in row-major order, without the "
             "sums of two elements whose size is below the threshold.",
      .signature = "a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, "
                   "b_shape: int64, thresh: Treal -> sum_indices: int64, sum_values: T, "
                   "sum_shape: int64 | T: number, Treal: real",
      .infer = infer_add_sparse,
      .cpu = kernel_with(add_sparse, Combining{adding}, ThresholdReader()),
      .grad = grad::sparse_add,
      .examples = {"[[0 0] [0 1]], [1 2], [2 3], [[0 1] [1 2]], [3 4], [2 3], 6 -> "
                   "[[0 0] [1 2]], [1 4], [2 3]",
                   "[[0 0] [0 1]], [1 2], [2 3], [[0 1] [1 2]], [3 4], [2 3], 0 -> "
                   "[[0 0] [0 1] [1 2]], [1 5 4], [2 3]"},
  }));
  MR_TRY(ops.add({
      .name = "SparseAddGrad",
      .doc = "What arrives at the elements of a sum of sparse tensors, for those of each of them.",
      .signature = "backprop_val_grad: T, a_indices: int64, b_indices: int64, sum_indices: int64 "
                   "-> a_val_grad: T, b_val_grad: T | T: number",
      .infer = infer_add_sparse_grad,
      .cpu = kernel(add_sparse_grad),
      .not_differentiable = "as in TensorFlow: what flows back is what arrived, moved",
      .examples = {"[5 6], [[0 0] [0 1]], [[0 1] [1 2]], [[0 1] [1 2]] -> [0 5], [5 6]"},
  }));
  MR_TRY(add_extreme_op(ops, "SparseSparseMaximum", "larger", taking_larger, "real",
                        "[[0 0] [0 1]], [1 2], [2 3], [[0 1] [1 2]], [3 4], [2 3] -> "
                        "[[0 0] [0 1] [1 2]], [1 3 4]"));
  return add_extreme_op(ops, "SparseSparseMinimum", "smaller", taking_smaller, "number",
                        "[[0 0] [0 1]], [1 2], [2 3], [[0 1] [1 2]], [3 4], [2 3] -> "
                        "[[0 0] [0 1] [1 2]], [0 2 0] | T = int32");
}

}  // namespace millrace
