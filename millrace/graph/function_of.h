// From a graph to the definition of a function: what a program makes when it writes a function down
// node by node, as those that datasets call. The way back is instantiate (function.h).
#pragma once

#include <string>
#include <vector>

#include "millrace/graph/graph.h"
#include "millrace/wire/function_def.h"

namespace millrace {

struct FunctionOutline {
  std::string name;
  std::vector<NodeId> arguments;  // Placeholders, which have the arguments' names
  std::vector<Endpoint> returns;
  std::vector<NodeId> control_returns = {};
};

// The function of all nodes of `graph`. It is stateful if one of them is.
// Errors: INVALID_ARGUMENT for a node that is no argument and has a reference as an input from one.
Result<wire::FunctionDef> function_of(const Graph& graph, const FunctionOutline& outline);

// The function without arguments that gives `returns`: of the nodes whose values they need. What
// those wait for besides is left out, as TensorFlow does.
// Errors: INVALID_ARGUMENT, in TensorFlow's words, if that has a value only when it is fed, or
// state that the function would have a copy of.
Result<wire::FunctionDef> function_by_value(const Graph& graph, std::string name,
                                            const std::vector<Endpoint>& returns);

}  // namespace millrace
