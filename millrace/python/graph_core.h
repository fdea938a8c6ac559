// GraphCore: what Python holds of a graph, and what a session reads when the graph grows. The graph
// is a Builder's, as for C++: nodes that C++ code adds to it are there for Python at once.
#pragma once

#include <exception>
#include <memory>
#include <utility>

#include "millrace/api/builder.h"
#include "millrace/graph/import.h"
#include "millrace/python/graph_view.h"
#include "millrace/python/op_library.h"

namespace millrace::python {

// Guarded by the GIL.
struct GraphCore {
  explicit GraphCore(std::shared_ptr<OpLibrary> ops)
      : library(std::move(ops)), builder(std::make_shared<Builder>(library->ops())) {
    // Says by whose rules the nodes are meant; readers that are older accept it.
    builder->set_versions({.producer = kGraphDefVersion});
  }

  const Graph& graph() const { return builder->graph(); }
  // The nodes from number `first` on, in the form that is sent to a master.
  wire::GraphDef export_from(NodeId first) const {
    wire::GraphDef def = export_graph(graph(), {.first = first});
    for (const auto& [name, function] : functions) def.functions.push_back(*function);
    return def;
  }

  const std::shared_ptr<OpLibrary> library;
  const std::shared_ptr<Builder> builder;
  FunctionLibrary functions;  // which nodes name
  ViewTable views;
  // By Python code that the builder called: a device function, the entrance of a loop.
  std::exception_ptr raised;
};

}  // namespace millrace::python
