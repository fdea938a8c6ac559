#include "millrace/ops/sparse/gradients.h"

namespace millrace::grad {
namespace {

Endpoint slot_of(Endpoint node, int32_t slot) { return {node.node, slot}; }

Endpoint zero_axis(GradContext& g) { return g.scalar(DType::i32, 0); }

Endpoint shape_in_i64(GradContext& g, Endpoint of) {
  return g.add("Shape", {of}, {{"out_type", DType::i64}});
}

Endpoint rows_at(GradContext& g, Endpoint rows, Endpoint which) {
  return g.add("GatherV2", {rows, which, zero_axis(g)});
}

// How many of the sparse side's cells each cell of a dense tensor with dims `dense` covers, along
// each axis; at least 1.
Endpoint cells_covered(GradContext& g, Endpoint sparse, Endpoint dense) {
  const Endpoint one = g.scalar(DType::i64, 1);
  const Endpoint cells = g.add("FloorDiv", {sparse, g.add("Maximum", {dense, one})});
  return g.add("Maximum", {cells, one});
}

}  // namespace

// Element i came to stand where the ordering of the numbers 0, 1, 2 … says.
Status sparse_reorder(GradContext& g) {
  const Endpoint number = g.add("Size", {g.input(1)}, {{"out_type", DType::i32}});
  const Endpoint numbers =
      g.add("Range", {g.scalar(DType::i32, 0), number, g.scalar(DType::i32, 1)});
  const Endpoint ordered = g.add("SparseReorder", {g.input(0), numbers, g.input(2)});
  const Endpoint back = g.add("InvertPermutation", {slot_of(ordered, 1)});
  g.set_input_grad(1, rows_at(g, g.grad(1), back));
  return {};
}

Status sparse_slice(GradContext& g) {
  g.set_input_grad(1, g.add("SparseSliceGrad", {g.grad(1), g.input(0), g.input(3), g.output(0)}));
  return {};
}

// Of op(a) op(b), whose gradient arrives: op(a)' times it for b, and for each element of a the
// product of a row of it and one of b.
Status sparse_matmul(GradContext& g) {
  const AttrView attrs = g.attrs();
  MR_ASSIGN(const bool adjoint_a, attrs.boolean("adjoint_a"));
  MR_ASSIGN(const bool adjoint_b, attrs.boolean("adjoint_b"));
  const bool is_complex_product = is_complex(g.dtype(g.input(1)));
  const auto transposed = [&](Endpoint matrix, bool conjugates) {
    const Endpoint turned = g.add("Transpose", {matrix, g.vector({1, 0})});
    return conjugates && is_complex_product ? g.add("Conj", {turned}) : turned;
  };
  if (g.is_needed(3)) {
    Endpoint of_b = g.add("SparseTensorDenseMatMul", {g.input(0), g.input(1), g.input(2), g.grad()},
                          {{"adjoint_a", !adjoint_a}});
    if (adjoint_b) of_b = transposed(of_b, true);
    g.set_input_grad(3, of_b);
  }
  if (!g.is_needed(1)) return {};
  const auto column = [&](double which) {
    return g.add("GatherV2", {g.input(0), g.scalar(DType::i32, which), g.scalar(DType::i32, 1)});
  };
  const Endpoint rows = column(adjoint_a ? 1 : 0), inner = column(adjoint_a ? 0 : 1);
  Endpoint arriving = rows_at(g, g.grad(), rows);
  Endpoint other = rows_at(g, adjoint_b ? transposed(g.input(3), false) : g.input(3), inner);
  if (is_complex_product) {
    if (adjoint_a) arriving = g.add("Conj", {arriving});
    if (adjoint_a == adjoint_b) other = g.add("Conj", {other});
  }
  const Endpoint products = g.add("Mul", {arriving, other});
  g.set_input_grad(1, g.add("Sum", {products, g.scalar(DType::i32, 1)}));
  return {};
}

Status sparse_fill_rows(GradContext& g) {
  const Endpoint both = g.add("SparseFillEmptyRowsGrad", {g.output(3), g.grad(1)});
  g.set_input_grad(1, both);
  g.set_input_grad(3, slot_of(both, 1));
  return {};
}

// What went to an element comes from it, all else from the default value.
Status sparse_fill_rows_grad(GradContext& g) {
  const Endpoint others = g.add("Fill", {g.add("Shape", {g.input(1)}), g.grad(1)});
  const Endpoint places = g.add("ExpandDims", {g.input(0), g.scalar(DType::i32, 1)});
  g.set_input_grad(1, g.add("TensorScatterUpdate", {others, places, g.grad(0)}));
  return {};
}

Status sparse_add(GradContext& g) {
  const Endpoint both = g.add("SparseAddGrad", {g.grad(1), g.input(0), g.input(3), g.output(0)});
  g.set_input_grad(1, both);
  g.set_input_grad(4, slot_of(both, 1));
  return {};
}

Status sparse_dense_add(GradContext& g) {
  if (g.is_needed(1)) g.set_input_grad(1, g.add("GatherNd", {g.grad(), g.input(0)}));
  g.set_input_grad(3, g.grad());
  return {};
}

namespace {

// Which cell of the dense side is at each element: its dims stand behind as many axes of size 1 as
// it has fewer.
Endpoint cells_of_dense(GradContext& g, Endpoint dense_dims) {
  const Endpoint missing = g.add("Sub", {g.add("Size", {g.input(2)}), g.add("Size", {dense_dims})});
  const Endpoint one_number = g.add("Reshape", {missing, g.vector({1})});
  const Endpoint ones = g.add("Fill", {one_number, g.scalar(DType::i64, 1)});
  const Endpoint dims = g.add("ConcatV2", {ones, dense_dims, zero_axis(g)}, {{"N", int64_t{2}}});
  const Endpoint cells = g.add("FloorDiv", {g.input(0), cells_covered(g, g.input(2), dims)});
  const Endpoint begin =
      g.add("ConcatV2", {g.vector({0}), one_number, zero_axis(g)}, {{"N", int64_t{2}}});
  const Endpoint all = g.add("Fill", {g.add("Shape", {begin}), g.scalar(DType::i32, -1)});
  return g.add("Slice", {cells, begin, all});
}

enum class Cellwise : uint8_t { add, mul, div };

Status cellwise_gradient(GradContext& g, Cellwise how) {
  const Endpoint dense_dims = shape_in_i64(g, g.input(3));
  const Endpoint cells = cells_of_dense(g, dense_dims);
  Endpoint of_values = g.grad(), of_dense = g.grad();
  if (how != Cellwise::add) {
    const auto conjugate = [&](Endpoint of) {
      return is_complex(g.dtype(of)) ? g.add("Conj", {of}) : of;
    };
    const Endpoint dense = conjugate(g.add("GatherNd", {g.input(3), cells}));
    of_values = g.add(how == Cellwise::mul ? "Mul" : "RealDiv", {g.grad(), dense});
    Endpoint slope = conjugate(g.input(1));
    if (how == Cellwise::div)
      slope = g.add("RealDiv", {g.add("Neg", {slope}), g.add("Square", {dense})});
    of_dense = g.add("Mul", {g.grad(), slope});
  }
  g.set_input_grad(1, of_values);
  if (g.is_needed(3)) g.set_input_grad(3, g.add("ScatterNd", {cells, of_dense, dense_dims}));
  return {};
}

}  // namespace

Status sparse_cellwise_add(GradContext& g) { return cellwise_gradient(g, Cellwise::add); }
Status sparse_cellwise_mul(GradContext& g) { return cellwise_gradient(g, Cellwise::mul); }
Status sparse_cellwise_div(GradContext& g) { return cellwise_gradient(g, Cellwise::div); }

// Each element has what arrives at the sum that it went into.
Status sparse_reduce_sum(GradContext& g) {
  const Endpoint dims = g.input(2);
  const Endpoint rank = g.add("Size", {dims});
  const Endpoint axes = g.add("Reshape", {g.input(3), g.vector({-1})});
  const Endpoint reduced = g.add("FloorMod", {g.add("AddV2", {axes, rank}), rank});
  const Endpoint all = g.add("Range", {zero_axis(g), rank, g.scalar(DType::i32, 1)});
  const Endpoint ones = g.add("Fill", {g.add("Shape", {reduced}), g.scalar(DType::i64, 1)});
  const Endpoint kept = g.add("DynamicStitch", {all, reduced, dims, ones}, {{"N", int64_t{2}}});
  const Endpoint arriving = g.add("Reshape", {g.grad(), kept});
  const Endpoint cells = g.add("FloorDiv", {g.input(0), cells_covered(g, dims, kept)});
  g.set_input_grad(1, g.add("GatherNd", {arriving, cells}));
  return {};
}

Status sparse_softmax(GradContext& g) {
  const Endpoint out = g.output(0);
  const Endpoint products = g.add("Mul", {out, g.grad()});
  const Endpoint sums = g.add("SparseReduceSum", {g.input(0), products, g.input(2), g.vector({-1})},
                              {{"keep_dims", true}});
  const Endpoint rest =
      g.add("SparseDenseCwiseAdd", {g.input(0), g.grad(), g.input(2), g.add("Neg", {sums})});
  g.set_input_grad(1, g.add("Mul", {rest, out}));
  return {};
}

}  // namespace millrace::grad
