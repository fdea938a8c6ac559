// Functions: pieces of graph with arguments that nodes call, as clients send them in a library.
//
// A library keeps definitions as they came (wire/function_def.h): most are never called, and some
// name ops that are not known here. `instantiate` makes a body of one, a graph like any other, for
// given values of its attributes. To put that body where the call is, is plan/lower.h.
#pragma once

#include <vector>

#include "millrace/graph/graph.h"
#include "millrace/wire/function_def.h"

namespace millrace {

// Adds a definition; the same one again changes nothing.
// Errors, INVALID_ARGUMENT in TensorFlow's words: "Cannot add function …", because a different
// function or an op has the name.
Status add_function(FunctionLibrary& library, wire::FunctionDef def, const OpRegistry& ops);

// Null if there is none.
const wire::FunctionDef* find_function(const FunctionLibrary* library, std::string_view name);

// The op that a function is to its callers: inputs, outputs and attributes.
OpDef signature_of(const wire::FunctionDef& function);

// A node whose op is the name of a function, said with an op that calls functions: PartitionedCall,
// or StatefulPartitionedCall if the function has state. Inputs are left out.
// Errors: INVALID_ARGUMENT if `attrs` do not decide the types of its arguments.
struct FunctionCall {
  std::string_view op;
  Attrs attrs;
};
Result<FunctionCall> call_of(const wire::FunctionDef& function, const Attrs& attrs);

struct FunctionBody {
  Graph graph;  // begins with a Placeholder for each argument
  size_t num_args = 0;
  std::vector<Endpoint> returns;
  // What must have run for the function to have run, returns aside.
  std::vector<NodeId> control_returns;
};

// Errors: NOT_FOUND for a function that is not in the library; else INVALID_ARGUMENT naming the
// function and what is wrong in it: an attribute without a value, a node that the graph refuses, an
// input or return that does not exist or has another type than the signature says, a cycle;
// RESOURCE_EXHAUSTED for a body far larger than its definition.
Result<FunctionBody> instantiate(const FunctionLibrary& library, const FunctionRef& function,
                                 const OpRegistry& ops);

}  // namespace millrace
