// What the scopes and outputs of one GraphBuilder share.
#pragma once

#include <string>

#include "absl/container/flat_hash_map.h"

#include "millrace/graph/graph.h"

namespace millrace {

struct BuildState {
  explicit BuildState(const OpRegistry& ops) : graph(ops) {}

  // `path` if it is new, else path_1, path_2 …; remembers what it gave away, in any case of letters
  // as the first front-ends for this graph format do.
  std::string claim(std::string_view path);

  Graph graph;
  Status error;  // the first one
  absl::flat_hash_map<std::string, int> claimed;
};

}  // namespace millrace
