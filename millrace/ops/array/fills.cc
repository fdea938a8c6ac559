// Part of families.h: register_fills.
#include <cmath>

#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/array/families.h"
#include "millrace/ops/array/gradients.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/fill.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/share_work.h"
#include "millrace/ops/loops/strided_copy.h"
#include "millrace/ops/loops/variants.h"

namespace millrace {
namespace {

// A tensor of `shape` with the only element of `value` everywhere.
Result<Tensor> filled(const Tensor& value, const Shape& shape, KernelContext& context) {
  const Strides everywhere(shape.rank(), 0);
  return copied_box(shape, value, {0, everywhere}, context);
}

Result<Tensor> fill(KernelContext& context) {
  MR_ASSIGN(const Shape shape, read_shape(context.input(0), "dims"));
  // A vector of one has always passed for a scalar.
  if (context.input(1).num_elements() != 1 || context.input(1).shape().rank() > 1)
    return invalid("value must be a scalar, got shape ", context.input(1).shape().to_string());
  return filled(context.input(1), shape, context);
}

KernelFactory zeros_like(const VariantTypes& types) {
  return kernel([&types](KernelContext& context) {
    return VariantArithmetic(types, CancelProbe(context)).zeros_like(context.input(0));
  });
}

using All = cpu::Join<cpu::Number, cpu::Types<bool>>;

template <class T>
Tensor one_of() {
  return Tensor::scalar(T(cpu::Math<T>(1)));
}

Result<Tensor> ones_like(KernelContext& context, Tensor (*one)()) {
  return filled(one(), context.input(0).shape(), context);
}

// --- Range ---

using RangeLoop = Result<Tensor> (*)(const Tensor& start, const Tensor& limit, const Tensor& delta,
                                     CancelProbe probe);

// How many steps of `delta` there are from `start` to before `limit`.
template <class T>
Result<int64_t> range_size(T start, T limit, T delta) {
  if (delta == 0) return invalid("Requires delta != 0: 0");
  if (delta > 0 && start > limit)
    return invalid("Requires start <= limit when delta > 0: ", start, "/", limit);
  if (delta < 0 && start < limit)
    return invalid("Requires start >= limit when delta < 0: ", start, "/", limit);
  if constexpr (std::is_integral_v<T>) {
    if (start == limit) return int64_t{0};
    // Unsigned, because the distance may be wider than the type.
    using U = uint64_t;
    const U distance = delta > 0 ? U(limit) - U(start) : U(start) - U(limit);
    const U step = delta > 0 ? U(delta) : U(0) - U(delta);
    const U steps = (distance - 1) / step + 1;
    if (steps > static_cast<U>(INT64_MAX)) return invalid("Range has ", steps, " elements");
    return static_cast<int64_t>(steps);
  } else {
    // In the type itself, as TensorFlow: its rounding decides whether the last step counts.
    const T steps = std::ceil(std::abs((limit - start) / delta));
    if (!(steps < T(9e18)))
      return invalid("Requires ((limit - start) / delta) <= 9223372036854775807");
    return static_cast<int64_t>(steps);
  }
}

template <class T>
Result<Tensor> range(const Tensor& start, const Tensor& limit, const Tensor& delta,
                     CancelProbe probe) {
  using M = cpu::Math<T>;
  const M first = static_cast<M>(start.item<T>()), step = static_cast<M>(delta.item<T>());
  MR_ASSIGN(const int64_t size, range_size<M>(first, static_cast<M>(limit.item<T>()), step));
  MR_ASSIGN(Tensor output, Tensor::allocate(dtype_of<T>, {size}));
  const std::span<T> elements = output.mutable_flat<T>();
  M value = first;
  MR_TRY(probe.in_pieces(size, [&](int64_t begin, int64_t count) {
    for (int64_t i = begin; i < begin + count; ++i) {
      // Floats are not added up, which would gather rounding errors.
      if constexpr (std::is_floating_point_v<M>) value = first + static_cast<M>(i) * step;
      elements[i] = static_cast<T>(value);
      if constexpr (std::is_integral_v<M>) value = cpu::add(value, step);
    }
  }));
  return output;
}

Status check_scalars(const KernelContext& context) {
  for (int slot = 0; slot < context.num_inputs(); ++slot) {
    if (context.input(slot).num_elements() == 1) continue;
    return invalid("'", context.node_name(), "': input ", slot, " must be a scalar, not shape ",
                   context.input(slot).shape().to_string());
  }
  return {};
}

Result<Tensor> run_range(KernelContext& context, RangeLoop loop) {
  MR_TRY(check_scalars(context));
  return loop(context.input(0), context.input(1), context.input(2), CancelProbe(context));
}

Status infer_range(InferContext& context) {
  const Tensor* arguments[3];
  for (int slot = 0; slot < 3; ++slot) {
    MR_TRY(context.input_of_rank(slot, 0));
    arguments[slot] = context.constant(slot);
  }
  context.set_output(0, PartialShape::of_rank(1));
  if (arguments[0] == nullptr || arguments[1] == nullptr || arguments[2] == nullptr) return {};
  const DType dtype = arguments[0]->dtype();
  if (dtype != DType::i32 && dtype != DType::i64) return {};
  MR_ASSIGN(const int64_t start, read_integer(*arguments[0], "start"));
  MR_ASSIGN(const int64_t limit, read_integer(*arguments[1], "limit"));
  MR_ASSIGN(const int64_t delta, read_integer(*arguments[2], "delta"));
  MR_ASSIGN(const int64_t size, range_size<int64_t>(start, limit, delta));
  context.set_output(0, PartialShape{size});
  return {};
}

// --- LinSpace ---

using LinSpaceLoop = Status (*)(const Tensor& start, const Tensor& stop, Tensor& output,
                                CancelProbe probe);

template <class T>
Status lin_space(const Tensor& start, const Tensor& stop, Tensor& output, CancelProbe probe) {
  using M = cpu::Math<T>;
  const M first = static_cast<M>(start.item<T>()), last = static_cast<M>(stop.item<T>());
  const std::span<T> elements = output.mutable_flat<T>();
  const M step = elements.size() > 1 ? (last - first) / static_cast<M>(elements.size() - 1) : M(0);
  MR_TRY(probe.in_pieces(output.num_elements(), [&](int64_t begin, int64_t count) {
    for (int64_t i = begin; i < begin + count; ++i)
      elements[i] = static_cast<T>(first + step * static_cast<M>(i));
  }));
  if (elements.size() > 1) elements.back() = static_cast<T>(last);
  return {};
}

Result<Tensor> run_lin_space(KernelContext& context, LinSpaceLoop loop) {
  MR_TRY(check_scalars(context));
  MR_ASSIGN(const int64_t size, read_integer(context.input(2), "num"));
  if (size <= 0) return invalid("Requires num > 0: ", size);
  MR_ASSIGN(Tensor output, context.allocate(0, {size}));
  MR_TRY(loop(context.input(0), context.input(1), output, CancelProbe(context)));
  return output;
}

Status infer_lin_space(InferContext& context) {
  MR_ASSIGN(const auto size, constant_integers(context, 2, "num"));
  const bool is_known = size && size->size() == 1 && (*size)[0] > 0;
  context.set_output(0, is_known ? PartialShape{(*size)[0]} : PartialShape::of_rank(1));
  return {};
}

// --- OneHot ---

template <class AnyShape>
Result<std::vector<int64_t>> one_hot_dims(const AnyShape& indices, int64_t wanted, int64_t depth) {
  MR_ASSIGN(const int axis, resolve_axis(wanted, indices.rank() + 1, "OneHot's axis"));
  std::vector<int64_t> dims(indices.dims().begin(), indices.dims().end());
  dims.insert(dims.begin() + axis, depth);
  return dims;
}

// Blocks of `depth` x `inner` elements. Some are filled and then set, while the cache has them; an
// index that is out of range is off everywhere.
struct Hot {
  std::span<const int64_t> indices;
  int64_t depth, inner;
  const void *on, *off;
  void* to;

  int64_t block_size() const { return depth * inner; }
};
// Blocks [begin, end).
using HotLoop = void (*)(const Hot& hot, int64_t begin, int64_t end);

template <class T>
void hot_loop(const Hot& hot, int64_t begin, int64_t end) {
  const T on = *static_cast<const T*>(hot.on), off = *static_cast<const T*>(hot.off);
  const int64_t size = hot.block_size();
  T* to = static_cast<T*>(hot.to) + begin * size;
  cpu::fill_elements(to, (end - begin) * size, off);
  for (int64_t block = begin; block < end; ++block, to += size) {
    for (int64_t i = 0; i < hot.inner; ++i) {
      const int64_t index = hot.indices[static_cast<size_t>(block * hot.inner + i)];
      if (index >= 0 && index < hot.depth) to[index * hot.inner + i] = on;
    }
  }
}

Result<Tensor> one_hot(KernelContext& context, int64_t axis) {
  const Tensor& indices = context.input(0);
  MR_ASSIGN(const int64_t depth, read_integer(context.input(1), "depth"));
  if (depth < 0) return invalid("depth must be non-negative, got: ", depth);
  for (const int slot : {2, 3}) {
    if (context.input(slot).num_elements() != 1)
      return invalid("OneHot's on_value and off_value must be scalars");
  }
  MR_ASSIGN(const std::vector<int64_t> dims, one_hot_dims(indices.shape(), axis, depth));
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  MR_ASSIGN(const std::vector<int64_t> hot, read_elements(indices, "indices"));
  MR_ASSIGN(Tensor output, context.allocate(0, shape));
  if (shape.num_elements() == 0) return output;
  MR_ASSIGN(const int at, resolve_axis(axis, shape.rank(), "OneHot's axis"));
  const int64_t inner = row_major_strides(shape)[at];
  const Hot all{
      hot, depth, inner, context.input(2).data(), context.input(3).data(), output.mutable_data()};
  const auto loop =
      cpu::pick_storage<HotLoop>(output.dtype(), []<class T>() -> HotLoop { return &hot_loop<T>; });
  constexpr int64_t kFilled = 4096;  // elements
  const int64_t size = all.block_size(), step = std::max<int64_t>(1, kFilled / size);
  MR_TRY(share_range(context, indices.num_elements() / inner, size,
                     [&](int64_t begin, int64_t end, CancelProbe& probe) -> Status {
                       for (int64_t block = begin; block < end; block += step) {
                         loop(all, block, std::min(end, block + step));
                         if (!probe.go_on(step * size)) return probe.status();
                       }
                       return {};
                     }));
  return output;
}

Status infer_one_hot(InferContext& context) {
  if (!context.input(0).has_rank()) return {};
  MR_ASSIGN(const int64_t axis, context.attrs().integer("axis"));
  MR_ASSIGN(const auto depth, constant_integers(context, 1, "depth"));
  const bool is_known = depth && depth->size() == 1 && (*depth)[0] >= 0;
  MR_ASSIGN(const std::vector<int64_t> dims,
            one_hot_dims(context.input(0), axis, is_known ? (*depth)[0] : kUnknownDim));
  return context.set_output(0, PartialShape::create(dims));
}

Status register_sequences(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "Range",
      .doc = "start, start + delta, and so on, up to before limit.",
      .signature = "start: Tidx, limit: Tidx, delta: Tidx -> output: Tidx | Tidx: {bfloat16, half, "
                   "float, double, int8, int16, int32, int64, uint16, uint32} = int32",
      .infer = infer_range,
      .cpu = kernel_with(run_range,
                         cpu::loop_of_input<cpu::Real>([]<class T>() { return &range<T>; })),
      .not_differentiable = "TensorFlow gives it none",
      .examples = {"2, 9, 3 -> [2 5 8]", "5, 0, -2 -> [5 3 1] | Tidx = int32", "3, 3, 1 -> []"},
  }));
  return ops.add({
      .name = "LinSpace",
      .doc = "num values at even distances from start to stop.",
      .signature =
          "start: T, stop: T, num: Tidx -> output: T | T: floating, Tidx: {int32, int64} = int32",
      .infer = infer_lin_space,
      .cpu = kernel_with(run_lin_space, cpu::loop_of_input<cpu::Floating>(
                                            []<class T>() { return &lin_space<T>; })),
      .not_differentiable = "TensorFlow gives it none",
      .examples = {"1, 2, 3 -> [1 1.5 2]", "7, 9, 1 -> [7]"},
  });
}

}  // namespace

Status register_fills(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "Fill",
      .doc = "A tensor of shape dims with value everywhere.",
      .signature =
          "dims: index_type, value: T -> output: T | T: type, index_type: {int32, int64} = int32",
      .infer = [](InferContext& context) { return infer_shape_of(context, "dims"); },
      .cpu = kernel(fill),
      .grad = grad::fill,
      .examples = {"[2 3], 7 -> [[7 7 7] [7 7 7]]", "[], 7 -> 7"},
  }));
  MR_TRY(ops.add({
      .name = "ZerosLike",
      .doc = "Zeros (false, empty strings, lists of zeros) in the shape and type of x.",
      .signature = "x: T -> y: T | T: type",
      .infer = infer::same_as_input,
      .cpu = zeros_like(ops.variants()),
      .not_differentiable = "its result does not depend on values",
      .examples = {"[1 2] -> [0 0] | T = float"},
  }));
  MR_TRY(ops.add({
      .name = "OnesLike",
      .doc = "Ones (true) in the shape and type of x.",
      .signature = "x: T -> y: T | T: {bfloat16, half, float, double, int8, uint8, int16, uint16, "
                   "int32, uint32, int64, uint64, complex64, complex128, bool}",
      .infer = infer::same_as_input,
      .cpu = kernel_with(ones_like, cpu::loop_of_input<All>([]<class T>() { return &one_of<T>; })),
      .not_differentiable = "its result does not depend on values",
      .examples = {"[0 2] -> [1 1]"},
  }));
  MR_TRY(ops.add({
      .name = "OneHot",
      .doc = "on_value at each index along a new axis of size depth, off_value elsewhere.",
      .signature = "indices: TI, depth: int32, on_value: T, off_value: T -> output: T | "
                   "axis: int = -1, T: type, TI: {uint8, int8, int32, int64} = int64",
      .infer = infer_one_hot,
      .cpu = kernel_with(one_hot, integer("axis")),
      .not_differentiable = "TensorFlow gives its values no gradient",
      .examples = {"[1 0 7], 2, 5, 3 -> [[3 5] [5 3] [3 3]]",
                   "[1 0], 3, 1, 0 -> [[0 1] [1 0] [0 0]] | axis = 0, T = float"},
  }));
  return register_sequences(ops);
}

}  // namespace millrace
