// Merging: what two members' elements make together, and what is done to the whole at the end.
#pragma once

#include <cstdint>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

enum class MergeOp : uint8_t { add, multiply, maximum, minimum };

// By the attribute's words: "Add", "Mul", "Max", "Min". Errors: INVALID_ARGUMENT.
Result<MergeOp> merge_op_named(std::string_view name);

// first[i] op second[i]; written into the one of them that nobody else has, or into a new tensor.
// Requires two tensors of one dtype and element count; a NaN in either makes a NaN. Integers wrap
// around. Errors: INVALID_ARGUMENT for a dtype that can't be merged; RESOURCE_EXHAUSTED.
Result<Tensor> merge(MergeOp op, Tensor first, Tensor second);

// The same, written to the elements of `onto`, which may be one of the two.
Status merge_onto(MergeOp op, const Tensor& first, const Tensor& second, void* onto);

// Every element divided by `count`, which is at least 1; integers toward zero. In place if nobody
// else has the tensor. Errors as of merge.
Result<Tensor> divide(Tensor tensor, int64_t count);

}  // namespace millrace
