// A checkpoint in TensorFlow's first format (before 2017): tables, one per shard.
//
//   model-00000-of-00002           a table, sorted by key:
//       ""                          -> which tensors it has: name, type, shape, slices
//       <slice_key(name, slice)>    -> the elements of a slice; of a whole tensor all axes are
//       whole
//   model-00001-of-00002
//
// Elements are in the repeated fields of a TensorProto without type and shape: 32-bit integers and
// below as varints, floats as they are, and so on. No checksums but those of the table's blocks.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/io/slice.h"
#include "millrace/tensor/tensor.h"

namespace millrace::io {

// A tensor as the table of contents has it.
struct ListedTensor {
  DType dtype = DType::invalid;
  Shape shape;
  std::vector<Slice> slices;
};
using ListedTensors = std::map<std::string, ListedTensor>;

std::string encode_contents(const ListedTensors& tensors);
// Errors: DATA_LOSS for bytes that are none; FAILED_PRECONDITION if they want a later reader.
Result<ListedTensors> decode_contents(std::string_view bytes);

// Whether tensors of a type can be kept in this format: bfloat16 and what came later can't.
bool fits_first_format(DType dtype);
// Errors: INVALID_ARGUMENT for a slice too large for one message.
Result<std::string> encode_slice(const std::string& name, const Slice& slice, const Tensor& tensor);
// The elements of a slice with this type and shape. Nothing is allocated before there are as many.
// Errors: DATA_LOSS.
Result<Tensor> decode_slice(std::string_view bytes, DType dtype, const Shape& shape);

}  // namespace millrace::io
