// The families of ops in this room: ragged tensors.
//
// A family is a source file with its ops as values; register_ragged adds all of them.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

// All of them.
Status register_ragged(OpRegistry& ops);

// RaggedRange.
Status register_ragged_ranges(OpRegistry& ops);

// RaggedGather.
Status register_ragged_gathers(OpRegistry& ops);

// How often each number comes: RaggedBincount, RaggedCountSparseOutput.
Status register_ragged_counts(OpRegistry& ops);

// Combinations of features: RaggedCross.
Status register_ragged_crosses(OpRegistry& ops);

// RaggedTensorToSparse.
Status register_ragged_to_sparse(OpRegistry& ops);

// RaggedTensorToTensor.
Status register_ragged_to_tensor(OpRegistry& ops);

// RaggedTensorToVariant, RaggedTensorFromVariant, RaggedTensorToVariantGradient; and the variants.
Status register_ragged_variants(OpRegistry& ops);

}  // namespace millrace
