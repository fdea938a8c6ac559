// Part of families.h: register_sets.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "absl/strings/ascii.h"

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/sparse/families.h"
#include "millrace/ops/sparse/pieces.h"

namespace millrace {
namespace {

// The sets of a tensor, each an innermost row; by the place of the row among all of them.
template <class T>
struct SetsOf {
  Shape places;
  std::map<int64_t, std::set<T>> sets;  // those that may have something
};

enum class SetOperation : uint8_t { a_minus_b, b_minus_a, intersection, set_union };

struct BoundSetOperation {
  Result<SetOperation> read(const KernelSpec& spec) const {
    MR_ASSIGN(const std::string said, spec.attrs.string("set_operation"));
    const std::string name = absl::AsciiStrToLower(said);
    if (name == "a-b") return SetOperation::a_minus_b;
    if (name == "b-a") return SetOperation::b_minus_a;
    if (name == "intersection") return SetOperation::intersection;
    if (name == "union") return SetOperation::set_union;
    return invalid("Invalid set_operation ", said, ".");
  }
};

Result<Shape> places_of_rows(std::span<const int64_t> dims) {
  if (dims.size() < 2)
    return invalid("sets are the rows of a tensor of rank 2 or more; this one has rank ",
                   dims.size());
  return Shape::create(dims.first(dims.size() - 1));
}

template <class T>
Result<SetsOf<T>> dense_sets(const Tensor& tensor, CancelProbe& probe) {
  SetsOf<T> made;
  MR_ASSIGN(made.places, places_of_rows(tensor.shape().dims()));
  const auto length = static_cast<size_t>(tensor.shape().dim(tensor.shape().rank() - 1));
  const auto all = tensor.flat<T>();
  if (length == 0) return made;
  for (int64_t row = 0; row < made.places.num_elements(); ++row) {
    const auto elements = all.subspan(static_cast<size_t>(row) * length, length);
    made.sets.emplace(row, std::set<T>(elements.begin(), elements.end()));
    if (!probe.go_on(static_cast<int64_t>(length))) return probe.status();
  }
  return made;
}

enum class Order : uint8_t { checked, any };

template <class T>
Result<SetsOf<T>> sparse_sets(const KernelContext& context, int slot, Order order,
                              CancelProbe& probe) {
  const Shape& said = context.input(slot + 2).shape();
  if (said.rank() != 1)
    return invalid("Shape must be a 1D tensor, not of shape ", said.to_string());
  MR_ASSIGN(const SparseInput in, read_sparse(context, slot, Places::anywhere));
  MR_TRY(check_inside(in).with("Index out of range"));
  if (order == Order::checked) MR_TRY(check_strictly_ordered(in));
  SetsOf<T> made;
  MR_ASSIGN(made.places, places_of_rows(in.dims));
  const auto all = in.values.flat<T>();
  for (int64_t i = 0; i < in.number; ++i) {
    int64_t at = 0;
    for (int axis = 0; axis < made.places.rank(); ++axis)
      at = at * made.places.dim(axis) + in.place(i)[static_cast<size_t>(axis)];
    made.sets[at].insert(all[static_cast<size_t>(i)]);
    if (!probe.go_on(1)) return probe.status();
  }
  return made;
}

template <class T>
void combine_sets(const std::set<T>& a, const std::set<T>& b, SetOperation operation,
                  std::vector<T>& out) {
  const auto to = std::back_inserter(out);
  switch (operation) {
    case SetOperation::a_minus_b:
      std::ranges::set_difference(a, b, to);
      return;
    case SetOperation::b_minus_a:
      std::ranges::set_difference(b, a, to);
      return;
    case SetOperation::intersection:
      std::ranges::set_intersection(a, b, to);
      return;
    case SetOperation::set_union:
      std::ranges::set_union(a, b, to);
      return;
  }
}

// Where row `at` of all rows stands.
void append_place(std::vector<int64_t>& places, const Shape& shape, int64_t at) {
  const size_t begin = places.size();
  for (int axis = shape.rank(); axis-- > 0; at /= shape.dim(axis))
    places.push_back(at % shape.dim(axis));
  std::reverse(places.begin() + static_cast<std::ptrdiff_t>(begin), places.end());
}

template <class T>
Status set_combined(KernelContext& context, const SetsOf<T>& a, const SetsOf<T>& b,
                    SetOperation operation) {
  if (a.places != b.places) {
    return invalid("Mismatched shapes ", a.places.to_string(), " vs ", b.places.to_string());
  }
  std::set<int64_t> rows;
  for (const SetsOf<T>* sets : {&a, &b}) {
    for (const auto& [row, set] : sets->sets) rows.insert(row);
  }
  static const std::set<T> kNothing;
  const auto set_at = [](const SetsOf<T>& of, int64_t row) -> const std::set<T>& {
    const auto found = of.sets.find(row);
    return found == of.sets.end() ? kNothing : found->second;
  };
  std::vector<int64_t> places;
  std::vector<T> values;
  size_t largest = 0;
  for (const int64_t row : rows) {
    const size_t before = values.size();
    combine_sets(set_at(a, row), set_at(b, row), operation, values);
    for (size_t i = before; i < values.size(); ++i) {
      append_place(places, a.places, row);
      places.push_back(static_cast<int64_t>(i - before));
    }
    largest = std::max(largest, values.size() - before);
  }
  const auto rank = static_cast<size_t>(a.places.rank()) + 1;
  MR_TRY(context.set_output(0, places_tensor(static_cast<int64_t>(values.size()), rank, places)));
  context.set_output(1, Tensor::vector<T>(std::span<const T>(values)));
  std::vector<int64_t> dims(a.places.dims().begin(), a.places.dims().end());
  dims.push_back(static_cast<int64_t>(largest));
  context.set_output(2, Tensor::vector<int64_t>(dims));
  return {};
}

// Which of the two come as three tensors.
enum class SetInputs : uint8_t { dense, dense_and_sparse, sparse };

template <class T>
Status run_set_operation(KernelContext& context, SetInputs inputs, SetOperation operation,
                         Order order) {
  CancelProbe probe(context);
  SetsOf<T> a, b;
  if (inputs == SetInputs::sparse) {
    MR_ASSIGN(a, sparse_sets<T>(context, 0, order, probe));
    MR_ASSIGN(b, sparse_sets<T>(context, 3, order, probe));
  } else {
    MR_ASSIGN(a, dense_sets<T>(context.input(0), probe));
    if (inputs == SetInputs::dense) {
      MR_ASSIGN(b, dense_sets<T>(context.input(1), probe));
    } else {
      MR_ASSIGN(b, sparse_sets<T>(context, 1, order, probe));
    }
  }
  return set_combined(context, a, b, operation);
}

using RunSetOperation = Status (*)(KernelContext&, SetInputs, SetOperation, Order);

struct BoundSetInputs {
  SetInputs inputs;
  Result<SetInputs> read(const KernelSpec&) const { return inputs; }
};

Status set_operation(KernelContext& context, RunSetOperation run, SetInputs inputs,
                     SetOperation operation, bool validates) {
  return run(context, inputs, operation, validates ? Order::checked : Order::any);
}

Status infer_set_operation(InferContext& context) {
  return set_sparse(context, kUnknownDim, kUnknownDim);
}

// --- SetSize ---

template <class T>
Status run_set_size(KernelContext& context, Order order) {
  CancelProbe probe(context);
  MR_ASSIGN(const SetsOf<T> sets, sparse_sets<T>(context, 0, order, probe));
  MR_ASSIGN(Tensor made, Tensor::zeros(DType::i32, sets.places));
  for (const auto& [row, set] : sets.sets)
    made.mutable_flat<int32_t>()[static_cast<size_t>(row)] = static_cast<int32_t>(set.size());
  context.set_output(0, std::move(made));
  return {};
}

using RunSetSize = Status (*)(KernelContext&, Order);

Status set_size(KernelContext& context, RunSetSize run, bool validates) {
  return run(context, validates ? Order::checked : Order::any);
}

// By the type of the values: SetSize has them for its second input, and no output of the type.
struct BoundSetSize {
  Result<RunSetSize> read(const KernelSpec& spec) const;
};

using SetElements = cpu::Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, std::string>;
constexpr std::string_view kSetTypes = "T: {int8, int16, int32, int64, uint8, uint16, string}";

Result<RunSetSize> BoundSetSize::read(const KernelSpec& spec) const {
  const DType dtype = spec.inputs[1].dtype;
  const auto found = cpu::pick<RunSetSize>(
      SetElements(), dtype, []<class T>() -> RunSetSize { return &run_set_size<T>; });
  if (found == nullptr) return cpu::no_loop(spec, dtype);
  return found;
}

struct BoundRunSets {
  Result<RunSetOperation> read(const KernelSpec& spec) const {
    const DType dtype = spec.outputs[1].dtype;
    const auto found = cpu::pick<RunSetOperation>(
        SetElements(), dtype, []<class T>() -> RunSetOperation { return &run_set_operation<T>; });
    if (found == nullptr) return cpu::no_loop(spec, dtype);
    return found;
  }
};

// What the operations make of the example.
struct SetResults {
  std::string_view a_minus_b, b_minus_a, intersection;
};

Status add_set_operation(OpRegistry& ops, std::string name, SetInputs inputs,
                         std::string_view signature, std::string_view given,
                         const SetResults& made) {
  return ops.add({
      .name = std::move(name),
      .doc = "The elements that two rows have, or only one of them, or either, for the rows of "
             "two tensors; in ascending order, as a sparse tensor.",
      .signature = str_cat(signature,
                           " -> result_indices: int64, result_values: T, result_shape: int64 | "
                           "set_operation: string, validate_indices: bool = true, ",
                           kSetTypes),
      .infer = infer_set_operation,
      .cpu = kernel_with(set_operation, BoundRunSets(), BoundSetInputs{inputs}, BoundSetOperation(),
                         boolean("validate_indices")),
      .not_differentiable = "sets have no gradient",
      .examples = {str_cat(given, " -> ", made.a_minus_b, " | set_operation = 'a-b'"),
                   str_cat(given, " -> ", made.b_minus_a, " | set_operation = 'B-A'"),
                   str_cat(given, " -> ", made.intersection, " | set_operation = 'intersection'"),
                   str_cat(given, " -> [[0 0] [0 1] [0 2] [1 0] [1 1]], [1 3 4 2 5], [2 3] | ",
                           "set_operation = 'union'")},
  });
}

}  // namespace

Status register_sets(OpRegistry& ops) {
  const std::string one = "[[0 0] [0 1] [1 0] [1 1]], [3 1 2 5], [2 2]";
  const std::string other = "[[0 0] [0 2]], [3 4], [2 3]";
  MR_TRY(add_set_operation(
      ops, "DenseToDenseSetOperation", SetInputs::dense, "set1: T, set2: T",
      "[[3 1] [2 5]], [[3 4 3] [2 5 2]]",
      {"[[0 0]], [1], [2 1]", "[[0 0]], [4], [2 1]", "[[0 0] [1 0] [1 1]], [3 2 5], [2 2]"}));
  MR_TRY(add_set_operation(
      ops, "DenseToSparseSetOperation", SetInputs::dense_and_sparse,
      "set1: T, set2_indices: int64, set2_values: T, set2_shape: int64",
      str_cat("[[3 1] [2 5]], ", other),
      {"[[0 0] [1 0] [1 1]], [1 2 5], [2 2]", "[[0 0]], [4], [2 1]", "[[0 0]], [3], [2 1]"}));
  MR_TRY(add_set_operation(
      ops, "SparseToSparseSetOperation", SetInputs::sparse,
      "set1_indices: int64, set1_values: T, set1_shape: int64, set2_indices: int64, "
      "set2_values: T, set2_shape: int64",
      str_cat(one, ", ", other),
      {"[[0 0] [1 0] [1 1]], [1 2 5], [2 2]", "[[0 0]], [4], [2 1]", "[[0 0]], [3], [2 1]"}));
  return ops.add({
      .name = "SetSize",
      .doc = "How many different elements each innermost row of a sparse tensor has.",
      .signature = str_cat("set_indices: int64, set_values: T, set_shape: int64 -> size: int32 | "
                           "validate_indices: bool = true, ",
                           kSetTypes),
      .infer = infer::unknown,
      .cpu = kernel_with(set_size, BoundSetSize(), boolean("validate_indices")),
      .not_differentiable = "sets have no gradient",
      .examples = {"[[0 0] [0 1] [2 0]], [3 3 1], [3 2] -> [1 0 1]"},
  });
}

}  // namespace millrace
