#include "millrace/ops/queue_batch.h"

#include <algorithm>
#include <cstring>

#include "millrace/ops/queue.h"

namespace millrace {
namespace {

Shape without_first(const Shape& shape) {
  return Shape::create(shape.dims().subspan(1)).value();  // fewer dims than a valid shape
}

// Copies the elements of `from`, whose shape fits into `box`, to the corner of the box at element
// `begin` of `to`. T: the C++ type, or a byte array as wide as a plain element.
template <class T>
void copy_into_box(const T* from, const Shape& shape, T* to, const Shape& box) {
  const int rank = shape.rank();
  if (rank == 0) {
    *to = *from;
    return;
  }
  const int64_t row = shape[rank - 1];
  const int64_t rows = row == 0 ? 0 : shape.num_elements() / row;
  std::vector<int64_t> index(rank, 0);
  for (int64_t r = 0; r < rows; ++r) {
    int64_t offset = 0;
    for (int axis = 0; axis < rank; ++axis) offset = offset * box[axis] + index[axis];
    std::copy(from + r * row, from + (r + 1) * row, to + offset);
    for (int axis = rank - 2; axis >= 0 && ++index[axis] == shape[axis]; --axis) index[axis] = 0;
  }
}

template <size_t kSize>
struct Plain {
  unsigned char bytes[kSize];
};

template <class T>
void copy_typed(const Tensor& from, Tensor& to, int64_t position, const Shape& box) {
  auto* target = static_cast<T*>(to.mutable_data()) + position * box.num_elements();
  copy_into_box(static_cast<const T*>(from.data()), from.shape(), target, box);
}

Status copy_element(const Tensor& from, Tensor& to, int64_t position, const Shape& box) {
  const DType dtype = from.dtype();
  if (dtype == DType::string) return copy_typed<std::string>(from, to, position, box), Status();
  if (dtype == DType::resource)
    return copy_typed<ResourceHandle>(from, to, position, box), Status();
  if (dtype == DType::variant) return copy_typed<Variant>(from, to, position, box), Status();
  if (from.shape() == box) {
    const size_t bytes = from.num_bytes();
    if (bytes > 0)
      std::memcpy(static_cast<char*>(to.mutable_data()) + position * bytes, from.data(), bytes);
    return {};
  }
  switch (dtype_size(dtype)) {
    case 1:
      return copy_typed<Plain<1>>(from, to, position, box), Status();
    case 2:
      return copy_typed<Plain<2>>(from, to, position, box), Status();
    case 4:
      return copy_typed<Plain<4>>(from, to, position, box), Status();
    case 8:
      return copy_typed<Plain<8>>(from, to, position, box), Status();
    case 16:
      return copy_typed<Plain<16>>(from, to, position, box), Status();
    default:
      return unimplemented("padding elements of type ", dtype_name(dtype));
  }
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
  MR_ASSIGN(Tensor stacked, pads_ ? Tensor::zeros(types_[component], shape)
                                  : Tensor::allocate(types_[component], shape));
  for (size_t i = 0; i < batch.size(); ++i)
    MR_TRY(copy_element(batch[i][component], stacked, static_cast<int64_t>(i), box));
  return stacked;
}

Result<Shape> BatchRule::common_shape(const QueueBatch& batch, size_t component) const {
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
