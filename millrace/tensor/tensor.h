// Tensor: a typed n-dimensional value on a shared buffer.
//
// A Tensor is a cheap handle: copying it shares the buffer. A buffer that may be shared is never
// written to; who wants to write asks `is_sole_owner()` first, or makes a new tensor. Elements are
// dense and row-major. Any thread may read; the handle itself is a value like any other.
//
//   MR_ASSIGN(Tensor t, Tensor::allocate(DType::f32, {2, 3}));
//   t.mutable_flat<float>()[0] = 1.5f;
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "millrace/tensor/buffer.h"
#include "millrace/tensor/dtype.h"
#include "millrace/tensor/resource_handle.h"
#include "millrace/tensor/shape.h"

namespace millrace {

class Tensor {
 public:
  // No value: dtype invalid, no buffer. What an uninitialised variable holds.
  Tensor() = default;

  // Uninitialised elements (default-constructed for string, resource and variant).
  // Errors: INVALID_ARGUMENT for dtype invalid or a byte size over 2^63 - 1; RESOURCE_EXHAUSTED.
  static Result<Tensor> allocate(DType dtype, const Shape& shape);
  // All elements zero, false, "" or the default handle.
  static Result<Tensor> zeros(DType dtype, const Shape& shape);
  // On existing bytes, which must hold exactly the elements of a plain dtype.
  // Errors: INVALID_ARGUMENT if `buffer` is shorter than needed from `offset`, if the dtype is not
  // plain, or if the address is not aligned for an element (copy the bytes then).
  static Result<Tensor> on_buffer(DType dtype, const Shape& shape, std::shared_ptr<Buffer> buffer,
                                  size_t offset = 0);
  // A scalar: Tensor::scalar(3.0f), Tensor::scalar(std::string("x")).
  template <class T>
  static Tensor scalar(T value);
  // A vector (rank 1) of the given elements.
  template <class T>
  static Tensor vector(std::span<const T> values);
  template <class T>
  static Tensor vector(std::initializer_list<T> values) {
    return vector<T>(std::span<const T>(values.begin(), values.size()));
  }
  // Elements in row-major order for a shape with as many elements (checked; aborts otherwise).
  template <class T>
  static Tensor of(const Shape& shape, std::initializer_list<T> values);

  bool has_value() const { return dtype_ != DType::invalid; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t num_elements() const { return shape_.num_elements(); }
  // Bytes of the elements as stored; for non-plain dtypes the size of the C++ objects alone.
  size_t num_bytes() const { return static_cast<size_t>(num_elements()) * dtype_size(dtype_); }

  // The elements. T must be the C++ type of the dtype (checked; aborts otherwise).
  template <class T>
  std::span<const T> flat() const;
  template <class T>
  std::span<T> mutable_flat();
  // The only element of a scalar or of a one-element tensor.
  template <class T>
  const T& item() const {
    return flat<T>()[0];
  }
  // The raw bytes; plain dtypes only.
  const void* data() const { return data_; }
  void* mutable_data() { return data_; }
  std::string_view bytes() const { return {static_cast<const char*>(data_), num_bytes()}; }

  // True if no other tensor shares the buffer, so that it may be written to or reused. Never true
  // for memory that is lent for a step.
  bool is_sole_owner() const;
  const std::shared_ptr<Buffer>& buffer() const { return buffer_; }

  // The same elements under another shape. Errors: INVALID_ARGUMENT if the counts differ.
  Result<Tensor> reshaped(const Shape& shape) const;
  // Rows [begin, end) of the outermost axis, sharing the buffer. Requires rank >= 1 and a range
  // inside it (INVALID_ARGUMENT otherwise).
  Result<Tensor> rows(int64_t begin, int64_t end) const;
  // A copy with a buffer of its own.
  Result<Tensor> clone() const;
  // What may be kept beyond the step that it came with: this tensor, or a copy if its memory is
  // only lent (Buffer::borrow_for_step). Errors: RESOURCE_EXHAUSTED.
  Result<Tensor> kept() const;

  // Same dtype, shape and elements (NaN equals nothing; variants compare by type and metadata).
  friend bool operator==(const Tensor& a, const Tensor& b);

  // "int32[3] 1 2 3", cut after `max_elements`.
  std::string to_string(int max_elements = 16) const;

 private:
  [[noreturn]] void wrong_type(DType asked) const;

  DType dtype_ = DType::invalid;
  Shape shape_;
  std::shared_ptr<Buffer> buffer_;
  void* data_ = nullptr;  // into buffer_
};

template <class T>
std::span<const T> Tensor::flat() const {
  if (dtype_of<T> != dtype_) wrong_type(dtype_of<T>);
  return {static_cast<const T*>(data_), static_cast<size_t>(num_elements())};
}

template <class T>
std::span<T> Tensor::mutable_flat() {
  if (dtype_of<T> != dtype_) wrong_type(dtype_of<T>);
  return {static_cast<T*>(data_), static_cast<size_t>(num_elements())};
}

template <class T>
Tensor Tensor::scalar(T value) {
  Tensor made = Tensor::allocate(dtype_of<T>, Shape()).value();
  *static_cast<T*>(made.data_) = std::move(value);
  return made;
}

template <class T>
Tensor Tensor::vector(std::span<const T> values) {
  Tensor made = Tensor::allocate(dtype_of<T>, Shape{static_cast<int64_t>(values.size())}).value();
  std::copy(values.begin(), values.end(), static_cast<T*>(made.data_));
  return made;
}

template <class T>
Tensor Tensor::of(const Shape& shape, std::initializer_list<T> values) {
  return vector<T>(values).reshaped(shape).value();
}

}  // namespace millrace
