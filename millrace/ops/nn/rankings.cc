// Part of families.h: register_rankings.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/loops/share_work.h"
#include "millrace/ops/nn/families.h"
#include "millrace/ops/nn/gradients.h"

namespace millrace {
namespace {

// --- keys: integers in the order of the elements, so that ranking is the same code for all types

using Keys = void (*)(const void* in, int64_t n, uint64_t* keys);

// NaN comes after everything, and zeros of both signs are one.
template <class T>
uint64_t key_of(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    constexpr uint64_t kSign = uint64_t{1} << 63;
    if (std::isnan(x)) return ~uint64_t{0};
    const auto bits = std::bit_cast<uint64_t>(x == 0 ? 0.0 : static_cast<double>(x));
    return (bits & kSign) != 0 ? ~bits : bits | kSign;
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<uint64_t>(static_cast<int64_t>(x)) ^ (uint64_t{1} << 63);
  } else {
    return x;
  }
}

template <class T>
void write_keys(const void* in, int64_t n, uint64_t* keys) {
  const T* x = static_cast<const T*>(in);
  for (int64_t i = 0; i < n; ++i) keys[i] = key_of(static_cast<cpu::Math<T>>(x[i]));
}

struct Ranked {
  uint64_t key;
  int64_t place;
  // Of equal elements the first is the larger one.
  friend bool operator<(const Ranked& a, const Ranked& b) {
    return a.key != b.key ? a.key > b.key : a.place < b.place;
  }
};

// The k largest of what it was offered. Keeps up to twice as many and drops the smaller half when
// it is full, so that each element costs the same however large k is.
class Largest {
 public:
  explicit Largest(int64_t k) : k_(static_cast<size_t>(k)), most_(2 * k_ + kSome) {}

  void clear() {
    kept_.clear();
    has_limit_ = false;
  }
  // Elements in the order of their places.
  void offer(uint64_t key, int64_t place) {
    if (has_limit_ && key <= limit_) return;
    kept_.push_back({key, place});
    if (kept_.size() == most_) shrink();
  }
  // In order, the largest first. Requires that k were offered.
  std::span<const Ranked> sorted() {
    if (kept_.size() > k_) shrink();
    std::sort(kept_.begin(), kept_.end());
    return kept_;
  }

 private:
  static constexpr size_t kSome = 64;

  void shrink() {
    std::nth_element(kept_.begin(), kept_.begin() + static_cast<int64_t>(k_) - 1, kept_.end());
    kept_.resize(k_);
    limit_ = kept_.back().key;
    has_limit_ = true;
  }

  const size_t k_, most_;
  std::vector<Ranked> kept_;
  uint64_t limit_ = 0;  // what is not larger is none of them
  bool has_limit_ = false;
};

// --- TopK ---

template <class T>
void write_places_as(std::span<const Ranked> ranked, void* out) {
  T* to = static_cast<T*>(out);
  for (const Ranked& one : ranked) *to++ = static_cast<T>(one.place);
}

int64_t largest_place(DType dtype) {
  return dtype == DType::i16   ? std::numeric_limits<int16_t>::max()
         : dtype == DType::i32 ? std::numeric_limits<int32_t>::max()
                               : std::numeric_limits<int64_t>::max();
}

void write_places(std::span<const Ranked> ranked, DType dtype, void* out) {
  if (dtype == DType::i16) return write_places_as<int16_t>(ranked, out);
  if (dtype == DType::i32) return write_places_as<int32_t>(ranked, out);
  write_places_as<int64_t>(ranked, out);
}

// What ranking costs for each element, in elementary steps.
constexpr int64_t kRankCost = 4;

// Rows of `columns` elements, `size` bytes each.
struct RowsOf {
  const char* data;
  int64_t rows, columns, size;
};

// Rows [first, last) of it.
Status rank_rows(const RowsOf& in, int64_t k, Keys write, Tensor& values, Tensor& places,
                 int64_t first, int64_t last, CancelProbe& probe) {
  constexpr int64_t kChunk = 1024;
  uint64_t keys[kChunk];
  Largest largest(k);
  const auto place_size = static_cast<int64_t>(dtype_size(places.dtype()));
  char* value = static_cast<char*>(values.mutable_data()) + first * k * in.size;
  char* place = static_cast<char*>(places.mutable_data()) + first * k * place_size;
  const char* row = in.data + first * in.columns * in.size;
  for (int64_t i = first; i < last; ++i, row += in.columns * in.size) {
    largest.clear();
    for (int64_t begin = 0; begin < in.columns; begin += kChunk) {
      const int64_t count = std::min(kChunk, in.columns - begin);
      write(row + begin * in.size, count, keys);
      for (int64_t j = 0; j < count; ++j) largest.offer(keys[j], begin + j);
      if (!probe.go_on(count)) return probe.status();
    }
    const std::span<const Ranked> ranked = largest.sorted();
    for (const Ranked& one : ranked) {
      std::memcpy(value, row + one.place * in.size, static_cast<size_t>(in.size));
      value += in.size;
    }
    write_places(ranked, places.dtype(), place);
    place += k * place_size;
  }
  return {};
}

Status top_k(KernelContext& context, Keys keys, int64_t k) {
  const Tensor& input = context.input(0);
  const Shape& shape = input.shape();
  if (k < 0) return invalid("Need k >= 0, got ", k);
  if (shape.rank() < 1) return invalid("input must be >= 1-D, got shape ", shape.to_string());
  const int64_t columns = shape.dim(shape.rank() - 1);
  if (columns < k)
    return invalid("input must have at least k columns. Had ", columns, ", needed ", k);
  const DType place_type = context.output_dtype(1);
  if (columns - 1 > largest_place(place_type)) {
    return invalid("input has ", columns, " columns, more than indices of type ",
                   dtype_name(place_type), " can count");
  }
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims.back() = k;
  MR_ASSIGN(const Shape out_shape, Shape::create(dims));
  MR_ASSIGN(Tensor values, context.allocate(0, out_shape));
  MR_ASSIGN(Tensor places, context.allocate(1, out_shape));
  if (out_shape.num_elements() > 0) {
    const RowsOf rows{static_cast<const char*>(input.data()), input.num_elements() / columns,
                      columns, static_cast<int64_t>(dtype_size(input.dtype()))};
    MR_TRY(share_range(context, rows.rows, columns * kRankCost,
                       [&](int64_t first, int64_t last, CancelProbe& probe) {
                         return rank_rows(rows, k, keys, values, places, first, last, probe);
                       }));
  }
  context.set_output(0, std::move(values));
  context.set_output(1, std::move(places));
  return {};
}

Status top_k_v2(KernelContext& context, Keys keys) {
  const Tensor& k = context.input(1);
  if (k.shape().rank() != 0) return invalid("k must be scalar, got shape ", k.shape().to_string());
  MR_ASSIGN(const int64_t wanted, read_integer(k, "k"));
  return top_k(context, keys, wanted);
}

Status infer_top(InferContext& context, int64_t k) {
  const PartialShape& input = context.input(0);
  if (!input.has_rank()) return {};
  const int axis = input.rank() - 1;
  if (axis < 0) return invalid("input must be >= 1-D, got shape []");
  if (k != kUnknownDim && input.dim(axis) != kUnknownDim && input.dim(axis) < k) {
    return invalid("input must have last dimension >= k = ", k, " but is ", input.dim(axis));
  }
  std::vector<int64_t> dims(input.dims().begin(), input.dims().end());
  dims.back() = k;
  MR_ASSIGN(const PartialShape top, PartialShape::create(dims));
  context.set_output(0, top);
  context.set_output(1, top);
  return {};
}

Status infer_top_k(InferContext& context) {
  MR_ASSIGN(const int64_t k, context.attrs().integer("k"));
  return infer_top(context, k);
}

Status infer_top_k_v2(InferContext& context) {
  MR_TRY(context.input_of_rank(1, 0));
  MR_ASSIGN(const auto k, constant_integers(context, 1, "k"));
  if (!k) return infer_top(context, kUnknownDim);
  if (k->front() < 0) {
    return invalid("Dimension size, given by scalar input 1, must be non-negative but is ",
                   k->front());
  }
  return infer_top(context, k->front());
}

// --- InTopK ---

// Whether fewer than k of the row are larger than its target. What is not finite can't be ranked.
bool is_in_top(const float* row, int64_t classes, int64_t target, int64_t k) {
  if (target < 0 || target >= classes || !std::isfinite(row[target])) return false;
  int64_t larger = 0;
  for (int64_t i = 0; i < classes; ++i) {
    if (!std::isfinite(row[i])) return false;
    if (row[i] > row[target] && ++larger > k) break;
  }
  return larger < k;
}

Result<Tensor> in_top(KernelContext& context, int64_t k) {
  const Shape& predictions = context.input(0).shape();
  const Shape& targets = context.input(1).shape();
  if (predictions.rank() != 2) return invalid("predictions must be 2-dimensional");
  if (targets.rank() != 1) return invalid("targets must be 1-dimensional");
  if (predictions.dim(0) != targets.dim(0)) {
    return invalid("First dimension of predictions ", predictions.dim(0),
                   " must match length of targets ", targets.dim(0));
  }
  MR_ASSIGN(const std::vector<int64_t> wanted, read_integers(context.input(1), "targets"));
  MR_ASSIGN(Tensor out, context.allocate(0, targets));
  CancelProbe probe(context);
  const float* row = context.input(0).flat<float>().data();
  bool* to = out.mutable_flat<bool>().data();
  for (const int64_t target : wanted) {
    *to++ = is_in_top(row, predictions.dim(1), target, k);
    row += predictions.dim(1);
    if (!probe.go_on(predictions.dim(1))) return probe.status();
  }
  return out;
}

Result<Tensor> in_top_v2(KernelContext& context) {
  const Tensor& k = context.input(2);
  if (k.shape().rank() != 0) return invalid("k must be 0-D, got shape ", k.shape().to_string());
  MR_ASSIGN(const int64_t wanted, read_integer(k, "k"));
  return in_top(context, wanted);
}

Status infer_in_top(InferContext& context) {
  MR_ASSIGN(const PartialShape predictions, context.input_of_rank(0, 2));
  MR_ASSIGN(const PartialShape targets, context.input_of_rank(1, 1));
  if (context.num_inputs() > 2) MR_TRY(context.input_of_rank(2, 0));
  return context.set_output(0, targets.merge(PartialShape{predictions.dim(0)}));
}

// --- NthElement ---

Result<int64_t> wanted_rank(KernelContext& context) {
  const Tensor &input = context.input(0), &n = context.input(1);
  if (!n.shape().is_scalar()) return invalid("N must be scalar but has rank ", n.shape().rank());
  MR_ASSIGN(const int64_t wanted, read_integer(n, "n"));
  if (wanted < 0) return invalid("n must be non-negative but is ", wanted);
  if (input.shape().rank() < 1)
    return invalid("Input must be at least rank 1 but is rank ", input.shape().rank());
  if (input.shape().dim(input.shape().rank() - 1) <= wanted)
    return invalid("Input must have last dimension > n = ", wanted);
  return wanted;
}

Result<Tensor> nth_element(KernelContext& context, Keys keys, bool reverse) {
  MR_ASSIGN(int64_t wanted, wanted_rank(context));
  const Tensor& input = context.input(0);
  const auto dims = input.shape().dims();
  const int64_t length = dims.back();
  MR_ASSIGN(const Shape shape, Shape::create(dims.first(dims.size() - 1)));
  MR_ASSIGN(Tensor out, context.allocate(0, shape));
  if (out.num_elements() == 0) return out;     // rows that are not there may be of any length
  if (!reverse) wanted = length - 1 - wanted;  // ranks begin with the largest
  const size_t bytes = dtype_size(input.dtype());
  const char* from = static_cast<const char*>(input.data());
  char* to = static_cast<char*>(out.mutable_data());
  std::vector<uint64_t> row(static_cast<size_t>(length));
  std::vector<Ranked> ranked(row.size());
  CancelProbe probe(context);
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    keys(from, length, row.data());
    for (size_t at = 0; at < row.size(); ++at) ranked[at] = {row[at], static_cast<int64_t>(at)};
    std::nth_element(ranked.begin(), ranked.begin() + wanted, ranked.end());
    const auto place = static_cast<size_t>(ranked[static_cast<size_t>(wanted)].place);
    std::memcpy(to, from + place * bytes, bytes);
    from += row.size() * bytes;
    to += bytes;
    if (!probe.go_on(length)) return probe.status();
  }
  return out;
}

Status infer_nth_element(InferContext& context) {
  MR_TRY(context.input_of_rank(1, 0));
  const PartialShape& input = context.input(0);
  if (!input.has_rank()) return {};
  if (input.rank() < 1) return invalid("Input must be at least rank 1 but is rank 0");
  MR_ASSIGN(const auto wanted, constant_integers(context, 1, "n"));
  const int64_t length = input.dim(input.rank() - 1);
  if (wanted && length != kUnknownDim && length <= wanted->front())
    return invalid("Input must have last dimension > n = ", wanted->front(), " but is ", length);
  return context.set_output(
      0, PartialShape::create(input.dims().first(static_cast<size_t>(input.rank() - 1))));
}

// Elements that are equal to the one that was picked share what arrives.
Status nth_element_gradient(GradContext& g) {
  const Endpoint last = g.scalar(DType::i32, -1);
  const Endpoint picked = g.add("ExpandDims", {g.output(0), last});
  const Endpoint is_picked =
      g.add("Cast", {g.add("Equal", {picked, g.input(0)})}, {{"DstT", g.dtype(g.input(0))}});
  const Endpoint number = g.add("ExpandDims", {g.add("Sum", {is_picked, last}), last});
  const Endpoint arriving = g.add("ExpandDims", {g.grad(), last});
  const Endpoint share = g.add("RealDiv", {is_picked, number});
  g.set_input_grad(0, g.add("Mul", {share, arriving}));
  return {};
}

}  // namespace

Status register_rankings(OpRegistry& ops) {
  const auto keys = cpu::loop_of_input<cpu::Real>([]<class T>() { return &write_keys<T>; });
  MR_TRY(ops.add({
      .name = "TopK",
      .doc = "The k largest elements of each row, the largest first, and where they are; of equal "
             "ones the first comes first, and NaN before all. They are sorted either way.",
      .signature = "input: T -> values: T, indices: int32 | k: int >= 0, sorted: bool = true, "
                   "T: real",
      .infer = infer_top_k,
      .cpu = kernel_with(top_k, keys, integer("k")),
      .grad = grad::top,
      .examples = {"[3 9 4 9] -> [9 9 4], [1 3 2] | k = 3"},
  }));
  MR_TRY(ops.add({
      .name = "TopKV2",
      .doc = "The k largest elements of each row, the largest first, and where they are; of equal "
             "ones the first comes first, and NaN before all. They are sorted either way.",
      .signature = "input: T, k: Tk -> values: T, indices: index_type | sorted: bool = true, "
                   "T: real, Tk: {int16, int32, int64} = int32, "
                   "index_type: {int16, int32, int64} = int32",
      .infer = infer_top_k_v2,
      .cpu = kernel_with(top_k_v2, keys),
      .grad = grad::top,
      .examples = {"[3 9 4 9], 3 -> [9 9 4], [1 3 2]", "[[1 2] [4 3]], 1 -> [[2] [4]], [[1] [0]]",
                   "[1 2], 0 -> [], []"},
  }));
  MR_TRY(ops.add({
      .name = "InTopK",
      .doc = "Whether each row's target is among the k largest of its predictions.",
      .signature = "predictions: float, targets: T -> precision: bool | k: int, "
                   "T: {int32, int64} = int32",
      .infer = infer_in_top,
      .cpu = kernel_with(in_top, integer("k")),
      .not_differentiable = "its result is true or false",
      .examples = {"[[1 2 3] [3 2 1] [1 inf 0] [1 1 1]], [1 2 0 5] -> [true false false false] | "
                   "k = 2"},
  }));
  MR_TRY(ops.add({
      .name = "NthElement",
      .doc = "The element of each row that n are less than, or more than if reverse; NaN is the "
             "largest.",
      .signature = "input: T, n: int32 -> values: T | reverse: bool = false, T: real",
      .infer = infer_nth_element,
      .cpu = kernel_with(nth_element, keys, boolean("reverse")),
      .grad = nth_element_gradient,
      .examples = {"[[3 1 2] [6 5 4]], 1 -> [2 5]",
                   "[[3 1 2] [6 5 4]], 0 -> [3 6] | reverse = true", "[7 7 1], 1 -> 7"},
  }));
  return ops.add({
      .name = "InTopKV2",
      .doc = "Whether each row's target is among the k largest of its predictions.",
      .signature = "predictions: float, targets: T, k: T -> precision: bool | "
                   "T: {int32, int64} = int32",
      .infer = infer_in_top,
      .cpu = kernel(in_top_v2),
      .not_differentiable = "its result is true or false",
      .examples = {"[[1 2 3] [3 2 1]], [1 2], 2 -> [true false]"},
  });
}

}  // namespace millrace
