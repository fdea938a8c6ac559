#include "millrace/ops/loops/broadcast_gradient.h"

#include <algorithm>

namespace millrace {

BroadcastGradient::BroadcastGradient(GradContext& g, Endpoint a, Endpoint b, int trailing)
    : g_(g), operands_{a, b}, trailing_(trailing) {
  is_known_ = g.shape(a).is_fully_known() && g.shape(b).is_fully_known();
}

// Without the last axes.
Endpoint BroadcastGradient::leading_dims(Endpoint shape) {
  if (trailing_ == 0) return shape;
  return g_.add("StridedSlice", {shape, g_.vector({0}), g_.vector({-trailing_}), g_.vector({1})},
                {{"begin_mask", int64_t{1}}});
}

Endpoint BroadcastGradient::reduced(Endpoint gradient, int operand) {
  if (is_known_) return reduced_as_known(gradient, operand);
  if (axes_.node == kNoNode) {
    for (int i = 0; i < 2; ++i) shapes_[i] = g_.add("Shape", {operands_[i]});
    axes_ = g_.add("BroadcastGradientArgs", {leading_dims(shapes_[0]), leading_dims(shapes_[1])});
  }
  const Endpoint sum = g_.add("Sum", {gradient, Endpoint{axes_.node, operand}});
  return g_.add("Reshape", {sum, shapes_[operand]});
}

Endpoint BroadcastGradient::reduced_as_known(Endpoint gradient, int operand) {
  const PartialShape own = g_.shape(operands_[operand]), other = g_.shape(operands_[1 - operand]);
  const int rank = std::max(own.rank(), other.rank());
  const auto dim = [rank](const PartialShape& shape, int axis) {
    const int at = axis - (rank - shape.rank());
    return at < 0 ? 1 : shape.dim(at);
  };
  std::vector<int64_t> axes;
  for (int axis = 0; axis < rank - trailing_; ++axis) {
    if (dim(own, axis) == 1 && dim(other, axis) != 1) axes.push_back(axis);
  }
  const bool is_shorter = own.rank() < rank;
  if (axes.empty() && !is_shorter) return gradient;
  const Endpoint sum = axes.empty() ? gradient : g_.add("Sum", {gradient, g_.vector(axes)});
  return g_.add("Reshape", {sum, g_.vector(own.dims())});
}

}  // namespace millrace
