// Which ops of a graph are not known here. Part of import.
#pragma once

#include <span>

#include "millrace/graph/graph.h"
#include "millrace/wire/node_def.h"

namespace millrace {

// NOT_FOUND with all ops that neither the registry nor the library knows, and nodes that use each:
// of `nodes` themselves and of the functions that they call, directly or not. Functions that nobody
// calls may use what they like. `library` may be null.
Status check_ops(std::span<const wire::NodeDef> nodes, const FunctionLibrary* library,
                 const OpRegistry& ops);

}  // namespace millrace
