// TensorList: a list of tensors that travels as one variant, what loops of control flow v2 keep
// their values in. A value: ops take one list and give another one; elements share their buffers.
//
// As a Variant it has TensorFlow's form (wire/known_variants.h), so that lists pass between its
// tasks and ours. One that came as bytes was checked when it was decoded; one that a program made
// by hand was not, and lists are read too often to look at every element each time. What uses an
// element as one of the list's dtype therefore calls check_element first.
#pragma once

#include <vector>

#include "millrace/op/kernel.h"
#include "millrace/tensor/tensor.h"
#include "millrace/wire/known_variants.h"

namespace millrace {

struct TensorList {
  static constexpr std::string_view kTypeName = wire::kTensorListType;  // as a variant
  static constexpr int64_t kMostElements = wire::kMostListElements;

  DType dtype = DType::invalid;
  PartialShape element_shape;
  int64_t most = -1;             // how many elements there may be; -1: any number
  std::vector<Tensor> elements;  // without a value where not set
  // True only if no element is without a value: then nobody looks for them, and to push to a long
  // list or to pop from it costs no more than with a short one.
  bool is_all_set = false;

  // Adds elements that are not set, or takes some away.
  void resize(int64_t size);

  // Errors: INVALID_ARGUMENT if an element that is set is not of the dtype and shape of the list's.
  Status check_element(size_t index) const;

  // Errors: INVALID_ARGUMENT if the variant is none of a list. Does not look at the elements.
  static Result<TensorList> from(Variant variant);
  // Errors: INVALID_ARGUMENT if lists lie too deep in each other.
  Result<Variant> to_variant() &&;

  // Errors: INVALID_ARGUMENT below 0, RESOURCE_EXHAUSTED above kMostElements.
  static Status check_size(int64_t size);

  // The list at a place of a tensor of variants, moved out of it if nobody else has the tensor.
  static Result<TensorList> take_from(Tensor& handles, size_t place);
  // The elements of an input if all are set, without a copy of the list; null if some are not.
  // Errors: as of `take`.
  static Result<const std::vector<Tensor>*> peek(const KernelContext& context, int slot,
                                                 DType dtype);
  // The list of an input, which is taken away; of `dtype`, unless that is DType::invalid.
  static Result<TensorList> take(KernelContext& context, int slot, DType dtype);
  Status put(KernelContext& context, int slot) &&;
};

// The shape that an input says elements have: dims, -1 for unknown, or the scalar -1 for any shape.
Result<PartialShape> read_element_shape(const Tensor& tensor);

// What both say. Errors: INVALID_ARGUMENT in TensorFlow's words if they contradict each other.
Result<PartialShape> merge_element_shapes(const PartialShape& a, const PartialShape& b);
// Requires a rank of at least 1, or none.
Result<PartialShape> without_first_dim(const PartialShape& shape);

// The shape of elements that are not set: what `asked` and the list and its elements say.
// Errors: INVALID_ARGUMENT if they contradict each other, or leave a dim open.
Result<Shape> shape_of_unset(const TensorList& list, const PartialShape& asked);

}  // namespace millrace
