#include "millrace/ops/state/tensor_array.h"

#include <algorithm>

#include "millrace/ops/loops/sums.h"

namespace millrace {

Result<std::shared_ptr<TensorArray>> TensorArray::create(TensorArrayOptions options, int64_t size) {
  if (size < 0) return invalid("Size should be >= 0, but is ", size);
  if (size > kLongest) {
    return invalid("TensorArray ", options.name, " is asked to hold ", size, " elements; at most ",
                   kLongest, " are supported");
  }
  return std::make_shared<TensorArray>(std::move(options), size);
}

int64_t TensorArray::size() const {
  MutexLock lock(mutex_);
  return size_;
}

PartialShape TensorArray::element_shape() const {
  MutexLock lock(mutex_);
  return element_shape_;
}

Status TensorArray::narrow_element_shape(const PartialShape& declared) {
  MutexLock lock(mutex_);
  MR_ASSIGN(element_shape_, element_shape_.merge(declared));
  return {};
}

void TensorArray::close_array() {
  // Declared before the lock, and so freed after it: elements may be large.
  std::vector<Element> dropped;
  MutexLock lock(mutex_);
  closed_ = true;
  dropped.swap(elements_);
}

std::string TensorArray::description() const {
  return str_cat("TensorArray ", options_.name, " of ", size(), " ", dtype_name(options_.dtype));
}

Status TensorArray::check(int64_t index) const {
  if (closed_) return invalid("TensorArray ", options_.name, " has already been closed.");
  if (index < 0) return invalid("TensorArray ", options_.name, ": index ", index, " is negative");
  return {};
}

Status TensorArray::check_value(int64_t index, const Tensor& value) {
  if (value.dtype() != options_.dtype) {
    return invalid("TensorArray dtype is ", dtype_name(options_.dtype),
                   " but Op is trying to write dtype ", dtype_name(value.dtype()), ".");
  }
  if (!element_shape_.allows(value.shape())) {
    return invalid("TensorArray ", options_.name, ": Could not write to TensorArray index ", index,
                   " because the value shape is ", value.shape().to_string(),
                   " which is incompatible with the TensorArray's inferred element shape: ",
                   element_shape_.to_string(), " (consider setting infer_shape=False).");
  }
  if (options_.elements_are_alike) element_shape_ = value.shape();
  return {};
}

Status TensorArray::write(int64_t index, Tensor value) {
  MutexLock lock(mutex_);
  MR_TRY(check(index));
  if (index >= size_) {
    if (!options_.grows) {
      return invalid("TensorArray ", options_.name, ": Tried to write to index ", index,
                     " but array is not resizeable and size is: ", size_);
    }
    if (index >= kLongest) {
      return invalid("TensorArray ", options_.name, ": Tried to write to index ", index,
                     "; at most ", kLongest, " elements are supported");
    }
    size_ = index + 1;
  }
  MR_TRY(check_value(index, value));
  if (index >= static_cast<int64_t>(elements_.size())) elements_.resize(index + 1);
  Element& element = elements_[index];
  if (element.was_read) {
    return invalid("TensorArray ", options_.name, ": Could not write to TensorArray index ", index,
                   " because it has already been read.");
  }
  if (options_.is_gradient && element.shape && *element.shape != value.shape()) {
    return invalid("TensorArray ", options_.name, ": Could not aggregate to TensorArray index ",
                   index, " because the existing shape is ", element.shape->to_string(),
                   " but the new input shape is ", value.shape().to_string(), ".");
  }
  if (element.was_written && options_.is_gradient) return add(index, value);
  if (element.was_written) {
    return invalid("TensorArray ", options_.name, ": Could not write to TensorArray index ", index,
                   " because it has already been written to.");
  }
  element.shape = value.shape();
  element.value = std::move(value);
  element.was_written = true;
  return {};
}

Status TensorArray::add(int64_t index, const Tensor& value) {
  Element& element = elements_[index];
  const cpu::BinaryLoop loop = cpu::addition_loop(options_.dtype);
  if (loop == nullptr) {
    return invalid("TensorArray ", options_.name, ": gradients of type ",
                   dtype_name(options_.dtype), " can't be added up");
  }
  // A new tensor: who wrote the old one may hold it still.
  MR_ASSIGN(Tensor sum, Tensor::allocate(options_.dtype, value.shape()));
  loop(element.value.data(), 1, value.data(), 1, sum.mutable_data(), sum.num_elements());
  element.value = std::move(sum);
  return {};
}

Status TensorArray::take_shapes_of(const TensorArray& source, std::span<const int64_t> lead) {
  // One lock after the other, never both: a gradient has gradients, too, and no order would hold.
  std::vector<std::optional<Shape>> shapes;
  int64_t pieces = 0;
  {
    MutexLock lock(source.mutex_);
    for (const Element& element : source.elements_) shapes.push_back(element.shape);
    pieces = source.pieces_;
  }
  for (std::optional<Shape>& shape : shapes) {
    if (!shape || lead.empty()) continue;
    std::vector<int64_t> dims(lead.begin(), lead.end());
    dims.insert(dims.end(), shape->dims().begin(), shape->dims().end());
    MR_ASSIGN(shape, Shape::create(dims));
  }
  MutexLock lock(mutex_);
  elements_.resize(std::max(elements_.size(), shapes.size()));
  for (size_t i = 0; i < shapes.size(); ++i) elements_[i].shape = shapes[i];
  pieces_ = pieces;
  return {};
}

int64_t TensorArray::join_size() const {
  MutexLock lock(mutex_);
  return options_.is_gradient ? pieces_ : size_;
}

void TensorArray::note_pieces(int64_t count) {
  MutexLock lock(mutex_);
  if (!options_.is_gradient) pieces_ = count;
}

Result<Tensor> TensorArray::read(int64_t index, DType dtype) {
  MutexLock lock(mutex_);
  MR_TRY(check(index));
  if (dtype != options_.dtype) {
    return invalid("TensorArray dtype is ", dtype_name(options_.dtype), " but Op requested dtype ",
                   dtype_name(dtype), ".");
  }
  if (index >= size_) {
    // An array of gradients may be as old as what it belongs to, which has grown since.
    if (!options_.is_gradient || index >= kLongest) {
      return invalid("TensorArray ", options_.name, ": Tried to read from index ", index,
                     " but array size is: ", size_);
    }
    size_ = index + 1;
  }
  if (index >= static_cast<int64_t>(elements_.size())) elements_.resize(index + 1);
  Element& element = elements_[index];
  if (element.was_written && !element.value.has_value()) {
    return invalid("TensorArray ", options_.name, ": Could not read index ", index,
                   " twice because it was cleared after a previous read (perhaps try setting "
                   "clear_after_read = false?).");
  }
  if (!element.was_written) {
    const auto shape = element.shape ? element.shape : element_shape_.to_shape();
    if (!shape) {
      return invalid(
          "TensorArray ", options_.name, ": Could not read from TensorArray index ", index,
          ". Furthermore, the element shape is not fully defined: ", element_shape_.to_string(),
          ". It is possible you are working with a resizeable TensorArray and "
          "stop_gradients is not allowing the gradients to be written. If you set the full "
          "element_shape property on the forward TensorArray, the proper all-zeros tensor will be "
          "returned instead of incurring this error.");
    }
    MR_ASSIGN(element.value, Tensor::zeros(options_.dtype, *shape));
    element.was_written = true;
  }
  element.was_read = true;
  if (!options_.forgets_what_was_read) return element.value;
  return std::exchange(element.value, Tensor());
}

}  // namespace millrace
