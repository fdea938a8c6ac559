// Which nodes need the functions of their graph where they run.
#pragma once

#include <algorithm>

#include "millrace/graph/graph.h"

namespace millrace {

// True if an attribute of the node's op names functions: its kernel calls them, and the library has
// to come with the node. Calls that planning lowers are gone by the time this is asked.
inline bool names_function(const Node& node) {
  const auto is_function = [](const AttrDef& attr) {
    return attr.kind == "func" || attr.kind == "list(func)";
  };
  return std::ranges::any_of(node.op->attrs, is_function);
}

}  // namespace millrace
