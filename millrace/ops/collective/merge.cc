#include "millrace/ops/collective/merge.h"

#include <type_traits>
#include <utility>

#include "millrace/tensor/float_types.h"

namespace millrace {
namespace {

template <class T>
inline constexpr bool kIsNarrow = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// What elements are added and multiplied as: signed integers would overflow.
template <class T>
struct Wide {
  using Type = std::conditional_t<kIsNarrow<T>, float, T>;
};
template <>
struct Wide<int32_t> {
  using Type = uint32_t;
};
template <>
struct Wide<int64_t> {
  using Type = uint64_t;
};

template <class T, class Op>
void merge_into(T* out, const T* a, const T* b, int64_t count, Op op) {
  for (int64_t i = 0; i < count; ++i) out[i] = op(a[i], b[i]);
}

template <class T>
void merge_loop(MergeOp op, T* out, const T* a, const T* b, int64_t count) {
  using W = typename Wide<T>::Type;
  // Integers are compared as they are.
  using C = std::conditional_t<kIsNarrow<T>, float, T>;
  const auto is_nan = [](C x) { return x != x; };
  switch (op) {
    case MergeOp::add:
      return merge_into(out, a, b, count, [](T x, T y) { return static_cast<T>(W(x) + W(y)); });
    case MergeOp::multiply:
      return merge_into(out, a, b, count, [](T x, T y) { return static_cast<T>(W(x) * W(y)); });
    case MergeOp::maximum:
      return merge_into(out, a, b, count,
                        [&](T x, T y) { return is_nan(C(x)) || C(x) > C(y) ? x : y; });
    case MergeOp::minimum:
      return merge_into(out, a, b, count,
                        [&](T x, T y) { return is_nan(C(x)) || C(x) < C(y) ? x : y; });
  }
}

template <class T>
void divide_loop(T* values, int64_t count, int64_t by) {
  using C = std::conditional_t<kIsNarrow<T>, float, T>;
  const C divisor = static_cast<C>(by);
  for (int64_t i = 0; i < count; ++i) values[i] = static_cast<T>(C(values[i]) / divisor);
}

// Calls visit with a value of the dtype's type. Errors: INVALID_ARGUMENT for one without merging.
template <class Visit>
Status visit_mergeable(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::f32:
      return visit(float());
    case DType::f64:
      return visit(double());
    case DType::f16:
      return visit(Half());
    case DType::bf16:
      return visit(BFloat16());
    case DType::i32:
      return visit(int32_t());
    case DType::i64:
      return visit(int64_t());
    default:
      return invalid("tensors of ", dtype_name(dtype),
                     " can't be merged; use bfloat16, half, float, double, int32 or int64");
  }
}

}  // namespace

Result<MergeOp> merge_op_named(std::string_view name) {
  if (name == "Add") return MergeOp::add;
  if (name == "Mul") return MergeOp::multiply;
  if (name == "Max") return MergeOp::maximum;
  if (name == "Min") return MergeOp::minimum;
  return invalid("merge_op must be one of {\"Min\", \"Max\", \"Mul\", \"Add\"} but got ", name);
}

Result<Tensor> merge(MergeOp op, Tensor first, Tensor second) {
  // Element i depends on elements i alone, so the result may lie on either.
  Tensor out;
  if (second.is_sole_owner()) {
    out = second;
  } else if (first.is_sole_owner()) {
    out = first;
  } else {
    MR_ASSIGN(out, Tensor::allocate(first.dtype(), first.shape()));
  }
  MR_TRY(merge_onto(op, first, second, out.mutable_data()));
  return out;
}

Status merge_onto(MergeOp op, const Tensor& first, const Tensor& second, void* onto) {
  return visit_mergeable(first.dtype(), [&]<class T>(T) -> Status {
    merge_loop(op, static_cast<T*>(onto), static_cast<const T*>(first.data()),
               static_cast<const T*>(second.data()), first.num_elements());
    return {};
  });
}

Result<Tensor> divide(Tensor tensor, int64_t count) {
  if (count == 1) return tensor;
  if (!tensor.is_sole_owner()) {
    MR_ASSIGN(tensor, tensor.clone());
  }
  MR_TRY(visit_mergeable(tensor.dtype(), [&]<class T>(T) -> Status {
    divide_loop(static_cast<T*>(tensor.mutable_data()), tensor.num_elements(), count);
    return {};
  }));
  return tensor;
}

}  // namespace millrace
