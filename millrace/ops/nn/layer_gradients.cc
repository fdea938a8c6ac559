// Part of gradients.h: of biases, of softmax and its losses, and of the largest of each row.
#include "millrace/ops/loops/broadcast_gradient.h"
#include "millrace/ops/nn/gradients.h"

namespace millrace::grad {
namespace {

// --- biases ---

Status biased(GradContext& g, std::string format) {
  const Endpoint arriving = g.grad();
  if (g.is_needed(0)) g.set_input_grad(0, arriving);
  if (!g.is_needed(1)) return {};
  g.set_input_grad(1, g.add("BiasAddGrad", {arriving}, {{"data_format", std::move(format)}}));
  return {};
}

// A channel's value as [channels, 1, 1 …]: in front of what follows axis 1 of `like`.
Endpoint as_column(GradContext& g, Endpoint channels, Endpoint like) {
  const PartialShape shape = g.shape(like);
  if (shape.has_rank()) {
    std::vector<int64_t> dims(static_cast<size_t>(shape.rank() - 1), 1);
    dims.front() = -1;
    return g.add("Reshape", {channels, g.vector(dims)});
  }
  const Endpoint one = g.scalar(DType::i32, 1);
  const Endpoint behind = g.add("Sub", {g.add("Rank", {like}), g.scalar(DType::i32, 2)});
  const Endpoint ones = g.add("Fill", {g.add("Reshape", {behind, g.vector({1})}), one});
  const Endpoint dims =
      g.add("ConcatV2", {g.vector({-1}), ones, g.scalar(DType::i32, 0)}, {{"N", int64_t{2}}});
  return g.add("Reshape", {channels, dims});
}

// --- softmax ---

// Sums of rows, with the last axis as 1.
Endpoint row_sums(GradContext& g, Endpoint of) {
  return g.add("Sum", {of, g.scalar(DType::i32, -1)}, {{"keep_dims", true}});
}

// How softmax moves: (moved - sum(moved * softmax)) * softmax.
Endpoint through_softmax(GradContext& g, Endpoint moved, Endpoint softmax) {
  const Endpoint sums = row_sums(g, g.add("Mul", {moved, softmax}));
  return g.add("Mul", {g.add("Sub", {moved, sums}), softmax});
}

// A number per row times a row.
Endpoint scaled_rows(GradContext& g, Endpoint scale, Endpoint rows) {
  return g.add("Mul", {g.add("ExpandDims", {scale, g.scalar(DType::i32, -1)}), rows});
}

// The sum of what there is.
struct Total {
  GradContext& g;
  std::optional<Endpoint> sum = {};

  void add(Endpoint part) { sum = sum ? g.add("AddV2", {*sum, part}) : part; }
};

// By the logits of a loss that has its own gradient by them as output 1. `logits` are of its shape.
Total by_logits(GradContext& g, Endpoint logits) {
  Total total{g};
  if (g.has_grad(0)) total.add(scaled_rows(g, g.grad(0), g.output(1)));
  if (g.has_grad(1)) total.add(through_softmax(g, g.grad(1), g.add("Softmax", {logits})));
  return total;
}

// The logits in the shape that they and the labels broadcast to.
Endpoint broadcast_logits(GradContext& g) {
  const std::optional<Shape> from = g.shape(g.input(0)).to_shape();
  const std::optional<Shape> to = g.shape(g.output(1)).to_shape();
  if (from && to && *from == *to) return g.input(0);
  return g.add("BroadcastTo", {g.input(0), g.shape_node(g.output(1))});
}

}  // namespace

Status bias_add(GradContext& g) {
  MR_ASSIGN(std::string format, g.attrs().string("data_format"));
  return biased(g, std::move(format));
}
Status bias_add_v1(GradContext& g) { return biased(g, "NHWC"); }

Status bias_add_grad(GradContext& g) {
  MR_ASSIGN(const std::string format, g.attrs().string("data_format"));
  const Endpoint value = g.input(0);
  const Endpoint channels = format == "NCHW" ? as_column(g, g.grad(), value) : g.grad();
  g.set_input_grad(0, g.add("BroadcastTo", {channels, g.shape_node(value)}));
  return {};
}

Status softmax(GradContext& g) {
  g.set_input_grad(0, through_softmax(g, g.grad(), g.output(0)));
  return {};
}

Status log_softmax(GradContext& g) {
  const Endpoint arriving = g.grad();
  const Endpoint share = g.add("Mul", {row_sums(g, arriving), g.add("Exp", {g.output(0)})});
  g.set_input_grad(0, g.add("Sub", {arriving, share}));
  return {};
}

Status cross_entropy(GradContext& g) {
  const Endpoint logits = broadcast_logits(g);
  BroadcastGradient shapes(g, g.input(0), g.input(1));
  if (g.is_needed(0)) {
    if (const Total total = by_logits(g, logits); total.sum)
      g.set_input_grad(0, shapes.to_a(*total.sum));
  }
  if (!g.is_needed(1)) return {};
  Total by_labels{g};
  if (g.has_grad(0))
    by_labels.add(scaled_rows(g, g.grad(0), g.add("Neg", {g.add("LogSoftmax", {logits})})));
  if (g.has_grad(1)) by_labels.add(g.add("Neg", {g.grad(1)}));
  if (by_labels.sum) g.set_input_grad(1, shapes.to_b(*by_labels.sum));
  return {};
}

Status sparse_cross_entropy(GradContext& g) {
  if (const Total total = by_logits(g, g.input(0)); total.sum) g.set_input_grad(0, *total.sum);
  return {};
}

// What arrives goes to the places that were chosen. As a flat vector: the places of a row, and how
// many elements come before the row.
Status top(GradContext& g) {
  const Endpoint input = g.input(0), arriving = g.grad(0);
  const Attrs wide = {{"DstT", DType::i64}};
  const auto whole = [&](int64_t value) {
    return g.scalar(DType::i64, static_cast<double>(value));
  };
  const Endpoint dims = g.add("Shape", {input}, {{"out_type", DType::i64}});
  const Endpoint last = g.vector({-1}), one = g.vector({1});
  const Endpoint leading = g.add("StridedSlice", {dims, g.vector({0}), last, one});
  const Endpoint columns =
      g.add("StridedSlice", {dims, last, g.vector({0}), one}, {{"shrink_axis_mask", int64_t{1}}});
  const Endpoint axis = g.scalar(DType::i32, 0);
  const Endpoint rows = g.add("Range", {whole(0), g.add("Prod", {leading, axis}), whole(1)});
  const Endpoint kept =
      g.add("ConcatV2", {leading, g.add("Cast", {one}, wide), axis}, {{"N", int64_t{2}}});
  const Endpoint before = g.add("Reshape", {g.add("Mul", {rows, columns}), kept});
  const Endpoint places = g.add("AddV2", {g.add("Cast", {g.output(1)}, wide), before});
  const Endpoint sums =
      g.add("UnsortedSegmentSum", {g.add("Reshape", {arriving, last}),
                                   g.add("Reshape", {places, last}), g.add("Size", {input})});
  g.set_input_grad(0, g.add("Reshape", {sums, dims}));
  return {};
}

// What arrives goes to the places that were chosen. As a flat vector: where the line begins, which
// is the smallest of its places, and so many steps from there as what is behind the axis has
// elements.
Status top_along_axis(GradContext& g) {
  MR_ASSIGN(const int64_t axis, g.attrs().integer("reduction_dimension"));
  const Endpoint input = g.input(0), arriving = g.grad(0);
  const Endpoint flat = g.vector({-1}), all = g.scalar(DType::i32, 0);
  const Endpoint dims = g.add("Shape", {input}, {{"out_type", DType::i64}});
  const Endpoint size = g.add("Prod", {dims, all});
  const Endpoint counted = g.add("Range", {g.scalar(DType::i64, 0), size, g.scalar(DType::i64, 1)});
  const Endpoint starts =
      g.add("Min", {g.add("Reshape", {counted, dims}), g.vector({axis})}, {{"keep_dims", true}});
  Endpoint steps = g.add("Cast", {g.output(1)}, {{"DstT", DType::i64}});
  if (axis != -1) {
    const Endpoint behind =
        g.add("StridedSlice", {dims, g.vector({axis + 1}), g.vector({0}), g.vector({1})},
              {{"end_mask", int64_t{1}}});
    steps = g.add("Mul", {steps, g.add("Prod", {behind, all})});
  }
  const Endpoint places = g.add("AddV2", {starts, steps});
  const Endpoint sums = g.add("UnsortedSegmentSum", {g.add("Reshape", {arriving, flat}),
                                                     g.add("Reshape", {places, flat}), size});
  g.set_input_grad(0, g.add("Reshape", {sums, dims}));
  return {};
}

}  // namespace millrace::grad
