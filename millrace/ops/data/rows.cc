#include "millrace/ops/data/rows.h"

#include <algorithm>
#include <cstring>

namespace millrace::data {
namespace {

Result<Shape> shape_of_rows(int64_t count, const Shape& row) {
  std::vector<int64_t> dims{count};
  dims.insert(dims.end(), row.dims().begin(), row.dims().end());
  return Shape::create(dims);
}

Status check_same_shapes(std::span<Element> elements, size_t component) {
  const Shape& first = elements[0][component].shape();
  for (size_t i = 1; i < elements.size(); ++i) {
    const Shape& shape = elements[i][component].shape();
    if (shape == first) continue;
    return invalid("Cannot batch tensors with different shapes in component ", component,
                   ". First element had shape ", first.to_string(), " and element ", i,
                   " had shape ", shape.to_string(), ".");
  }
  return {};
}

// Rows that were cut from one tensor in a row.
bool lie_in_a_row(std::span<Element> elements, size_t component) {
  const Tensor& first = elements[0][component];
  const auto* expected = static_cast<const char*>(first.data());
  for (const Element& element : elements) {
    const Tensor& row = element[component];
    if (row.buffer() != first.buffer() || row.data() != expected) return false;
    expected += first.num_bytes();
  }
  return first.num_bytes() > 0;
}

// Calls copy(to, from, count) for the rows of `from`'s innermost axis, into the place that they
// have in `to`, which is of shape `row`.
template <class Copy>
void for_each_line(const Shape& from, const Shape& row, Copy copy) {
  const int rank = from.rank();
  if (from.num_elements() == 0) return;
  if (rank == 0) return copy(0, 0, 1);
  std::vector<int64_t> index(static_cast<size_t>(rank), 0);
  const int64_t line = from.dim(rank - 1);
  for (int64_t read = 0; read < from.num_elements(); read += line) {
    int64_t write = 0;
    for (int axis = 0; axis < rank; ++axis) write = write * row.dim(axis) + index[axis];
    copy(write, read, line);
    for (int axis = rank - 2; axis >= 0 && ++index[axis] == from.dim(axis); --axis) index[axis] = 0;
  }
}

template <class T>
void pad_objects(Tensor& made, std::span<Element> elements, size_t component, const Shape& row,
                 const Tensor& padding) {
  const std::span<T> all = made.mutable_flat<T>();
  std::ranges::fill(all, padding.item<T>());
  for (size_t i = 0; i < elements.size(); ++i) {
    const Tensor& from = elements[i][component];
    const std::span<const T> values = from.flat<T>();
    const size_t base = i * static_cast<size_t>(row.num_elements());
    for_each_line(from.shape(), row, [&](int64_t write, int64_t read, int64_t count) {
      for (int64_t k = 0; k < count; ++k) all[base + write + k] = values[read + k];
    });
  }
}

void pad_bytes(Tensor& made, std::span<Element> elements, size_t component, const Shape& row,
               const Tensor& padding) {
  const size_t size = dtype_size(made.dtype());
  char* const all = static_cast<char*>(made.mutable_data());
  for (int64_t k = 0; k < made.num_elements(); ++k)
    std::memcpy(all + static_cast<size_t>(k) * size, padding.data(), size);
  for (size_t i = 0; i < elements.size(); ++i) {
    const Tensor& from = elements[i][component];
    const char* values = static_cast<const char*>(from.data());
    char* const to = all + i * static_cast<size_t>(row.num_elements()) * size;
    for_each_line(from.shape(), row, [&](int64_t write, int64_t read, int64_t count) {
      std::memcpy(to + static_cast<size_t>(write) * size, values + static_cast<size_t>(read) * size,
                  static_cast<size_t>(count) * size);
    });
  }
}

template <class T>
void copy_objects(Tensor& made, std::span<Element> elements, size_t component) {
  auto to = made.mutable_flat<T>().begin();
  for (const Element& element : elements)
    to = std::ranges::copy(element[component].flat<T>(), to).out;
}

}  // namespace

Result<Tensor> row_of(const Tensor& tensor, int64_t index) {
  MR_ASSIGN(const Tensor rows, tensor.rows(index, index + 1));
  MR_ASSIGN(const Shape shape, Shape::create(tensor.shape().dims().subspan(1)));
  return rows.reshaped(shape);
}

Result<Tensor> stacked(std::span<Element> elements, size_t component) {
  MR_TRY(check_same_shapes(elements, component));
  const Tensor& first = elements[0][component];
  MR_ASSIGN(const Shape shape, shape_of_rows(static_cast<int64_t>(elements.size()), first.shape()));
  const DType dtype = first.dtype();
  if (is_plain(dtype) && lie_in_a_row(elements, component)) {
    const auto* base = static_cast<const char*>(first.buffer()->data());
    return Tensor::on_buffer(dtype, shape, first.buffer(),
                             static_cast<size_t>(static_cast<const char*>(first.data()) - base));
  }
  MR_ASSIGN(Tensor made, Tensor::allocate(dtype, shape));
  if (dtype == DType::string) {
    copy_objects<std::string>(made, elements, component);
  } else if (dtype == DType::variant) {
    copy_objects<Variant>(made, elements, component);
  } else if (dtype == DType::resource) {
    copy_objects<ResourceHandle>(made, elements, component);
  } else {
    char* to = static_cast<char*>(made.mutable_data());
    const size_t size = first.num_bytes();
    for (const Element& element : elements) {
      if (size > 0) std::memcpy(to, element[component].data(), size);
      to += size;
    }
  }
  return made;
}

Result<Tensor> stacked_and_padded(std::span<Element> elements, size_t component, const Shape& row,
                                  const Tensor& padding) {
  MR_ASSIGN(const Shape shape, shape_of_rows(static_cast<int64_t>(elements.size()), row));
  MR_ASSIGN(Tensor made, Tensor::allocate(padding.dtype(), shape));
  if (made.dtype() == DType::string) {
    pad_objects<std::string>(made, elements, component, row, padding);
  } else if (made.dtype() == DType::variant) {
    pad_objects<Variant>(made, elements, component, row, padding);
  } else if (is_plain(made.dtype())) {
    pad_bytes(made, elements, component, row, padding);
  } else {
    return unimplemented("padding elements of type ", dtype_name(made.dtype()));
  }
  return made;
}

}  // namespace millrace::data
