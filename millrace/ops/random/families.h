// The families of ops in this room.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

// All of them. Numbers are TensorFlow's: same seeds, same numbers. seed and seed2 both 0 means
// different ones in each process; else they depend only on the seeds and on how often the node ran.
Status register_random(OpRegistry& ops);

// RandomGamma, RandomPoisson, RandomPoissonV2.
Status register_gamma_and_poisson(OpRegistry& ops);

// Normal numbers between bounds, each with its own: ParameterizedTruncatedNormal and the stateless
// one.
Status register_truncated_normals(OpRegistry& ops);

// Ops without state, whose numbers their inputs decide: StatelessRandomUniform and its kin.
Status register_stateless(OpRegistry& ops);

// Ops whose state is a variable, the generator: StatefulUniform, RngSkip and their kin; and
// NonDeterministicInts.
Status register_stateful(OpRegistry& ops);

// RandomIndexShuffle: where an index goes in a random order.
Status register_index_shuffle(OpRegistry& ops);

}  // namespace millrace
