// Part of families.h: register_uniques.
#include <cstring>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/array/families.h"
#include "millrace/ops/loops/along_axis.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/gather.h"

namespace millrace {
namespace {

// --- keys: bytes that are equal exactly if the elements are

// A float's bits without their sign: of which number they are NaN, and that zero has two signs, is
// all that tells its equality from that of its bytes.
struct FloatBits {
  uint64_t sign = 0, infinity = 0;
};

FloatBits float_bits(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return {uint64_t{1} << 15, 0x7c00};
    case DType::bf16:
      return {uint64_t{1} << 15, 0x7f80};
    case DType::f32:
    case DType::c64:
      return {uint64_t{1} << 31, 0x7f800000};
    case DType::f64:
    case DType::c128:
      return {uint64_t{1} << 63, 0x7ff0000000000000};
    default:
      return {};
  }
}

// Rows of a tensor along one axis, as keys to look up.
class RowKeys {
 public:
  RowKeys(const Tensor& tensor, const AlongAxis& along)
      : tensor_(tensor),
        along_(along),
        float_(float_bits(tensor.dtype())),
        size_(static_cast<int64_t>(dtype_size(tensor.dtype()))) {}

  // The key of a row; empty bytes of a row of no elements. A NaN in it makes it unlike any other.
  const std::string& key(int64_t row) {
    key_.clear();
    is_nan_ = false;
    for (int64_t outer = 0; outer < along_.outer; ++outer)
      append((outer * along_.length + row) * along_.inner, along_.inner);
    if (is_nan_) str_append(&key_, "NaN ", row);
    return key_;
  }
  // Whether the last one did.
  bool has_nan() const { return is_nan_; }

 private:
  void append(int64_t begin, int64_t count) {
    if (tensor_.dtype() == DType::string) return append_strings(begin, count);
    const char* bytes = static_cast<const char*>(tensor_.data()) + begin * size_;
    if (float_.sign == 0) {
      key_.append(bytes, static_cast<size_t>(count * size_));
      return;
    }
    const int64_t width = is_complex(tensor_.dtype()) ? size_ / 2 : size_;
    for (int64_t i = 0; i < count * size_; i += width) {
      uint64_t bits = 0;
      std::memcpy(&bits, bytes + i, static_cast<size_t>(width));
      if ((bits & ~float_.sign) > float_.infinity) is_nan_ = true;
      if (bits == float_.sign) bits = 0;
      key_.append(reinterpret_cast<const char*>(&bits), static_cast<size_t>(width));
    }
  }
  void append_strings(int64_t begin, int64_t count) {
    for (const std::string& text : tensor_.flat<std::string>().subspan(
             static_cast<size_t>(begin), static_cast<size_t>(count))) {
      const uint64_t length = text.size();
      key_.append(reinterpret_cast<const char*>(&length), sizeof length);
      key_.append(text);
    }
  }

  const Tensor& tensor_;
  const AlongAxis along_;
  const FloatBits float_;
  const int64_t size_;
  std::string key_;
  bool is_nan_ = false;
};

// --- Unique ---

Result<int> unique_axis(const Tensor& input, const Tensor* axis) {
  const int rank = input.shape().rank();
  if (axis != nullptr && axis->shape().rank() > 1)
    return invalid("axis expects a 0D or 1D tensor, got shape ", axis->shape().to_string());
  if (axis != nullptr && axis->num_elements() > 1) {
    return invalid("axis does not support input tensors larger than 1 elements, got shape ",
                   axis->shape().to_string());
  }
  if (axis == nullptr || axis->num_elements() == 0) {
    if (rank == 1) return 0;
    return invalid("unique expects a 1D vector, got shape ", input.shape().to_string());
  }
  MR_ASSIGN(const int64_t wanted, read_integer(*axis, "axis"));
  if (wanted >= -rank && wanted < rank)
    return static_cast<int>(wanted < 0 ? wanted + rank : wanted);
  return invalid("axis has to be between [0, ", rank, "), got ", wanted);
}

Status check_comparable(DType dtype) {
  if (dtype != DType::resource && dtype != DType::variant) return {};
  return unimplemented("elements of type ", dtype_name(dtype), " can't be compared");
}

// Which rows are the first of their kind, and for each row, which of those it is.
struct Kinds {
  std::vector<int64_t> first, of_row;
};

Result<Kinds> kinds_of(const Tensor& input, int axis, CancelProbe& probe) {
  MR_TRY(check_comparable(input.dtype()));
  const AlongAxis along(input.shape(), axis);
  RowKeys keys(input, along);
  absl::flat_hash_map<std::string, int64_t> known;
  // Rows of no elements may be as many as they like: refused before there is a number for each.
  MR_ASSIGN(const Tensor space, Tensor::allocate(DType::i64, {along.length}));
  Kinds kinds;
  kinds.of_row.reserve(static_cast<size_t>(along.length));
  for (int64_t row = 0; row < along.length; ++row) {
    const auto [at, is_new] =
        known.try_emplace(keys.key(row), static_cast<int64_t>(kinds.first.size()));
    if (is_new) kinds.first.push_back(row);
    kinds.of_row.push_back(at->second);
    if (!probe.go_on(along.outer * along.inner + 1)) return probe.status();
  }
  return kinds;
}

Status unique(KernelContext& context) {
  const Tensor input = context.input(0);
  MR_ASSIGN(const int axis,
            unique_axis(input, context.num_inputs() > 1 ? &context.input(1) : nullptr));
  CancelProbe probe(context);
  MR_ASSIGN(const Kinds kinds, kinds_of(input, axis, probe));
  const Tensor first = Tensor::vector<int64_t>(std::span<const int64_t>(kinds.first));
  MR_TRY(context.set_output(0, gather(context, input, first, axis, 0)));
  const auto length = static_cast<int64_t>(kinds.of_row.size());
  MR_TRY(context.set_output(1, integer_tensor(context.output_dtype(1), {length}, kinds.of_row)));
  if (context.num_outputs() == 2) return {};
  std::vector<int64_t> counts(kinds.first.size(), 0);
  for (const int64_t kind : kinds.of_row) ++counts[static_cast<size_t>(kind)];
  return context.set_output(
      2, integer_tensor(context.output_dtype(2), {static_cast<int64_t>(counts.size())}, counts));
}

Status infer_unique(InferContext& context) {
  const PartialShape& input = context.input(0);
  const PartialShape one = PartialShape::of_rank(1);
  for (int slot = 1; slot < context.num_outputs(); ++slot) context.set_output(slot, one);
  if (context.num_inputs() == 1) {
    MR_ASSIGN(const PartialShape vector, context.input_of_rank(0, 1));
    context.set_output(0, one);
    context.set_output(1, vector);
    return {};
  }
  MR_ASSIGN(const auto axis, constant_integers(context, 1, "axis"));
  if (!input.has_rank() || !axis || axis->size() > 1) return {};
  const int64_t wanted = axis->empty() ? 0 : axis->front();
  MR_ASSIGN(const int at, resolve_axis(wanted, input.rank(), "axis"));
  std::vector<int64_t> dims(input.dims().begin(), input.dims().end());
  context.set_output(1, PartialShape{dims[static_cast<size_t>(at)]});
  dims[static_cast<size_t>(at)] = kUnknownDim;
  return context.set_output(0, PartialShape::create(dims));
}

// --- ListDiff ---

Status list_diff(KernelContext& context) {
  const Tensor x = context.input(0);
  const Tensor y = context.input(1);
  for (const Tensor* each : {&x, &y}) {
    if (each->shape().rank() == 1) continue;
    return invalid(each == &x ? "x" : "y", " should be a 1D vector, got shape ",
                   each->shape().to_string());
  }
  MR_TRY(check_comparable(x.dtype()));
  CancelProbe probe(context);
  absl::flat_hash_set<std::string> known;
  RowKeys in_y(y, AlongAxis(y.shape(), 0));
  for (int64_t i = 0; i < y.num_elements(); ++i) {
    known.insert(in_y.key(i));
    if (!probe.go_on(1)) return probe.status();
  }
  // A NaN is in no list.
  RowKeys in_x(x, AlongAxis(x.shape(), 0));
  std::vector<int64_t> others;
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const std::string& key = in_x.key(i);
    if (in_x.has_nan() || !known.contains(key)) others.push_back(i);
    if (!probe.go_on(1)) return probe.status();
  }
  const Tensor rows = Tensor::vector<int64_t>(std::span<const int64_t>(others));
  MR_TRY(context.set_output(0, gather(context, x, rows, 0, 0)));
  return context.set_output(
      1, integer_tensor(context.output_dtype(1), {static_cast<int64_t>(others.size())}, others));
}

Status infer_list_diff(InferContext& context) {
  MR_TRY(context.input_of_rank(0, 1));
  MR_TRY(context.input_of_rank(1, 1));
  context.set_output(0, PartialShape::of_rank(1));
  context.set_output(1, PartialShape::of_rank(1));
  return {};
}

constexpr const char* kChosen = "which elements it gives is decided by comparing them";

Status add_unique(OpRegistry& ops, std::string name, bool has_axis, bool has_counts,
                  std::vector<std::string> examples) {
  return ops.add({
      .name = std::move(name),
      .doc = str_cat(has_axis ? "The slices along axis" : "The elements of a vector",
                     ", each once, in the order in which they come first; and for each one of x "
                     "which of them it is",
                     has_counts ? ", and how often each of them comes." : "."),
      .signature = str_cat("x: T", has_axis ? ", axis: Taxis" : "", " -> y: T, idx: out_idx",
                           has_counts ? ", count: out_idx" : "", " | T: type, ",
                           has_axis ? "Taxis: {int32, int64} = int64, " : "",
                           "out_idx: {int32, int64} = int32"),
      .infer = infer_unique,
      .cpu = kernel(unique),
      .not_differentiable = kChosen,
      .examples = std::move(examples),
  });
}

}  // namespace

Status register_uniques(OpRegistry& ops) {
  MR_TRY(add_unique(ops, "Unique", false, false,
                    {"[1 1 0 1 0 1] -> [1 0], [0 0 1 0 1 0]", "[] -> [], []",
                     "[nan nan 1 1] -> [nan nan 1], [0 1 2 2] | T = float"}));
  MR_TRY(add_unique(ops, "UniqueWithCounts", false, true,
                    {"[1 1 0 1 0 1] -> [1 0], [0 0 1 0 1 0], [4 2]"}));
  MR_TRY(add_unique(ops, "UniqueV2", true, false,
                    {"[[1 0 0] [1 0 0] [1 1 0]], [0] -> [[1 0 0] [1 1 0]], [0 0 1]",
                     "[[1 0 0] [1 0 0] [1 1 0]], [1] -> [[1 0 0] [1 0 0] [1 1 0]], [0 1 2]",
                     "[1 1 0], [] -> [1 0], [0 0 1]"}));
  MR_TRY(add_unique(ops, "UniqueWithCountsV2", true, true,
                    {"[[1 0] [1 0] [1 1]], [0] -> [[1 0] [1 1]], [0 0 1], [2 1]"}));
  return ops.add({
      .name = "ListDiff",
      .doc = "The elements of x that are not in y, in their order, and where they are.",
      .signature = "x: T, y: T -> out: T, idx: out_idx | T: type, out_idx: {int32, int64} = int32",
      .infer = infer_list_diff,
      .cpu = kernel(list_diff),
      .not_differentiable = kChosen,
      .examples = {"[1 0 1], [0] -> [1 1], [0 2]"},
  });
}

}  // namespace millrace
