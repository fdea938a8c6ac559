// Tensors as fields of a message that is a list of pieces: their content is shared, not copied.
#pragma once

#include <string_view>

#include "millrace/format/pieces.h"
#include "millrace/tensor/tensor.h"

namespace millrace::wire {

// Field `number` holding `tensor` as a TensorProto.
void append_tensor_field(Pieces& message, int number, const Tensor& tensor);
// Field `number` holding a NamedTensorProto.
void append_named_tensor(Pieces& message, int number, std::string_view name, const Tensor& tensor);

}  // namespace millrace::wire
