// The families of ops in this room: drawing some classes of many.
//
// A family is a source file with its ops as values; register_sampling adds all of them.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

// All of them.
Status register_sampling(OpRegistry& ops);

// Candidate samplers: LogUniformCandidateSampler …, and ComputeAccidentalHits. Same seeds, same
// numbers as TensorFlow.
Status register_candidates(OpRegistry& ops);

}  // namespace millrace
