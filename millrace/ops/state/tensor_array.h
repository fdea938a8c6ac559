// TensorArray: an array of tensors that lives as long as a step; what loops read from and write to.
//
// Each element is written once; what was never written reads as zeros, if its shape is known. The
// array of gradients that belongs to it is an exception: what is written there twice is added up,
// and its elements have the shapes of those whose gradients they are. Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "millrace/op/resource.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

struct TensorArrayOptions {
  std::string name;
  DType dtype = DType::invalid;
  PartialShape element_shape;          // what is known of every element's shape
  bool grows = false;                  // with writes past the end
  bool forgets_what_was_read = false;  // an element can be read once, and gives its memory back
  bool elements_are_alike = false;     // the first element decides what is open in element_shape
  bool is_gradient = false;
};

class TensorArray final : public Resource {
 public:
  static constexpr std::string_view kTypeName = "TensorArray";
  // More elements than this are an error: a loop gone wild, or somebody who means harm.
  static constexpr int64_t kLongest = int64_t{1} << 26;

  // Errors: INVALID_ARGUMENT for a size below 0 or over kLongest.
  static Result<std::shared_ptr<TensorArray>> create(TensorArrayOptions options, int64_t size);
  TensorArray(TensorArrayOptions options, int64_t size)
      : options_(std::move(options)), size_(size), element_shape_(options_.element_shape) {}

  const TensorArrayOptions& options() const { return options_; }
  int64_t size() const;
  // Errors: INVALID_ARGUMENT for an index past the end of an array that does not grow, an element
  // that was written or read before, a wrong type or shape.
  Status write(int64_t index, Tensor value);
  // Past the end of an array of gradients there are zeros, with which it grows.
  // Errors: INVALID_ARGUMENT for an index that was not written and whose shape is not known, or
  // that was read and forgotten; for another type than the array's.
  Result<Tensor> read(int64_t index, DType dtype);
  // An array of gradients has elements like those that `source` holds now, under the dims of
  // `lead`.
  // Errors: INVALID_ARGUMENT if such a shape can't be.
  Status take_shapes_of(const TensorArray& source, std::span<const int64_t> lead);
  // How many elements, from the first, are to be joined: of an array of gradients, as many as
  // pieces were put into the array that it belongs to, even if that went on growing.
  int64_t join_size() const;
  void note_pieces(int64_t count);
  // What is known of the elements' shape.
  PartialShape element_shape() const;
  // That much more is known of it. Errors: INVALID_ARGUMENT if that contradicts.
  Status narrow_element_shape(const PartialShape& declared);
  // Forgets all elements; every later read and write fails.
  void close_array();

  std::string description() const override;

 private:
  struct Element {
    Tensor value;  // has no value before it is written, and after it was forgotten
    std::optional<Shape> shape;
    bool was_written = false;
    bool was_read = false;
  };

  Status check(int64_t index) const MR_REQUIRES(mutex_);
  Status check_value(int64_t index, const Tensor& value) MR_REQUIRES(mutex_);
  Status add(int64_t index, const Tensor& value) MR_REQUIRES(mutex_);

  const TensorArrayOptions options_;
  mutable Mutex mutex_;
  int64_t size_ MR_GUARDED_BY(mutex_);
  PartialShape element_shape_ MR_GUARDED_BY(mutex_);
  // As long as the highest index that was written or read needs.
  std::vector<Element> elements_ MR_GUARDED_BY(mutex_);
  int64_t pieces_ MR_GUARDED_BY(mutex_) = 0;
  bool closed_ MR_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace
