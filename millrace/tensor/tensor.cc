#include "millrace/tensor/tensor.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/tensor/object_array.h"
#include "millrace/tensor/visit_dtype.h"

namespace millrace {
namespace {

Result<size_t> byte_size(DType dtype, const Shape& shape) {
  if (dtype_size(dtype) == 0)
    return invalid("a tensor of shape ", shape.to_string(), " needs a dtype; it has none");
  size_t bytes;
  if (__builtin_mul_overflow(static_cast<size_t>(shape.num_elements()), dtype_size(dtype),
                             &bytes) ||
      bytes > static_cast<size_t>(std::numeric_limits<int64_t>::max())) {
    return invalid("a ", dtype_name(dtype), " tensor of shape ", shape.to_string(),
                   " would have more than 2^63 - 1 bytes");
  }
  return bytes;
}

size_t alignment_of(DType dtype) {
  size_t alignment = 1;
  visit_dtype(dtype, [&]<class T>(std::type_identity<T>) { alignment = alignof(T); });
  return alignment;
}

std::string type_and_shape(DType dtype, const Shape& shape) {
  return str_cat(dtype_name(dtype), shape.to_string());
}

bool same_element(const Variant& a, const Variant& b) {
  return a.type_name == b.type_name && a.metadata == b.metadata;
}
template <class T>
bool same_element(const T& a, const T& b) {
  return a == b;
}

}  // namespace

Result<Tensor> Tensor::allocate(DType dtype, const Shape& shape) {
  MR_ASSIGN(const size_t bytes, byte_size(dtype, shape));
  auto buffer = is_plain(dtype)
                    ? Buffer::allocate(bytes)
                    : allocate_objects(dtype, static_cast<size_t>(shape.num_elements()));
  if (!buffer.ok()) return buffer.status().with(type_and_shape(dtype, shape));
  Tensor made;
  made.dtype_ = dtype;
  made.shape_ = shape;
  made.buffer_ = std::move(buffer).value();
  made.data_ = made.buffer_->data();
  return made;
}

Result<Tensor> Tensor::zeros(DType dtype, const Shape& shape) {
  if (!is_plain(dtype)) return allocate(dtype, shape);
  MR_ASSIGN(const size_t bytes, byte_size(dtype, shape));
  auto buffer = Buffer::allocate_zeroed(bytes);
  if (!buffer.ok()) return buffer.status().with(type_and_shape(dtype, shape));
  return on_buffer(dtype, shape, std::move(buffer).value());
}

Result<Tensor> Tensor::on_buffer(DType dtype, const Shape& shape, std::shared_ptr<Buffer> buffer,
                                 size_t offset) {
  MR_ASSIGN(const size_t bytes, byte_size(dtype, shape));
  if (!is_plain(dtype)) {
    return invalid("a ", type_and_shape(dtype, shape),
                   " cannot stand on existing bytes: its elements are objects");
  }
  if (buffer == nullptr) return invalid(type_and_shape(dtype, shape), " was given no buffer");
  if (offset > buffer->size() || bytes > buffer->size() - offset) {
    return invalid(type_and_shape(dtype, shape), " needs ", bytes, " bytes from offset ", offset,
                   "; the buffer has ", buffer->size());
  }
  char* const data = static_cast<char*>(buffer->data()) + offset;
  if (reinterpret_cast<uintptr_t>(data) % alignment_of(dtype) != 0) {
    return invalid(type_and_shape(dtype, shape), " needs bytes aligned to ", alignment_of(dtype),
                   "; offset ", offset, " of this buffer is not: copy them");
  }
  Tensor made;
  made.dtype_ = dtype;
  made.shape_ = shape;
  made.buffer_ = std::move(buffer);
  made.data_ = data;
  return made;
}

bool Tensor::is_sole_owner() const {
  if (buffer_ == nullptr || buffer_.use_count() != 1 || buffer_->is_lent_for_step()) return false;
    // use_count() is a relaxed read. What the last other owner read must be over before we write.
#if defined(__SANITIZE_THREAD__)
  const std::shared_ptr<Buffer> synchronise = buffer_;  // TSan knows no fences
#else
  std::atomic_thread_fence(std::memory_order_acquire);
#endif
  return true;
}

Result<Tensor> Tensor::reshaped(const Shape& shape) const {
  if (shape.num_elements() != num_elements()) {
    return invalid("a tensor of shape ", shape_.to_string(), " has ", num_elements(),
                   " elements and cannot be reshaped to ", shape.to_string(), ", which has ",
                   shape.num_elements());
  }
  Tensor made = *this;
  made.shape_ = shape;
  return made;
}

Result<Tensor> Tensor::rows(int64_t begin, int64_t end) const {
  if (shape_.rank() < 1)
    return invalid("rows of a scalar were asked for; a tensor of rank 1 or more is needed");
  if (begin < 0 || end < begin || end > shape_.dim(0)) {
    return invalid("rows [", begin, ", ", end, ") of a tensor of shape ", shape_.to_string(),
                   " were asked for; it has rows [0, ", shape_.dim(0), ")");
  }
  Shape::Dims dims(shape_.dims().begin(), shape_.dims().end());
  dims[0] = end - begin;
  Tensor made = *this;
  MR_ASSIGN(made.shape_, Shape::create(dims));
  if (num_elements() > 0) {
    const int64_t row_elements = num_elements() / shape_.dim(0);
    made.data_ =
        static_cast<char*>(data_) + static_cast<size_t>(begin * row_elements) * dtype_size(dtype_);
  }
  return made;
}

Result<Tensor> Tensor::clone() const {
  if (!has_value()) return *this;
  MR_ASSIGN(Tensor made, allocate(dtype_, shape_));
  if (is_plain(dtype_)) {
    std::memcpy(made.data_, data_, num_bytes());
  } else {
    visit_dtype(dtype_, [&]<class T>(std::type_identity<T>) {
      const T* from = static_cast<const T*>(data_);
      std::copy(from, from + num_elements(), static_cast<T*>(made.data_));
    });
  }
  return made;
}

Result<Tensor> Tensor::kept() const {
  if (buffer_ == nullptr || !buffer_->is_lent_for_step()) return *this;
  return clone();
}

bool operator==(const Tensor& a, const Tensor& b) {
  if (a.dtype_ != b.dtype_ || a.shape_ != b.shape_) return false;
  bool same = true;
  visit_dtype(a.dtype_, [&]<class T>(std::type_identity<T>) {
    const T* left = static_cast<const T*>(a.data_);
    const T* right = static_cast<const T*>(b.data_);
    if constexpr (std::is_integral_v<T>) {
      same = std::memcmp(left, right, a.num_bytes()) == 0;
    } else {
      same = std::equal(left, left + a.num_elements(), right,
                        [](const T& x, const T& y) { return same_element(x, y); });
    }
  });
  return same;
}

void Tensor::wrong_type(DType asked) const {
  const std::string held = has_value() ? type_and_shape(dtype_, shape_) : "without a value";
  std::fprintf(stderr, "a tensor %s was read as %s\n", held.c_str(),
               std::string(dtype_name(asked)).c_str());
  std::abort();
}

}  // namespace millrace
