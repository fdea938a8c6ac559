// Part of families.h: register_ragged_to_tensor.
#include <algorithm>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/gradient.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/strided_copy.h"
#include "millrace/ops/loops/strides.h"
#include "millrace/ops/ragged/families.h"
#include "millrace/ops/ragged/splits.h"

namespace millrace {
namespace {

enum class Partition : uint8_t { first_dim_size, row_splits, value_rowids };

Result<Partition> partition_of(const std::string& name) {
  if (name == "FIRST_DIM_SIZE") return Partition::first_dim_size;
  if (name == "ROW_SPLITS") return Partition::row_splits;
  if (name == "VALUE_ROWIDS") return Partition::value_rowids;
  return invalid("Unknown string for partition info type: ", name);
}

// What a node says of its row partition tensors; a size, if there is one, comes first.
struct Partitions {
  std::vector<Partition> kinds;

  bool has_size() const { return kinds.front() == Partition::first_dim_size; }
  int levels() const { return static_cast<int>(kinds.size()) - (has_size() ? 1 : 0); }
  Partition of_level(int level) const {
    return kinds[static_cast<size_t>(level) + (has_size() ? 1 : 0)];
  }
};

Result<Partitions> read_partitions(const AttrView& attrs) {
  Partitions made;
  const AttrValue* said = attrs.find("row_partition_types");
  const auto* names = said == nullptr ? nullptr : said->as_list_of<std::string>();
  if (names == nullptr || names->empty()) return invalid("No row_partition_types given.");
  for (const std::string& name : *names) {
    MR_ASSIGN(const Partition kind, partition_of(name));
    made.kinds.push_back(kind);
  }
  if (made.kinds.front() == Partition::value_rowids)
    return invalid("Cannot handle VALUE_ROWIDS in first dimension.");
  if (std::ranges::count(made.kinds, Partition::first_dim_size) > (made.has_size() ? 1 : 0) ||
      made.levels() == 0) {
    return invalid(
        "row_partition_types are a FIRST_DIM_SIZE at most, followed by one partition or "
        "more");
  }
  return made;
}

struct BoundPartitions {
  Result<Partitions> read(const KernelSpec& spec) const { return read_partitions(spec.attrs); }
};

constexpr int kShapeSlot = 0, kValuesSlot = 1, kDefaultSlot = 2, kFirstPartition = 3;

// In which row each thing of a level is, and how long the longest row is.
struct RaggedLevel {
  std::vector<int64_t> row_of;
  int64_t longest = 0;
};

Result<RaggedLevel> read_level(const Tensor& tensor, Partition kind, int64_t rows) {
  RaggedLevel made;
  if (kind == Partition::row_splits) {
    MR_ASSIGN(const std::vector<int64_t> splits, read_elements(tensor, "row_splits"));
    if (splits.empty()) return invalid("row_splits are empty");
    if (static_cast<int64_t>(splits.size()) - 1 > rows) {
      return invalid("Row partition size is greater than output size: ", splits.size() - 1, " > ",
                     rows);
    }
    if (splits[0] != 0) return invalid("Invalid row split size: the first is ", splits[0]);
    for (size_t i = 1; i < splits.size(); ++i) {
      if (splits[i] < splits[i - 1]) {
        return invalid("Invalid row split size: row_splits[", i, "] = ", splits[i], " is below ",
                       splits[i - 1]);
      }
    }
    MR_TRY(check_room(splits.back()));
    for (size_t i = 1; i < splits.size(); ++i) {
      made.row_of.resize(static_cast<size_t>(splits[i]), static_cast<int64_t>(i) - 1);
      made.longest = std::max(made.longest, splits[i] - splits[i - 1]);
    }
    return made;
  }
  MR_ASSIGN(made.row_of, read_elements(tensor, "value_rowids"));
  int64_t length = 0;
  for (size_t i = 0; i < made.row_of.size(); ++i) {
    const int64_t row = made.row_of[i];
    if (row < 0 || row >= rows)
      return invalid("Got value_rowids[", i, "] = ", row, " which is not in [0, ", rows, ")");
    if (i > 0 && row < made.row_of[i - 1]) {
      return invalid("value_rowids fall: value_rowids[", i, "] = ", row, " after ",
                     made.row_of[i - 1]);
    }
    length = i > 0 && row == made.row_of[i - 1] ? length + 1 : 1;
    made.longest = std::max(made.longest, length);
  }
  return made;
}

Result<std::vector<int64_t>> wanted_dims(const Tensor& shape, int rank) {
  if (shape.shape().rank() == 0) {
    MR_ASSIGN(const int64_t only, read_integer(shape, "shape"));
    if (only != -1) {
      return invalid("shape is a vector of sizes, or -1 for an unknown rank, not the scalar ",
                     only);
    }
    return std::vector<int64_t>(static_cast<size_t>(rank), -1);
  }
  MR_ASSIGN(std::vector<int64_t> dims, read_integers(shape, "shape"));
  if (static_cast<int>(dims.size()) != rank) {
    return invalid("rt_input.shape and shape=", Tensor::vector<int64_t>(dims).to_string(),
                   " are incompatible: rt_input.rank = ", rank, " but shape.rank = ", dims.size());
  }
  for (const int64_t dim : dims) {
    if (dim < -1) return invalid("Invalid dimension size: ", dim);
  }
  return dims;
}

Status check_default(const Shape& standard, const Shape& values) {
  bool fits = standard.rank() < values.rank();
  for (int axis = 0; fits && axis < standard.rank(); ++axis) {
    const int64_t inner = values.dim(values.rank() - standard.rank() + axis);
    fits = standard.dim(axis) == 1 || standard.dim(axis) == inner;
  }
  if (fits) return {};
  return invalid("default_value.shape=", standard.to_string(),
                 " and rt_input.flat_values.shape=", values.to_string(),
                 " are incompatible: the default value must broadcast to the shape of a value");
}

Result<Tensor> ragged_to_tensor(KernelContext& context, const Partitions& partitions) {
  const Tensor& values = context.input(kValuesSlot);
  const Tensor& standard = context.input(kDefaultSlot);
  const Tensor& first = context.input(kFirstPartition);
  if (context.num_inputs() - kFirstPartition != static_cast<int>(partitions.kinds.size()))
    return invalid("there are ", context.num_inputs() - kFirstPartition,
                   " row partition tensors, but ", partitions.kinds.size(), " types of them");
  if (values.shape().rank() < 1) return invalid("ragged values must have rank 1 or more");
  if (first.num_elements() == 0) {
    return invalid("Invalid first partition input. Tensor requires at least one element.");
  }
  MR_TRY(check_default(standard.shape(), values.shape()));
  const int levels = partitions.levels();
  MR_ASSIGN(std::vector<int64_t> dims,
            wanted_dims(context.input(kShapeSlot), levels + values.shape().rank()));
  for (int axis = 1; axis < values.shape().rank(); ++axis) {
    int64_t& dim = dims[static_cast<size_t>(levels) + static_cast<size_t>(axis)];
    if (dim >= 0 && dim != values.shape().dim(axis)) {
      return invalid("rt_input.shape and shape are incompatible: rt_input.shape[", levels + axis,
                     "] = ", values.shape().dim(axis), " but shape[", levels + axis, "] = ", dim);
    }
    dim = values.shape().dim(axis);
  }
  int64_t rows = first.num_elements() - 1;
  if (partitions.has_size()) {
    MR_ASSIGN(rows, read_integer(first, "first_dim_size"));
    if (rows < 0) return invalid("FIRST_DIM_SIZE = ", rows, " must not be negative");
  }
  if (dims[0] < 0) dims[0] = rows;
  std::vector<RaggedLevel> all;
  for (int level = 0; level < levels; ++level) {
    const int slot = kFirstPartition + level + (partitions.has_size() ? 1 : 0);
    MR_ASSIGN(RaggedLevel read,
              read_level(context.input(slot), partitions.of_level(level),
                         level == 0 ? rows : static_cast<int64_t>(all.back().row_of.size())));
    int64_t& dim = dims[static_cast<size_t>(level) + 1];
    if (dim < 0) dim = read.longest;
    all.push_back(std::move(read));
  }
  const auto number = static_cast<int64_t>(all.back().row_of.size());
  if (number > values.shape().dim(0)) {
    return invalid("the row partitions have ", number, " values, but there are ",
                   values.shape().dim(0));
  }
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  MR_ASSIGN(Tensor made,
            copied_box(shape, standard, {0, broadcast_strides(standard.shape(), shape)}, context));
  if (made.num_elements() == 0) return made;
  // Where each row of the level above stands, or -1 if it is cut off.
  MR_TRY(check_room(rows));
  std::vector<int64_t> places(static_cast<size_t>(rows));
  for (int64_t row = 0; row < rows; ++row)
    places[static_cast<size_t>(row)] = row < dims[0] ? row : -1;
  CancelProbe probe(context);
  for (int level = 0; level < levels; ++level) {
    const int64_t dim = dims[static_cast<size_t>(level) + 1];
    std::vector<int64_t> below(all[static_cast<size_t>(level)].row_of.size());
    int64_t column = 0, before = -1;
    for (size_t i = 0; i < below.size(); ++i) {
      const int64_t row = all[static_cast<size_t>(level)].row_of[i];
      column = row == before ? column + 1 : 0;
      before = row;
      const int64_t place = places[static_cast<size_t>(row)];
      below[i] = place < 0 || column >= dim ? -1 : place * dim + column;
      if (!probe.go_on(1)) return probe.status();
    }
    places = std::move(below);
  }
  int64_t length = 1;
  for (int axis = 1; axis < values.shape().rank(); ++axis) length *= values.shape().dim(axis);
  const int64_t bytes = length * static_cast<int64_t>(dtype_size(values.dtype()));
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] < 0) continue;
    copy_elements(values.dtype(),
                  static_cast<const char*>(values.data()) + static_cast<int64_t>(i) * bytes,
                  static_cast<char*>(made.mutable_data()) + places[i] * bytes, length);
    if (!probe.go_on(length)) return probe.status();
  }
  return made;
}

Status infer_ragged_to_tensor(InferContext& context) {
  MR_ASSIGN(const Partitions partitions, read_partitions(context.attrs()));
  const PartialShape& values = context.input(kValuesSlot);
  if (!values.has_rank()) return {};
  if (values.rank() < 1) return invalid("ragged values must have rank 1 or more");
  const int levels = partitions.levels();
  std::vector<int64_t> dims(static_cast<size_t>(levels + values.rank()), kUnknownDim);
  if (const Tensor* shape = context.constant(kShapeSlot)) {
    MR_ASSIGN(dims, wanted_dims(*shape, levels + values.rank()));
  }
  for (int axis = 1; axis < values.rank(); ++axis) {
    int64_t& dim = dims[static_cast<size_t>(levels) + static_cast<size_t>(axis)];
    if (dim == kUnknownDim) dim = values.dim(axis);
  }
  return context.set_output(0, PartialShape::create(dims));
}

// The values are numbered, and their numbers made dense in the same way: what arrives where a
// number stands is the value's, all else the default value's.
Status ragged_to_tensor_gradient(GradContext& g) {
  const Endpoint values = g.input(kValuesSlot), standard = g.input(kDefaultSlot);
  const Endpoint zero = g.scalar(DType::i32, 0), one = g.scalar(DType::i32, 1);
  const Endpoint dims = g.add("Shape", {values});
  const Endpoint number = g.add("GatherV2", {dims, zero, zero});
  MR_ASSIGN(const Partitions partitions, read_partitions(g.attrs()));
  const AttrValue types = *g.attrs().find("row_partition_types");
  const Endpoint lead = g.add(
      "Slice", {g.add("Shape", {g.grad()}), g.vector({0}), g.vector({partitions.levels() + 1})});
  std::vector<Endpoint> inputs = {lead, g.add("Range", {zero, number, one}),
                                  g.scalar(DType::i32, -1)};
  for (int slot = kFirstPartition; slot < g.num_inputs(); ++slot) inputs.push_back(g.input(slot));
  const Endpoint numbers =
      g.add("RaggedTensorToTensor", inputs,
            {{"row_partition_types", types},
             {"num_row_partition_tensors", static_cast<int64_t>(inputs.size()) - 3}});
  const Endpoint is_default = g.add("Equal", {numbers, g.scalar(DType::i32, -1)});
  if (g.is_needed(kValuesSlot)) {
    const Endpoint there = g.add("Where", {g.add("LogicalNot", {is_default})});
    g.set_input_grad(kValuesSlot, IndexedSlices{.values = g.add("GatherNd", {g.grad(), there}),
                                                .indices = g.add("GatherNd", {numbers, there}),
                                                .dense_shape = dims});
  }
  if (!g.is_needed(kDefaultSlot)) return {};
  const Endpoint rest = g.add("GatherNd", {g.grad(), g.add("Where", {is_default})});
  const Endpoint wanted = g.add("Shape", {standard});
  const Endpoint axes = g.add("BroadcastGradientArgs", {wanted, g.add("Shape", {rest})});
  // Axes of size 1 on both sides need no sum, but the rows always do, also a single one.
  const Endpoint summed = g.add("Sum", {g.add("Sum", {rest, axes}, {{"keep_dims", true}}), zero});
  g.set_input_grad(kDefaultSlot, g.add("Reshape", {summed, wanted}));
  return {};
}

}  // namespace

Status register_ragged_to_tensor(OpRegistry& ops) {
  return ops.add({
      .name = "RaggedTensorToTensor",
      .doc = "The rows of a ragged tensor in a dense one, cut off where they are longer, and with "
             "the default value where they are shorter.",
      .signature = "shape: Tshape, values: T, default_value: T, "
                   "row_partition_tensors: num_row_partition_tensors*Tindex -> result: T | "
                   "T: type, Tindex: {int64, int32}, Tshape: {int64, int32}, "
                   "num_row_partition_tensors: int >= 1, row_partition_types: list(string)",
      .infer = infer_ragged_to_tensor,
      .cpu = kernel_with(ragged_to_tensor, BoundPartitions()),
      .grad = ragged_to_tensor_gradient,
      .examples = {"[-1 -1], [1 0 1], 0, [0 2 2 3] -> [[1 0] [0 0] [1 0]] | "
                   "num_row_partition_tensors = 1, row_partition_types = {'ROW_SPLITS'}",
                   "-1, [1 0 1], 0, 3, [0 0 2] -> [[1 0] [0 0] [1 0]] | "
                   "num_row_partition_tensors = 2, "
                   "row_partition_types = {'FIRST_DIM_SIZE', 'VALUE_ROWIDS'}",
                   "[2 1 2], [[1 0] [0 1] [1 1]], [1 0], [0 0 3] -> [[[1 0]] [[1 0]]] | "
                   "num_row_partition_tensors = 1, row_partition_types = {'ROW_SPLITS'}"},
  });
}

}  // namespace millrace
