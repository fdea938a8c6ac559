// GraphCore: what Python holds of a graph, and what a session reads when the graph grows.
#pragma once

#include <memory>
#include <utility>

#include "millrace/graph/import.h"
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

  const std::shared_ptr<OpLibrary> library;
  ClientGraph graph;
};

}  // namespace millrace::python
