// GraphCore: what Python holds of a graph, and what a session reads when the graph grows.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "millrace/graph/import.h"
#include "millrace/graph/names.h"
#include "millrace/python/client_graph.h"
#include "millrace/python/op_library.h"

namespace millrace::python {

// Guarded by the GIL.
struct GraphCore {
  explicit GraphCore(std::shared_ptr<OpLibrary> ops)
      : library(std::move(ops)), graph(library->ops()) {}

  // The nodes from number `first` on, in the form that is sent to a master.
  wire::GraphDef export_from(NodeId first) const {
    return export_graph(graph.graph(), {.first = first});
  }

  // `name` if no node or scope has it, else name_1, name_2 …; taken from then on.
  std::string claim_name(std::string_view name) {
    return names.claim(
        name, [this](std::string_view text) { return graph.graph().find(text) != nullptr; });
  }
  // What claim_name would give.
  std::string free_name(std::string_view name) const {
    return names.peek(
        name, [this](std::string_view text) { return graph.graph().find(text) != nullptr; });
  }

  const std::shared_ptr<OpLibrary> library;
  ClientGraph graph;
  NameClaims names;
};

}  // namespace millrace::python
