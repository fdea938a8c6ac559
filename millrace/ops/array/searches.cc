// Part of families.h: register_searches.
#include <algorithm>

#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/array/families.h"
#include "millrace/ops/loops/loop_of.h"

namespace millrace {
namespace {

enum class Bound : uint8_t { lower, upper };

using SearchLoop = Status (*)(const Tensor& sorted, const Tensor& values, Bound bound, Tensor& out,
                              CancelProbe probe);

template <class T>
Status search_rows(const Tensor& sorted, const Tensor& values, Bound bound, Tensor& out,
                   CancelProbe probe) {
  using M = cpu::Math<T>;
  const int64_t rows = values.shape().dim(0);
  const int64_t length = sorted.shape().dim(1), wanted = values.shape().dim(1);
  const T* const from = static_cast<const T*>(sorted.data());
  const T* const value = static_cast<const T*>(values.data());
  const auto less = [](const T& a, const T& b) { return static_cast<M>(a) < static_cast<M>(b); };
  for (int64_t i = 0; i < rows * wanted; ++i) {
    const T* const begin = from + i / wanted * length;
    const T* const at = bound == Bound::lower
                            ? std::lower_bound(begin, begin + length, value[i], less)
                            : std::upper_bound(begin, begin + length, value[i], less);
    const auto place = static_cast<size_t>(i);
    if (out.dtype() == DType::i32) {
      out.mutable_flat<int32_t>()[place] = static_cast<int32_t>(at - begin);
    } else {
      out.mutable_flat<int64_t>()[place] = at - begin;
    }
    if (!probe.go_on(16)) return probe.status();
  }
  return {};
}

Status check_search(const PartialShape& sorted, const PartialShape& values) {
  if (sorted.has_rank() && sorted.rank() != 2) {
    return invalid("Shape must be rank 2 but is rank ", sorted.rank(),
                   " for `sorted_inputs` argument");
  }
  if (values.has_rank() && values.rank() != 2)
    return invalid("Shape must be rank 2 but is rank ", values.rank(), " for `values` argument");
  if (!sorted.has_rank() || !values.has_rank()) return {};
  const int64_t a = sorted.dim(0), b = values.dim(0);
  if (a != kUnknownDim && b != kUnknownDim && a != b)
    return invalid("Leading dim_size of both tensors must match.");
  return {};
}

Result<Tensor> search(KernelContext& context, SearchLoop loop, Bound bound) {
  const Tensor &sorted = context.input(0), &values = context.input(1);
  MR_TRY(check_search(sorted.shape(), values.shape()));
  if (context.output_dtype(0) == DType::i32 &&
      sorted.shape().dim(1) > std::numeric_limits<int32_t>::max()) {
    return invalid("trying to use int32 out_type for rows of ", sorted.shape().dim(1),
                   " elements; use int64");
  }
  MR_ASSIGN(Tensor out, context.allocate(0, values.shape()));
  if (out.num_elements() > 0) MR_TRY(loop(sorted, values, bound, out, CancelProbe(context)));
  return out;
}

Status infer_search(InferContext& context) {
  MR_TRY(check_search(context.input(0), context.input(1)));
  context.set_output(0, context.input(1));
  return {};
}

struct BoundKind {
  Bound bound;
  Result<Bound> read(const KernelSpec&) const { return bound; }
};

Status add_search(OpRegistry& ops, std::string name, std::string doc, Bound bound,
                  std::string example) {
  return ops.add({
      .name = std::move(name),
      .doc = std::move(doc),
      .signature = "sorted_inputs: T, values: T -> output: out_type | T: real, "
                   "out_type: {int32, int64} = int32",
      .infer = infer_search,
      .cpu = kernel_with(search,
                         cpu::loop_of_input<cpu::Real>([]<class T>() { return &search_rows<T>; }),
                         BoundKind{bound}),
      .not_differentiable = "it gives places, which are no real numbers",
      .examples = {std::move(example)},
  });
}

}  // namespace

Status register_searches(OpRegistry& ops) {
  MR_TRY(add_search(ops, "LowerBound",
                    "How many elements of each sorted row are less than each of the row's values.",
                    Bound::lower, "[[1 3 3 5]], [[0 3 4 9]] -> [[0 1 3 4]]"));
  return add_search(ops, "UpperBound",
                    "How many elements of each sorted row are no more than each of the row's "
                    "values.",
                    Bound::upper, "[[1 3 3 5]], [[0 3 4 9]] -> [[0 3 3 4]]");
}

}  // namespace millrace
