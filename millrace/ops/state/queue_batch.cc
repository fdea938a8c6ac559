#include "millrace/ops/state/queue_batch.h"

#include <algorithm>

#include "millrace/ops/loops/strided_copy.h"
#include "millrace/ops/state/queue.h"

namespace millrace {
namespace {

Shape without_first(const Shape& shape) {
  return Shape::create(shape.dims().subspan(1)).value();  // fewer dims than a valid shape
}

// Puts `from`, which fits into `box`, into the corner of box number `position` of `to`.
void put(const Tensor& from, Tensor& to, int64_t position, const Shape& box) {
  const Strides own = row_major_strides(from.shape());
  const Strides wide = row_major_strides(box);
  copy_box(from.shape().dims(), from, {0, own}, to, {position * box.num_elements(), wide});
}

}  // namespace

Result<QueueBatch> split_rows(const QueueElement& components) {
  int64_t count = -1;
  for (size_t i = 0; i < components.size(); ++i) {
    const Shape& shape = components[i].shape();
    if (shape.rank() == 0)
      return invalid("component ", i, " of enqueue_many is a scalar; it needs rows");
    if (count >= 0 && shape[0] != count) {
      return invalid(
          "All input tuple components must have the same size in the 0th dimension. Component 0 "
          "has ",
          count, ", and should have ", shape[0]);
    }
    count = shape[0];
  }
  QueueBatch elements(static_cast<size_t>(std::max<int64_t>(count, 0)));
  for (const Tensor& component : components) {
    const Shape shape = without_first(component.shape());
    // Rows share the batch's buffer: to copy each costs an allocation a row, and a queue that is
    // used lets go of all of them soon.
    for (int64_t row = 0; row < count; ++row) {
      MR_ASSIGN(const Tensor slice, component.rows(row, row + 1));
      MR_ASSIGN(Tensor value, slice.reshaped(shape));
      elements[static_cast<size_t>(row)].push_back(std::move(value));
    }
  }
  return elements;
}

Status BatchRule::check() const {
  const bool all_known =
      std::all_of(shapes_.begin(), shapes_.end(), [this](const PartialShape& shape) {
        return pads_ ? shape.has_rank() : shape.is_fully_known();
      });
  if (shapes_.size() == types_.size() && all_known) return {};
  return invalid(kind_,
                 "'s DequeueMany and DequeueUpTo require the components to have specified shapes.");
}

Result<QueueElement> BatchRule::stack(const QueueBatch& batch) const {
  QueueElement stacked;
  for (size_t component = 0; component < types_.size(); ++component) {
    MR_ASSIGN(Tensor tensor, stack_component(batch, component));
    stacked.push_back(std::move(tensor));
  }
  return stacked;
}

Result<Tensor> BatchRule::stack_component(const QueueBatch& batch, size_t component) const {
  MR_ASSIGN(const Shape box, common_shape(batch, component));
  std::vector<int64_t> dims{static_cast<int64_t>(batch.size())};
  dims.insert(dims.end(), box.dims().begin(), box.dims().end());
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  // Padding must read as zeros; other batches are written in full.
  MR_ASSIGN(Tensor stacked, pads_ ? Tensor::zeros(types_[component], shape)
                                  : Tensor::allocate(types_[component], shape));
  for (size_t i = 0; i < batch.size(); ++i)
    put(batch[i][component], stacked, static_cast<int64_t>(i), box);
  return stacked;
}

Result<Shape> BatchRule::common_shape(const QueueBatch& batch, size_t component) const {
  // As long as the longest of this batch, not of the queue: batches differ in what they pad to.
  std::vector<int64_t> dims(shapes_[component].dims().begin(), shapes_[component].dims().end());
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] != kUnknownDim) continue;
    dims[axis] = 0;
    for (const QueueElement& element : batch)
      dims[axis] = std::max(dims[axis], element[component].shape()[static_cast<int>(axis)]);
  }
  return Shape::create(dims);
}

BatchRule batch_rule(const QueueSpec& spec) {
  return BatchRule(spec.kind(), spec.types, spec.shapes, spec.kind() == "PaddingFIFOQueue");
}

}  // namespace millrace
