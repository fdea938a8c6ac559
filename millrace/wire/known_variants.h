// The variants whose inside is known: TensorFlow's tensor lists and optionals. All others are
// opaque.
//
//   type_name  "tensorflow::TensorList"
//   tensors    the elements that are set
//   metadata   | count of unset elements | their indices … | dtype | most elements | shape |
//              all but the shape are varints; the shape is a TensorShapeProto up to the end
//
//   type_name  "tensorflow::data::Optional"
//   tensors    its components
//   metadata   | 1 if it holds something, else 0: one byte |
//
// A variant from elsewhere may say one thing and hold another, and what works on elements trusts
// what is said. Whoever decodes a variant therefore calls check_variant.
#pragma once

#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/tensor/tensor.h"

namespace millrace::wire {

inline constexpr std::string_view kTensorListType = "tensorflow::TensorList";
inline constexpr std::string_view kOptionalType = "tensorflow::data::Optional";

// More would be an attack: an element takes memory before it is set.
inline constexpr int64_t kMostListElements = int64_t{1} << 22;

struct TensorListMetadata {
  std::vector<size_t> unset;  // indices, ascending
  DType dtype = DType::invalid;
  int64_t most = -1;  // how many elements there may be; -1: any number
  PartialShape element_shape;
};

// Errors: INVALID_ARGUMENT if the metadata is malformed. Does not look at the elements.
Result<TensorListMetadata> read_list_metadata(const Variant& list);
std::string list_metadata(const TensorListMetadata& metadata);
// Errors: INVALID_ARGUMENT if an element of a list, the `index`-th that is set, is not what the
// list says of its elements.
Status check_list_element(DType dtype, const PartialShape& element_shape, const Tensor& element,
                          size_t index);

// Errors: INVALID_ARGUMENT if a list holds an element of another dtype or shape than it says; if an
// optional says neither that it holds something nor that it does not, or holds something after all.
Status check_variant(const Variant& variant);

}  // namespace millrace::wire
