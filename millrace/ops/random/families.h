// The families of ops in this room.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

// All of them. Numbers are TensorFlow's: same seeds, same numbers. seed and seed2 both 0 means
// different ones in each process; else they depend only on the seeds and on how often the node ran.
Status register_random(OpRegistry& ops);

// RandomGamma, RandomPoisson, RandomPoissonV2.
Status register_gamma_and_poisson(OpRegistry& ops);

// Ops without state, whose numbers their inputs decide: StatelessRandomUniform and its kin.
Status register_stateless(OpRegistry& ops);

}  // namespace millrace
