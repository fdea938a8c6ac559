// The families of ops in this room: variants: the lists and optionals that control flow of
// TensorFlow 2 carries its values in, maps, and composite tensors.
//
// A family is a source file with its ops as values; register_lists adds all of them.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

// All of them.
Status register_lists(OpRegistry& ops);

// The ops of tensor lists (TensorListReserve …): tensor arrays and accumulators of control flow v2.
Status register_tensor_lists(OpRegistry& ops);

// Optionals (OptionalFromValue …): what a conditional keeps for its gradient.
Status register_optionals(OpRegistry& ops);

// Maps from tensors to tensors as values: EmptyTensorMap, TensorMapInsert …
Status register_tensor_maps(OpRegistry& ops);

// What is made of several tensors, in one: CompositeTensorVariantFromComponents and
// ...ToComponents.
Status register_composites(OpRegistry& ops);

}  // namespace millrace
