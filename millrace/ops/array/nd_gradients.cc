// Part of gradients.h: of picking slices and rows by what indices say, and putting them back.
#include "millrace/ops/array/gradients.h"
#include "millrace/ops/loops/broadcast_gradient.h"

namespace millrace::grad {
namespace {

// Indices in a type that ops on shapes take, too.
Endpoint plain_indices(GradContext& g, Endpoint indices) {
  const DType dtype = g.dtype(indices);
  if (dtype == DType::i32 || dtype == DType::i64) return indices;
  return g.add("Cast", {indices}, {{"DstT", DType::i32}});
}

Endpoint shape_in(GradContext& g, Endpoint of, DType dtype) {
  return g.add("Shape", {of}, {{"out_type", dtype}});
}

Endpoint zeros_of(GradContext& g, Endpoint x) { return g.add("ZerosLike", {x}); }

// What becomes of an index out of range.
Attrs policy_of(const GradContext& g) {
  Attrs attrs;
  if (const AttrValue* policy = g.attrs().find("bad_indices_policy"))
    attrs.set("bad_indices_policy", *policy);
  return attrs;
}

Attrs align_of(const GradContext& g) {
  Attrs attrs;
  if (const AttrValue* align = g.attrs().find("align")) attrs.set("align", *align);
  return attrs;
}

// The same version of another op of the family: the second form takes k, the third aligns.
Endpoint diagonals_of(GradContext& g, Endpoint matrices, std::optional<Endpoint> k) {
  if (!k) return g.add("MatrixDiagPart", {matrices});
  Attrs attrs = align_of(g);
  const bool aligns = attrs.find("align") != nullptr;
  return g.add(aligns ? "MatrixDiagPartV3" : "MatrixDiagPartV2",
               {matrices, *k, g.scalar(g.dtype(matrices), 0)}, std::move(attrs));
}

Endpoint with_diagonals(GradContext& g, Endpoint matrices, Endpoint diagonals,
                        std::optional<Endpoint> k) {
  if (!k) return g.add("MatrixSetDiag", {matrices, diagonals});
  Attrs attrs = align_of(g);
  const bool aligns = attrs.find("align") != nullptr;
  return g.add(aligns ? "MatrixSetDiagV3" : "MatrixSetDiagV2", {matrices, diagonals, *k},
               std::move(attrs));
}

std::optional<Endpoint> band_input(const GradContext& g, int slot) {
  if (g.num_inputs() <= slot) return std::nullopt;
  return g.input(slot);
}

Status by_same_op(GradContext& g, std::string_view op, std::initializer_list<const char*> names) {
  Attrs attrs;
  for (const char* name : names) {
    if (const AttrValue* value = g.attrs().find(name)) attrs.set(name, *value);
  }
  std::vector<Endpoint> inputs = {g.grad()};
  for (int slot = 1; slot < g.num_inputs(); ++slot) inputs.push_back(g.input(slot));
  g.set_input_grad(0, g.add(op, inputs, std::move(attrs)));
  return {};
}

}  // namespace

Status gather_nd(GradContext& g) {
  const Attrs policy = policy_of(g);
  MR_ASSIGN(const std::string said, g.attrs().string("bad_indices_policy"));
  const Endpoint indices = plain_indices(g, g.input(1));
  const PartialShape shape = g.shape(indices);
  // Slices have no place for an index that is ignored.
  if (shape.rank() == 2 && shape.dim(1) == 1 && said != "IGNORE") {
    const Endpoint rows = g.add("Reshape", {indices, g.vector({-1})});
    g.set_input_grad(0, IndexedSlices{g.grad(), rows, g.shape_node(g.input(0))});
    return {};
  }
  const Endpoint whole = shape_in(g, g.input(0), g.dtype(indices));
  g.set_input_grad(0, g.add("ScatterNd", {indices, g.grad(), whole}, policy));
  return {};
}

Status scatter_nd(GradContext& g) {
  g.set_input_grad(1, g.add("GatherNd", {g.grad(), g.input(0)}, policy_of(g)));
  return {};
}

Status tensor_scatter_update(GradContext& g) {
  if (g.is_needed(0)) {
    const Endpoint nothing = zeros_of(g, g.input(2));
    g.set_input_grad(0,
                     g.add("TensorScatterUpdate", {g.grad(), g.input(1), nothing}, policy_of(g)));
  }
  if (g.is_needed(2))
    g.set_input_grad(2, g.add("GatherNd", {g.grad(), plain_indices(g, g.input(1))}, policy_of(g)));
  return {};
}

Status tensor_scatter_add(GradContext& g) {
  g.set_input_grad(0, g.grad());
  if (g.is_needed(2)) g.set_input_grad(2, g.add("GatherNd", {g.grad(), g.input(1)}, policy_of(g)));
  return {};
}

Status tensor_scatter_sub(GradContext& g) {
  g.set_input_grad(0, g.grad());
  if (g.is_needed(2))
    g.set_input_grad(2, g.add("Neg", {g.add("GatherNd", {g.grad(), g.input(1)}, policy_of(g))}));
  return {};
}

// Whoever is as large as what came of it has a share: the element itself, and updates.
Status tensor_scatter_extreme(GradContext& g) {
  const Endpoint tensor = g.input(0), indices = g.input(1), updates = g.input(2);
  const DType dtype = g.dtype(tensor);
  const auto is_equal = [&](Endpoint a, Endpoint b) {
    return g.add("Cast", {g.add("Equal", {a, b})}, {{"DstT", dtype}});
  };
  const Endpoint held = is_equal(tensor, g.output(0));
  const Endpoint given = is_equal(updates, g.add("GatherNd", {g.output(0), indices}, policy_of(g)));
  const Endpoint number = g.add("TensorScatterAdd", {held, indices, given}, policy_of(g));
  const Endpoint share = g.add("RealDiv", {g.grad(), number});
  if (g.is_needed(0)) g.set_input_grad(0, g.add("Mul", {share, held}));
  if (g.is_needed(2))
    g.set_input_grad(2, g.add("Mul", {g.add("GatherNd", {share, indices}, policy_of(g)), given}));
  return {};
}

// The default has what goes nowhere else.
Status sparse_to_dense(GradContext& g) {
  const Endpoint indices = g.input(0);
  // As rows of coordinates: a vector of indices is a matrix of one column.
  const Endpoint minus_one = g.scalar(DType::i32, -1);
  const Endpoint depth = g.add("Size", {g.input(1)});
  const Endpoint rows =
      g.add("Reshape", {indices, g.add("Pack", {minus_one, depth}, {{"axis", int64_t{0}}})});
  const Endpoint picked = g.add("GatherNd", {g.grad(), rows});
  const bool is_scalar = g.shape(g.input(2)).rank() == 0;
  const Endpoint first = g.scalar(DType::i32, 0);
  if (g.is_needed(2)) {
    const Endpoint values = is_scalar ? g.add("Sum", {picked, first}) : picked;
    g.set_input_grad(2, g.add("Reshape", {values, g.shape_node(g.input(2))}));
  }
  if (g.is_needed(3)) {
    const Endpoint flat = g.add("Reshape", {g.grad(), g.vector({-1})});
    g.set_input_grad(3, g.add("Sub", {g.add("Sum", {flat, first}), g.add("Sum", {picked, first})}));
  }
  return {};
}

// The numbers of the rows, dealt out in the same way, say where what arrives belongs.
Status dynamic_partition(GradContext& g) {
  MR_ASSIGN(const int64_t number, g.attrs().integer("num_partitions"));
  const Endpoint partitions = g.input(1);
  const Endpoint zero = g.scalar(DType::i32, 0), one = g.scalar(DType::i32, 1);
  const Endpoint all = g.add("Range", {zero, g.add("Size", {partitions}), one});
  const Endpoint places = g.add("Reshape", {all, g.shape_node(partitions)});
  const Endpoint dealt =
      g.add("DynamicPartition", {places, partitions}, {{"num_partitions", number}});
  std::vector<Endpoint> inputs;
  for (int i = 0; i < number; ++i) inputs.push_back({dealt.node, i});
  for (int i = 0; i < number; ++i) inputs.push_back(g.grad(i));
  const Endpoint rows = g.add("ParallelDynamicStitch", inputs, {{"N", number}});
  g.set_input_grad(0, g.add("Reshape", {rows, g.shape_node(g.input(0))}));
  return {};
}

Status dynamic_stitch(GradContext& g) {
  const int count = g.num_inputs() / 2;
  for (int i = 0; i < count; ++i) {
    if (!g.is_needed(count + i)) continue;
    g.set_input_grad(count + i, g.add("GatherV2", {g.grad(), g.input(i), g.scalar(DType::i32, 0)}));
  }
  return {};
}

Status diag(GradContext& g) {
  g.set_input_grad(0, g.add("DiagPart", {g.grad()}));
  return {};
}
Status diag_part(GradContext& g) {
  g.set_input_grad(0, g.add("Diag", {g.grad()}));
  return {};
}

Status matrix_diag(GradContext& g) {
  g.set_input_grad(0, diagonals_of(g, g.grad(), band_input(g, 1)));
  return {};
}
Status matrix_diag_part(GradContext& g) {
  g.set_input_grad(0, with_diagonals(g, zeros_of(g, g.input(0)), g.grad(), band_input(g, 1)));
  return {};
}
Status matrix_set_diag(GradContext& g) {
  const std::optional<Endpoint> k = band_input(g, 2);
  if (g.is_needed(0)) g.set_input_grad(0, with_diagonals(g, g.grad(), zeros_of(g, g.input(1)), k));
  if (g.is_needed(1)) g.set_input_grad(1, diagonals_of(g, g.grad(), k));
  return {};
}

Status matrix_band_part(GradContext& g) { return by_same_op(g, g.attrs().op().name, {}); }

Status space_to_batch(GradContext& g) { return by_same_op(g, "BatchToSpace", {"block_size"}); }
Status batch_to_space(GradContext& g) { return by_same_op(g, "SpaceToBatch", {"block_size"}); }
Status space_to_batch_nd(GradContext& g) { return by_same_op(g, "BatchToSpaceND", {}); }
Status batch_to_space_nd(GradContext& g) { return by_same_op(g, "SpaceToBatchND", {}); }
Status space_to_depth(GradContext& g) {
  return by_same_op(g, "DepthToSpace", {"block_size", "data_format"});
}
Status depth_to_space(GradContext& g) {
  return by_same_op(g, "SpaceToDepth", {"block_size", "data_format"});
}
Status mirror_pad(GradContext& g) { return by_same_op(g, "MirrorPadGrad", {"mode"}); }
Status mirror_pad_grad(GradContext& g) { return by_same_op(g, "MirrorPad", {"mode"}); }
Status reverse_sequence(GradContext& g) {
  return by_same_op(g, "ReverseSequence", {"seq_dim", "batch_dim"});
}

Status roll(GradContext& g) {
  const Endpoint back = g.add("Neg", {g.input(1)});
  g.set_input_grad(0, g.add("Roll", {g.grad(), back, g.input(2)}));
  return {};
}

// Patches of the pixels' numbers, from 1, say which pixel each row of what arrives belongs to; the
// zeros beyond the edge are none.
Status extract_patches(GradContext& g) {
  const std::string op = g.attrs().op().name;
  Attrs attrs;
  for (const char* name : {"ksizes", "strides", "rates", "padding"}) {
    if (const AttrValue* value = g.attrs().find(name)) attrs.set(name, *value);
  }
  MR_ASSIGN(const std::vector<int64_t> sizes, g.attrs().integers("ksizes"));
  const auto last = static_cast<double>(sizes.size()) - 1;
  const Endpoint shape = g.shape_node(g.input(0));
  const Endpoint zero = g.scalar(DType::i32, 0), one = g.scalar(DType::i32, 1);
  const auto dim = [&](double axis) {
    return g.add("GatherV2", {shape, g.scalar(DType::i32, axis), zero});
  };
  const auto dims = [&](const std::vector<Endpoint>& all) {
    return g.add("Pack", all, {{"axis", int64_t{0}}});
  };
  const Endpoint batch = dim(0), depth = dim(last);
  std::vector<Endpoint> one_image = {one};
  Endpoint pixels = one;
  for (double axis = 1; axis < last; ++axis) {
    one_image.push_back(dim(axis));
    pixels = g.add("Mul", {pixels, one_image.back()});
  }
  one_image.push_back(one);
  const Endpoint numbers = g.add("Range", {one, g.add("AddV2", {pixels, one}), one});
  const Endpoint image = g.add("Reshape", {numbers, dims(one_image)});
  const Endpoint patches = g.add(op, {image}, std::move(attrs));
  const Endpoint pixel = g.add("Sub", {g.add("Reshape", {patches, g.vector({-1})}), one});
  const Endpoint rows = g.add("Reshape", {g.grad(), dims({batch, g.add("Size", {pixel}), depth})});
  const Endpoint by_pixel = g.add("Transpose", {rows, g.vector({1, 0, 2})});
  const Endpoint sums = g.add("UnsortedSegmentSum", {by_pixel, pixel, pixels});
  const Endpoint by_image = g.add("Transpose", {sums, g.vector({1, 0, 2})});
  g.set_input_grad(0, g.add("Reshape", {by_image, shape}));
  return {};
}

Status tensor_strided_slice_update(GradContext& g) {
  Attrs masks;
  for (const char* name :
       {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"}) {
    if (const AttrValue* value = g.attrs().find(name)) masks.set(name, *value);
  }
  if (g.is_needed(0)) {
    const Endpoint nothing = zeros_of(g, g.input(4));
    g.set_input_grad(0, g.add("TensorStridedSliceUpdate",
                              {g.grad(), g.input(1), g.input(2), g.input(3), nothing}, masks));
  }
  if (g.is_needed(4)) {
    const Endpoint sliced =
        g.add("StridedSlice", {g.grad(), g.input(1), g.input(2), g.input(3)}, masks);
    g.set_input_grad(4, BroadcastGradient(g, g.input(4), sliced).to_a(sliced));
  }
  return {};
}

}  // namespace millrace::grad
