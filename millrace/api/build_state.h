// What the scopes and outputs of one GraphBuilder share.
#pragma once

#include "millrace/graph/graph.h"
#include "millrace/graph/names.h"

namespace millrace {

struct BuildState {
  explicit BuildState(const OpRegistry& ops) : graph(ops) {}

  Graph graph;
  Status error;  // the first one
  NameClaims names;
};

}  // namespace millrace
