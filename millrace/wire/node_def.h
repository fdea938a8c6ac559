// NodeDef: a node as graphs and functions are exchanged (graph_def.h, function_def.h).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/tensor/attr_value.h"

namespace millrace::wire {

struct NodeDef {
  std::string name;
  std::string op;
  std::string device;               // may be partial or empty
  std::vector<std::string> inputs;  // "node", "node:1", then control inputs "^node"
  // In the order of the message, each name once.
  std::vector<std::pair<std::string, AttrValue>> attrs;

  // Null if there is no such attribute.
  const AttrValue* attr(std::string_view attr_name) const;
};

}  // namespace millrace::wire
