// The gradient of a function: what SymbolicGradient is lowered to (plan/lower.h).
#pragma once

#include "millrace/graph/function.h"

namespace millrace {

// A body that takes the arguments of `body` and then the gradient of each of its returns, and
// returns the gradient of each argument: zeros where there is none. The body's own nodes are in it;
// none of them may call functions. Pure; any thread. Errors: those of add_gradients() and of adding
// nodes; UNIMPLEMENTED for an argument that has no zeros, as a handle.
Result<FunctionBody> differentiated(const FunctionBody& body);

}  // namespace millrace
