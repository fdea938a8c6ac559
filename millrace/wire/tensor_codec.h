// Tensors and the bytes of TensorProto.
//
// Reading accepts all that TensorFlow writes: raw content, typed lists, short lists whose last
// element repeats, empty lists that mean zero. Writing always uses raw content, as TensorFlow does
// for feeds, results and transfers; scalars have no shape field.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/tensor/tensor.h"

namespace millrace::wire {

struct DecodeLimits {
  // For all tensors of a message together. A typed list may stand for more elements than it has: a
  // message of ten bytes can ask for any
  // amount of memory. Raw content cannot and is not limited.
  size_t max_expanded_bytes = size_t{2} << 30;
};

// Errors: INVALID_ARGUMENT (malformed message, no dtype or a reference dtype, bad shape, content of
// the wrong length, a bool that is neither 0 nor 1); RESOURCE_EXHAUSTED (over the limit, or no
// memory).
Result<Tensor> decode_tensor_bytes(std::string_view bytes, const DecodeLimits& limits = {});

// A tensor without a value gives a message without a dtype, which no one can decode.
std::string encode_tensor_bytes(const Tensor& tensor);
// The same message with the bytes that TensorFlow writes, for ops whose result they are: scalars
// have a shape, too, and sizes and contents of nothing are left out. The tensor has a value.
std::string encode_tensor_proto(const Tensor& tensor);

}  // namespace millrace::wire
