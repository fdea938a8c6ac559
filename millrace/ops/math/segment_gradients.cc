// Part of gradients.h: of folding rows by segments.
#include "millrace/ops/math/gradients.h"

namespace millrace::grad {
namespace {

Endpoint first_axis(GradContext& g) { return g.scalar(DType::i32, 0); }

Endpoint first_dim(GradContext& g, Endpoint of) {
  const Endpoint axis = first_axis(g);
  return g.add("GatherV2", {g.shape_node(of), axis, axis});
}

// For each row the one of its segment.
Endpoint of_segment(GradContext& g, Endpoint segments) {
  return g.add("GatherV2", {segments, g.input(1), first_axis(g)});
}

// The same where ids may be negative: such rows have 0.
Endpoint of_unsorted_segment(GradContext& g, Endpoint segments) {
  const Endpoint ids = g.input(1), zero = g.scalar(g.dtype(ids), 0);
  const Endpoint rows = g.add("GatherV2", {segments, g.add("Maximum", {ids, zero}), first_axis(g)});
  // As many axes of 1 behind those of the ids as a row has.
  const Endpoint ranks = g.add("Sub", {g.add("Rank", {rows}), g.add("Rank", {ids})});
  const Endpoint ones =
      g.add("Fill", {g.add("Reshape", {ranks, g.vector({1})}), g.scalar(DType::i32, 1)});
  const Endpoint shape =
      g.add("ConcatV2", {g.add("Shape", {ids}), ones, first_axis(g)}, {{"N", int64_t{2}}});
  const Endpoint has_one = g.add("Reshape", {g.add("GreaterEqual", {ids, zero}), shape});
  return g.add("SelectV2", {has_one, rows, g.scalar(g.dtype(rows), 0)});
}

using OfSegment = Endpoint (*)(GradContext&, Endpoint);

// By segments of the op's own, sorted or not.
Endpoint folded(GradContext& g, std::string_view op, Endpoint rows) {
  return g.add(op, {rows, g.input(1), first_dim(g, g.output(0))});
}

Endpoint as_number(GradContext& g, Endpoint condition) {
  return g.add("Cast", {condition}, {{"DstT", g.dtype(g.input(0))}});
}

// The product of a segment without a row is its quotient by it; of one with a single 0, for the row
// that is it the product of the others; with several, 0. Slopes of complex numbers are taken as
// they are, as in TensorFlow.
Status products(GradContext& g, OfSegment rows_of) {
  const DType dtype = g.dtype(g.input(0));
  const Endpoint zero = g.scalar(dtype, 0), one = g.scalar(dtype, 1);
  const Endpoint is_zero = g.add("Equal", {g.input(0), zero});
  const Endpoint zeros = folded(g, "UnsortedSegmentSum", as_number(g, is_zero));
  const Endpoint arriving =
      g.add("SelectV2", {g.add("Greater", {as_real(g, zeros), as_real(g, one)}), zero, g.grad()});
  const Endpoint others = g.add("SelectV2", {is_zero, one, g.input(0)});
  const Endpoint product = folded(g, "UnsortedSegmentProd", others);
  const Endpoint quotient = g.add("RealDiv", {rows_of(g, g.output(0)), others});
  const Endpoint slope = g.add("SelectV2", {is_zero, rows_of(g, product), quotient});
  g.set_input_grad(0, g.add("Mul", {rows_of(g, arriving), slope}));
  return {};
}

// Rows that are equally large share what arrives.
Status extremes(GradContext& g, OfSegment rows_of) {
  const Endpoint is_best = g.add("Equal", {g.input(0), rows_of(g, g.output(0))});
  const Endpoint number = folded(g, "UnsortedSegmentSum", as_number(g, is_best));
  const Endpoint share = rows_of(g, g.add("RealDiv", {g.grad(), number}));
  const Endpoint zero = g.scalar(g.dtype(g.input(0)), 0);
  g.set_input_grad(0, g.add("SelectV2", {is_best, share, zero}));
  return {};
}

}  // namespace

Endpoint as_real(GradContext& g, Endpoint x) {
  if (!is_complex(g.dtype(x))) return x;
  const DType part = g.dtype(x) == DType::c128 ? DType::f64 : DType::f32;
  return g.add("Real", {x}, {{"Tout", part}});
}

Status segment_sum(GradContext& g) {
  g.set_input_grad(0, of_segment(g, g.grad()));
  return {};
}

Status segment_mean(GradContext& g) {
  const Endpoint ids = g.input(1);
  const DType dtype = g.dtype(g.input(0));
  const Endpoint ranks = g.add("Sub", {g.add("Rank", {g.input(0)}), g.scalar(DType::i32, 1)});
  const Endpoint behind =
      g.add("Fill", {g.add("Reshape", {ranks, g.vector({1})}), g.scalar(DType::i32, 1)});
  const Endpoint shape =
      g.add("ConcatV2", {g.add("Shape", {ids}), behind, first_axis(g)}, {{"N", int64_t{2}}});
  const Endpoint ones = g.add("Fill", {shape, g.scalar(dtype, 1)});
  const Endpoint number = g.add("SegmentSum", {ones, ids});
  g.set_input_grad(0, of_segment(g, g.add("RealDiv", {g.grad(), number})));
  return {};
}

Status segment_prod(GradContext& g) { return products(g, &of_segment); }
Status segment_extreme(GradContext& g) { return extremes(g, &of_segment); }

// Each row has what arrives at its segment; nothing, if it has none.
Status unsorted_segment_sum(GradContext& g) {
  g.set_input_grad(0, of_unsorted_segment(g, g.grad()));
  return {};
}
Status unsorted_segment_prod(GradContext& g) { return products(g, &of_unsorted_segment); }
Status unsorted_segment_extreme(GradContext& g) { return extremes(g, &of_unsorted_segment); }

namespace {

// "SparseSegmentMean" of "SparseSegmentMeanWithNumSegments" or "SparseSegmentMeanGrad".
std::string kind_of(std::string_view op) {
  for (const std::string_view ending : {"WithNumSegments", "Grad"}) {
    if (op.ends_with(ending)) op.remove_suffix(ending.size());
  }
  return std::string(op);
}

}  // namespace

Status sparse_segments(GradContext& g) {
  const std::string op = kind_of(g.attrs().op().name) + "Grad";
  const auto is_sparse = g.attrs().boolean("sparse_gradient");
  if (is_sparse.ok() && *is_sparse) {
    const Endpoint shape = g.shape_node(g.input(0));
    const Endpoint rows =
        g.add(op + "V2", {g.grad(), g.input(1), g.input(2), first_dim(g, g.input(0))});
    g.set_input_grad(0, IndexedSlices{rows, {rows.node, 1}, shape});
    return {};
  }
  g.set_input_grad(0, g.add(op, {g.grad(), g.input(1), g.input(2), first_dim(g, g.input(0))}));
  return {};
}

Status sparse_segment_grads(GradContext& g) {
  // Its segments need not be in order, so that what goes back is not folded by the sparse op.
  const std::string kind = kind_of(g.attrs().op().name);
  const Endpoint rows = g.add("GatherV2", {g.grad(), g.input(1), first_axis(g)});
  const Endpoint segments = first_dim(g, g.input(0));
  Endpoint sums = g.add("UnsortedSegmentSum", {rows, g.input(2), segments});
  if (kind != "SparseSegmentSum") {
    const DType dtype = g.dtype(g.input(0));
    const Endpoint shape = g.add("Shape", {g.input(2)});
    const Endpoint ones = g.add("Fill", {shape, g.scalar(dtype, 1)});
    Endpoint number = g.add("UnsortedSegmentSum", {ones, g.input(2), segments});
    number = g.add("Maximum", {number, g.scalar(dtype, 1)});
    if (kind == "SparseSegmentSqrtN") number = g.add("Sqrt", {number});
    const Endpoint ranks = g.add("Sub", {g.add("Rank", {sums}), g.scalar(DType::i32, 1)});
    const Endpoint behind =
        g.add("Fill", {g.add("Reshape", {ranks, g.vector({1})}), g.scalar(DType::i32, 1)});
    const Endpoint column =
        g.add("ConcatV2", {g.vector({-1}), behind, first_axis(g)}, {{"N", int64_t{2}}});
    sums = g.add("RealDiv", {sums, g.add("Reshape", {number, column})});
  }
  g.set_input_grad(0, sums);
  return {};
}

}  // namespace millrace::grad
