// Part of families.h: register_select.
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/instructions.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/share_work.h"
#include "millrace/ops/loops/strides.h"
#include "millrace/ops/math/families.h"
#include "millrace/ops/math/gradients.h"

namespace millrace {
namespace {

// --- Select, SelectV2 ---

// One value of each with its step from element to element.
struct Source {
  const char* data;
  int64_t step;
};
using SelectRun = void (*)(Source condition, Source yes, Source no, void* out, int64_t count);

template <class T>
MR_BODY void select_body(Source condition, Source yes, Source no, void* out, int64_t count) {
  // Not bool, of which g++ makes no vectors.
  const uint8_t* c = reinterpret_cast<const uint8_t*>(condition.data);
  const T* y = reinterpret_cast<const T*>(yes.data);
  const T* n = reinterpret_cast<const T*>(no.data);
  T* z = static_cast<T*>(out);
  const auto each = [&](auto yes_at, auto no_at) {
    MR_INDEPENDENT
    for (int64_t i = 0; i < count; ++i) z[i] = c[i] != 0 ? yes_at(i) : no_at(i);
  };
  const auto yes_each = [y](int64_t i) { return y[i]; };
  const auto no_each = [n](int64_t i) { return n[i]; };
  if (std::is_arithmetic_v<T> && condition.step == 1 && yes.step == 1 && no.step == 1)
    return each(yes_each, no_each);
  if (std::is_arithmetic_v<T> && condition.step == 1 && yes.step == 1 && no.step == 0)
    return each(yes_each, [one = *n](int64_t) { return one; });
  if (std::is_arithmetic_v<T> && condition.step == 1 && yes.step == 0 && no.step == 1)
    return each([one = *y](int64_t) { return one; }, no_each);
  for (int64_t i = 0; i < count; ++i)
    z[i] = c[i * condition.step] != 0 ? y[i * yes.step] : n[i * no.step];
}
template <class T>
void select_run(Source condition, Source yes, Source no, void* out, int64_t count) {
  select_body<T>(condition, yes, no, out, count);
}
template <class T>
MR_AVX2 void select_run_avx2(Source condition, Source yes, Source no, void* out, int64_t count) {
  select_body<T>(condition, yes, no, out, count);
}

SelectRun select_run_for(DType dtype) {
  return cpu::pick_storage<SelectRun>(dtype, []<class T>() -> SelectRun {
    if constexpr (std::is_arithmetic_v<T>) {
      return cpu::widest<SelectRun>(&select_run<T>, &select_run_avx2<T>);
    } else {
      return &select_run<T>;
    }
  });
}

// `condition` is read with the given strides, which need not be those of broadcasting.
Result<Tensor> selected(KernelContext& context, const Tensor& condition,
                        const Strides& condition_strides, const Tensor& yes, const Tensor& no,
                        const Shape& shape) {
  const DType dtype = yes.dtype();
  MR_ASSIGN(Tensor output, Tensor::allocate(dtype, shape));
  const Strides yes_strides = broadcast_strides(yes.shape(), shape);
  const Strides no_strides = broadcast_strides(no.shape(), shape);
  const Strides out_strides = row_major_strides(shape);
  const Walk<4> walk(shape.dims(), {condition_strides, yes_strides, no_strides, out_strides});
  const SelectRun run = select_run_for(dtype);
  const auto size = static_cast<int64_t>(dtype_size(dtype));
  const auto begin = [](const Tensor& t) { return static_cast<const char*>(t.data()); };
  char* const to = static_cast<char*>(output.mutable_data());
  const int64_t outer = walk.outer_length();
  const int64_t cost = outer == 0 ? 0 : output.num_elements() / outer;
  MR_TRY(share_range(context, outer, cost, [&](int64_t first, int64_t last, CancelProbe& probe) {
    const Walk<4> part = walk.outer_part(first, last);
    return part.each_piece(probe, [&](const std::array<int64_t, 4>& at, int64_t count) {
      run({begin(condition) + at[0], part.run_stride(0)},
          {begin(yes) + at[1] * size, part.run_stride(1)},
          {begin(no) + at[2] * size, part.run_stride(2)}, to + at[3] * size, count);
    });
  }));
  return output;
}

// The condition is a scalar, or of the shape of both values, or a vector that chooses rows.
Result<Tensor> select_v1(KernelContext& context) {
  const Tensor& condition = context.input(0);
  const Shape& shape = context.input(1).shape();
  if (context.input(2).shape() != shape) {
    return invalid("'then' and 'else' must have the same size. but received: ", shape.to_string(),
                   " vs. ", context.input(2).shape().to_string());
  }
  Strides strides(shape.rank(), 0);
  if (condition.shape() == shape) {
    strides = row_major_strides(shape);
  } else if (condition.shape().rank() == 1 && shape.rank() >= 1 &&
             condition.shape().dim(0) == shape.dim(0)) {
    strides[0] = 1;
  } else if (!condition.shape().is_scalar()) {
    return invalid(
        "'cond' must be a scalar, a vector with one entry per row, or of the shape of "
        "'then', ",
        shape.to_string(), ", but has shape ", condition.shape().to_string());
  }
  return selected(context, condition, strides, context.input(1), context.input(2), shape);
}

Result<Shape> shape_of_all(const Shape& condition, const Shape& then, const Shape& otherwise) {
  MR_ASSIGN(const Shape values, broadcast_shapes(then, otherwise));
  return broadcast_shapes(condition, values);
}

Result<Tensor> select_v2(KernelContext& context) {
  const Tensor& condition = context.input(0);
  const Shape& then = context.input(1).shape();
  const Shape& otherwise = context.input(2).shape();
  const Result<Shape> shape = shape_of_all(condition.shape(), then, otherwise);
  if (!shape.ok()) {
    return invalid("condition ", condition.shape().to_string(), ", then ", then.to_string(),
                   ", and else ", otherwise.to_string(),
                   " must be broadcastable: ", shape.status().message());
  }
  return selected(context, condition, broadcast_strides(condition.shape(), *shape),
                  context.input(1), context.input(2), *shape);
}

Status infer_select_v1(InferContext& context) {
  return context.set_output(0, context.input(1).merge(context.input(2)));
}

Status infer_select_v2(InferContext& context) {
  MR_ASSIGN(const PartialShape values, broadcast_shapes(context.input(1), context.input(2)));
  return context.set_output(0, broadcast_shapes(context.input(0), values));
}

// --- Where ---

// Writes the positions of elements that are not zero.
using All = cpu::Join<cpu::Number, cpu::Types<bool>>;
using Positions = Result<std::vector<int64_t>> (*)(const Tensor& tensor, CancelProbe probe);

template <class T>
Result<std::vector<int64_t>> positions(const Tensor& tensor, CancelProbe probe) {
  const std::span<const T> elements = tensor.flat<T>();
  std::vector<int64_t> found;
  MR_TRY(probe.in_pieces(tensor.num_elements(), [&](int64_t begin, int64_t count) {
    for (int64_t i = begin; i < begin + count; ++i) {
      if (!(elements[i] == T())) found.push_back(i);
    }
  }));
  return found;
}

Result<Tensor> where(KernelContext& context, Positions find) {
  const Shape& shape = context.input(0).shape();
  MR_ASSIGN(const std::vector<int64_t> found, find(context.input(0), CancelProbe(context)));
  MR_ASSIGN(Tensor output, context.allocate(0, {static_cast<int64_t>(found.size()), shape.rank()}));
  int64_t* row = output.mutable_flat<int64_t>().data();
  for (int64_t position : found) {
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      row[axis] = position % shape.dim(axis);
      position /= shape.dim(axis);
    }
    row += shape.rank();
  }
  return output;
}

Status infer_where(InferContext& context) {
  const int rank = context.input(0).rank();
  context.set_output(0, PartialShape{kUnknownDim, rank < 0 ? kUnknownDim : rank});
  return {};
}

}  // namespace

Status register_select(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "Select",
      .doc = "Elements (or rows) of t where condition is true, and of e where it is false.",
      .signature = "condition: bool, t: T, e: T -> output: T | T: type",
      .infer = infer_select_v1,
      .cpu = kernel(select_v1),
      .grad = grad::select,
      .examples = {"[true false], [1 2], [3 4] -> [1 4]", "true, [1 2], [3 4] -> [1 2]",
                   "[true false], [[1 2] [3 4]], [[5 6] [7 8]] -> [[1 2] [7 8]]"},
  }));
  MR_TRY(ops.add({
      .name = "SelectV2",
      .doc =
          "Elements of t where condition is true, and of e where it is false, with broadcasting.",
      .signature = "condition: bool, t: T, e: T -> output: T | T: type",
      .infer = infer_select_v2,
      .cpu = kernel(select_v2),
      .grad = grad::select_v2,
      .examples = {"[true false], [[1 2] [3 4]], 9 -> [[1 9] [3 9]]",
                   "[[true] [false]], [1 2], 9 -> [[1 2] [9 9]]"},
  }));
  return ops.add({
      .name = "Where",
      .doc = "The indices of the elements that are true or not zero, one per row.",
      .signature =
          "input: T -> index: int64 | T: {float, double, int32, uint8, int16, int8, "
          "complex64, int64, bfloat16, uint16, complex128, half, uint32, uint64, bool} = bool",
      .infer = infer_where,
      .cpu = kernel_with(where, cpu::loop_of_input<All>([]<class T>() { return &positions<T>; })),
      .not_differentiable = "its result is indices",
      .examples = {"[[1 0] [0 1]] -> [[0 0] [1 1]]"},
  });
}

}  // namespace millrace
