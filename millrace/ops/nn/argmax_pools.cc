// Part of families.h: register_argmax_pools.
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/nn/families.h"
#include "millrace/ops/nn/gradients.h"
#include "millrace/ops/nn/largest.h"

namespace millrace {
namespace {

enum class Counting : uint8_t { within_image, within_batch };

struct BoundCounting {
  Result<Counting> read(const KernelSpec& spec) const {
    MR_ASSIGN(const bool batch, spec.attrs.boolean("include_batch_in_index"));
    return batch ? Counting::within_batch : Counting::within_image;
  }
};

// --- MaxPoolWithArgmax ---

// `places` are the elements' numbers in the batch; -1 for an empty window.
using FindLoop = Status (*)(KernelContext& context, const PoolShape& pool, const Tensor& images,
                            Tensor& values, int64_t* places);

template <class T>
Status find_largest(KernelContext& context, const PoolShape& pool, const Tensor& images,
                    Tensor& values, int64_t* places) {
  T* const to = values.mutable_flat<T>().data();
  return each_found<T>(context, pool, images, [&](const Found<T>& found) {
    found.each([&](int64_t output, int64_t at, const T& value) {
      to[output] = at < 0 ? T() : value;
      places[output] = at;
    });
  });
}

Status max_pool_with_argmax(KernelContext& context, FindLoop find, const Windows& windows,
                            Counting counting) {
  const Tensor& images = context.input(0);
  MR_ASSIGN(const PoolShape pool, pool_of(windows, images.shape()));
  MR_ASSIGN(const Shape shape, pooled_shape(windows, pool));
  MR_ASSIGN(Tensor values, context.allocate(0, shape));
  MR_ASSIGN(Tensor places, Tensor::allocate(DType::i64, shape));
  int64_t* const at = places.mutable_flat<int64_t>().data();
  MR_TRY(find(context, pool, images, values, at));
  if (counting == Counting::within_image && pool.image_elements() > 0) {
    for (int64_t i = 0; i < places.num_elements(); ++i) at[i] %= pool.image_elements();
  }
  context.set_output(0, std::move(values));
  if (context.output_dtype(1) == DType::i64) {
    context.set_output(1, std::move(places));
    return {};
  }
  return context.set_output(1,
                            integer_tensor(context.output_dtype(1), shape, places.flat<int64_t>()));
}

Status infer_with_argmax(InferContext& context) {
  MR_ASSIGN(const PartialShape shape, pooled(context, 0));
  context.set_output(0, shape);
  context.set_output(1, shape);
  return {};
}

// --- gradients ---

// What moves between `outputs` and `images` of elements that `places` name, in one of the ways.
using PlacesLoop = Status (*)(const Tensor& from, std::span<const int64_t> places,
                              int64_t per_image, int64_t images, Tensor& to, CancelProbe& probe);

// The element that output `i` names; `images` > 0 if it is counted within an image of the batch.
Result<int64_t> named(std::span<const int64_t> places, int64_t i, int64_t per_image, int64_t images,
                      int64_t elements) {
  int64_t at = places[static_cast<size_t>(i)];
  const int64_t limit = images > 0 ? per_image : elements;
  if (at >= 0 && at < limit) {
    if (images > 0) at += i / (static_cast<int64_t>(places.size()) / images) * per_image;
    return at;
  }
  return invalid("argmax has ", at, " at place ", i, ", which is outside of [0, ", limit, ")");
}

template <class T>
Status scatter_named(const Tensor& from, std::span<const int64_t> places, int64_t per_image,
                     int64_t images, Tensor& to, CancelProbe& probe) {
  const T* x = from.flat<T>().data();
  T* y = to.mutable_flat<T>().data();
  for (int64_t i = 0; i < static_cast<int64_t>(places.size()); ++i) {
    MR_ASSIGN(const int64_t at, named(places, i, per_image, images, to.num_elements()));
    add_to(y[at], x[i]);
    if (!probe.go_on(1)) return probe.status();
  }
  return {};
}

template <class T>
Status gather_named(const Tensor& from, std::span<const int64_t> places, int64_t per_image,
                    int64_t images, Tensor& to, CancelProbe& probe) {
  const T* x = from.flat<T>().data();
  T* y = to.mutable_flat<T>().data();
  for (int64_t i = 0; i < static_cast<int64_t>(places.size()); ++i) {
    MR_ASSIGN(const int64_t at, named(places, i, per_image, images, from.num_elements()));
    y[i] = x[at];
    if (!probe.go_on(1)) return probe.status();
  }
  return {};
}

Status check_shape(const Shape& shape, const Shape& expected, std::string_view what) {
  if (shape == expected) return {};
  return invalid("Expected ", what, " shape to be ", expected.to_string(), ", but got ",
                 shape.to_string());
}

Status move_named(KernelContext& context, PlacesLoop loop, const Windows& windows,
                  Counting counting, bool to_images) {
  const Shape& images = context.input(0).shape();
  const Tensor& moved = context.input(1);
  MR_ASSIGN(const PoolShape pool, pool_of(windows, images));
  MR_TRY(check_pooled(windows, pool, context.input(2).shape(), "argmax"));
  const Shape& outputs = context.input(2).shape();
  MR_TRY(check_shape(moved.shape(), to_images ? outputs : images, "grad"));
  MR_ASSIGN(const std::vector<int64_t> places, read_elements(context.input(2), "argmax"));
  MR_ASSIGN(Tensor made, Tensor::zeros(moved.dtype(), to_images ? images : outputs));
  CancelProbe probe(context);
  if (!places.empty()) {
    MR_TRY(loop(moved, places, pool.image_elements(),
                counting == Counting::within_image ? pool.batch : 0, made, probe));
  }
  context.set_output(0, std::move(made));
  return {};
}

Status infer_like(InferContext& context, int slot) {
  MR_TRY(Windows::of(context.attrs()));
  MR_ASSIGN(PartialShape shape, context.input_of_rank(slot, 4));
  context.set_output(0, std::move(shape));
  return {};
}

}  // namespace

Status register_argmax_pools(OpRegistry& ops) {
  constexpr std::string_view kWindows =
      "ksize: list(int) >= 4, strides: list(int) >= 4, padding: {'SAME', 'VALID'}, "
      "include_batch_in_index: bool = false, T: real, ";
  const std::string windows = " | ksize = {1, 2, 2, 1}, strides = {1, 1, 1, 1}, padding = 'VALID'";
  const std::string images = "[[[[1] [2] [5]] [[3] [4] [0]] [[8] [7] [6]]]]";
  const std::string places = "[[[[4] [2]] [[6] [7]]]]";
  MR_TRY(ops.add({
      .name = "MaxPoolWithArgmax",
      .doc = "The largest of each window, and the number of that element in its image, or in the "
             "batch if include_batch_in_index.",
      .signature = str_cat("input: T -> output: T, argmax: Targmax | ", kWindows,
                           "Targmax: {int32, int64} = int64"),
      .infer = infer_with_argmax,
      .cpu = kernel_with(max_pool_with_argmax,
                         cpu::loop_of_input<cpu::Real>([]<class T>() { return &find_largest<T>; }),
                         BoundWindows{}, BoundCounting{}),
      .grad = grad::max_pool_with_argmax,
      .cost = Cost::heavy,
      .examples = {str_cat(images, " -> [[[[4] [5]] [[8] [7]]]], ", places, windows),
                   "[[[[1 8] [7 2]]] [[[3 6] [5 4]]]] -> [[[[7 8]]] [[[5 6]]]], [[[[2 1]]] [[[6 "
                   "5]]]] | ksize = {1, 1, 2, 1}, strides = {1, 1, 1, 1}, padding = 'VALID', "
                   "include_batch_in_index = true"},
  }));
  MR_TRY(ops.add({
      .name = "MaxPoolGradWithArgmax",
      .doc = "The gradient of MaxPoolWithArgmax: grad goes to the elements that argmax names.",
      .signature = str_cat("input: T, grad: T, argmax: Targmax -> output: T | ", kWindows,
                           "Targmax: {int32, int64}"),
      .infer = [](InferContext& context) { return infer_like(context, 0); },
      .cpu = kernel_with(
          [](KernelContext& context, PlacesLoop loop, const Windows& said, Counting counting) {
            return move_named(context, loop, said, counting, true);
          },
          cpu::loop_of_input<cpu::Real>([]<class T>() { return &scatter_named<T>; }),
          BoundWindows{}, BoundCounting{}),
      .grad = grad::max_pool_grad_with_argmax,
      .cost = Cost::heavy,
      .examples = {str_cat(images, ", [[[[1] [2]] [[3] [4]]]], ", places,
                           " -> [[[[0] [0] [2]] [[0] [1] [0]] [[3] [4] [0]]]]", windows)},
  }));
  return ops.add({
      .name = "MaxPoolGradGradWithArgmax",
      .doc = "The gradient of MaxPoolGradWithArgmax by its grad: the elements that argmax names.",
      .signature = str_cat("input: T, grad: T, argmax: Targmax -> output: T | ", kWindows,
                           "Targmax: {int32, int64}"),
      .infer = [](InferContext& context) { return infer_like(context, 2); },
      .cpu = kernel_with(
          [](KernelContext& context, PlacesLoop loop, const Windows& said, Counting counting) {
            return move_named(context, loop, said, counting, false);
          },
          cpu::loop_of_input<cpu::Real>([]<class T>() { return &gather_named<T>; }), BoundWindows{},
          BoundCounting{}),
      .grad = grad::max_pool_grad_grad_with_argmax,
      .cost = Cost::heavy,
      .examples = {str_cat(images, ", [[[[1] [2] [3]] [[4] [5] [6]] [[7] [8] [9]]]], ", places,
                           " -> [[[[5] [3]] [[7] [8]]]]", windows)},
  });
}

}  // namespace millrace
