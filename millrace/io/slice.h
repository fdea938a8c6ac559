// Slice: a box of a tensor: where it begins on each axis, and how far it reaches. Partitioned
// variables are saved as slices of one tensor.
//
// Texts are TensorFlow's: "0,10:-:5,1" is rows 0 to 9, the whole second axis, and one column; with
// the whole tensor's dims before it ("20 30 8 0,10:-:5,1") it is what SaveV2 and RestoreV2 are
// given.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/tensor/shape.h"

namespace millrace::io {

struct Extent {
  int64_t start = 0;
  int64_t length = -1;  // -1: the whole axis, and start is 0
  bool is_whole() const { return length < 0; }
  friend bool operator==(const Extent&, const Extent&) = default;
};

struct Slice {
  std::vector<Extent> extents;

  // "0,10:-"; one extent per axis, none for a scalar ("").
  // Errors: INVALID_ARGUMENT.
  static Result<Slice> parse(std::string_view text);
  static Slice whole(int rank) { return {std::vector<Extent>(static_cast<size_t>(rank))}; }

  bool is_whole() const;
  // The same without "whole" axes. Errors: INTERNAL, as TensorFlow has it, if it is not
  // inside `shape`.
  Result<Slice> within(const Shape& shape) const;
  // Of a slice that has no whole axes.
  Result<Shape> shape() const;
  std::string to_string() const;
  friend bool operator==(const Slice&, const Slice&) = default;
};

struct SliceOfShape {
  Shape whole;
  Slice slice;    // within `whole`, no whole axes
  Slice spelled;  // as the text had it
};

// "20 30 0,10:-". Errors: INVALID_ARGUMENT naming the text.
Result<SliceOfShape> parse_slice_of_shape(std::string_view text);

// What two boxes without whole axes share; an empty one has an extent of length 0.
Slice common_part(const Slice& a, const Slice& b);

// Copies the elements of `part` from a tensor that is the box `from_box` to one that is `to_box`.
// `part` is inside both; elements are `size` bytes.
void copy_part(const Slice& part, const Slice& from_box, const char* from, const Slice& to_box,
               char* to, size_t size);

// The name under which a slice of `name` is kept in an index: sorts as its parts do. The encoding
// is TensorFlow's: numbers and texts whose bytes sort as they do.
std::string slice_key(std::string_view name, const Slice& slice);

}  // namespace millrace::io
