// What a refusal says of the ops in a graph that the program does not know: all of them at once, by
// name and with nodes that use them, in a message that a TensorFlow client shows whole. TensorFlow
// cuts a message after 3072 bytes (see transport/protocol/status_codec.cc), so what is told of each
// op shrinks as there are more: its nodes and what it may have been meant to be, then its name
// only, then a number.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/op/registry.h"

namespace millrace {

struct UnknownOp {
  std::string_view op;
  std::vector<std::string_view> nodes;  // that use it, at least one
};

// Clients look for "Op type not registered '<op>'", which stands before each op told with its
// nodes. If a master's graph rewriting made some of them, the text tells how to do without it.
std::string unknown_ops_text(const OpRegistry& ops, std::span<const UnknownOp> unknown);

}  // namespace millrace
