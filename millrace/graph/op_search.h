// Which ops of a graph are not known here. Part of import.
#pragma once

#include <functional>
#include <span>

#include "millrace/graph/graph.h"
#include "millrace/wire/node_def.h"

namespace millrace {

// NOT_FOUND with all ops that neither the registry nor the library knows, and nodes that use each:
// of `nodes` themselves and of the functions that they call, directly or not. Functions that nobody
// calls may use what they like. `library` may be null. Of `nodes` those that are `excused` may be
// of any op.
Status check_ops(std::span<const wire::NodeDef> nodes, const FunctionLibrary* library,
                 const OpRegistry& ops,
                 const std::function<bool(const wire::NodeDef&)>& is_excused);

}  // namespace millrace
