#include "millrace/op/infer.h"

#include <algorithm>

namespace millrace {

InferContext::InferContext(AttrView attrs, std::span<const PartialShape> inputs,
                           std::span<const Tensor* const> constants, int num_outputs,
                           const AskElements* ask)
    : attrs_(attrs), inputs_(inputs), constants_(constants), ask_(ask), outputs_(num_outputs) {}

const Tensor* InferContext::constant(int slot) const {
  return static_cast<size_t>(slot) < constants_.size() ? constants_[slot] : nullptr;
}

std::optional<KnownElements> InferContext::elements(int slot) const {
  if (const Tensor* held = constant(slot)) return elements_of(*held);
  return ask_ ? (*ask_)(slot) : std::nullopt;
}

std::optional<std::vector<int64_t>> InferContext::all_elements(int slot) const {
  const auto known = elements(slot);
  if (!known) return std::nullopt;
  std::vector<int64_t> all;
  for (const std::optional<int64_t>& each : *known) {
    if (!each) return std::nullopt;
    all.push_back(*each);
  }
  return all;
}

std::optional<KnownElements> elements_of_input(const InferContext& context) {
  return context.elements(0);
}

std::optional<KnownElements> elements_of(const Tensor& tensor) {
  // More than any shape has: what is longer says no sizes.
  constexpr int64_t kMost = int64_t{4} * kMaxRank;
  if (tensor.shape().rank() > 1 || tensor.num_elements() > kMost) return std::nullopt;
  if (tensor.dtype() == DType::i32)
    return KnownElements(tensor.flat<int32_t>().begin(), tensor.flat<int32_t>().end());
  if (tensor.dtype() == DType::i64)
    return KnownElements(tensor.flat<int64_t>().begin(), tensor.flat<int64_t>().end());
  return std::nullopt;
}

Result<PartialShape> InferContext::input_of_rank(int slot, int rank) const {
  const PartialShape& shape = inputs_[slot];
  if (!shape.has_rank()) return PartialShape::of_rank(rank);
  if (shape.rank() == rank) return shape;
  return invalid("Shape must be rank ", rank, " but is rank ", shape.rank(), ": input ", slot,
                 " of ", attrs_.op().name, " has shape ", shape.to_string());
}

namespace infer {

Status same_as_input(InferContext& context) {
  context.set_output(0, context.input(0));
  return {};
}

Status broadcast(InferContext& context) {
  MR_ASSIGN(PartialShape shape, broadcast_shapes(context.input(0), context.input(1)));
  context.set_output(0, std::move(shape));
  return {};
}

Status scalar(InferContext& context) {
  for (int slot = 0; slot < context.num_outputs(); ++slot)
    context.set_output(slot, PartialShape::scalar());
  return {};
}

Status shape_attr(InferContext& context) {
  MR_ASSIGN(PartialShape shape, context.attrs().shape("shape"));
  context.set_output(0, std::move(shape));
  return {};
}

Status no_outputs(InferContext&) { return {}; }

Status unknown(InferContext&) { return {}; }

}  // namespace infer

namespace {

template <class AnyShape>
Status no_broadcast(const AnyShape& a, const AnyShape& b) {
  return invalid("Incompatible shapes: ", a.to_string(), " vs. ", b.to_string());
}

// What two dims, one of which may be unknown, become; nullopt if they never fit.
std::optional<int64_t> broadcast_dim(int64_t a, int64_t b) {
  if (a == b) return a;
  if (a == 1) return b;
  if (b == 1) return a;
  if (a == kUnknownDim) return b;
  if (b == kUnknownDim) return a;
  return std::nullopt;
}

template <class AnyShape>
Result<Shape::Dims> broadcast_dims(const AnyShape& a, const AnyShape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Shape::Dims dims(rank, 1);
  for (int axis = 0; axis < rank; ++axis) {
    const int from_a = axis - (rank - a.rank());
    const int from_b = axis - (rank - b.rank());
    const auto dim = broadcast_dim(from_a < 0 ? 1 : a.dim(from_a), from_b < 0 ? 1 : b.dim(from_b));
    if (!dim) return no_broadcast(a, b);
    dims[axis] = *dim;
  }
  return dims;
}

}  // namespace

Result<PartialShape> broadcast_shapes(const PartialShape& a, const PartialShape& b) {
  if (!a.has_rank() || !b.has_rank()) return PartialShape::unknown();
  MR_ASSIGN(const Shape::Dims dims, broadcast_dims(a, b));
  return PartialShape::create(dims);
}

Result<Shape> broadcast_shapes(const Shape& a, const Shape& b) {
  if (a == b) return a;
  MR_ASSIGN(const Shape::Dims dims, broadcast_dims(a, b));
  return Shape::create(dims);
}

}  // namespace millrace
