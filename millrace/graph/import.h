// Between the IR and GraphDef, the form in which clients and peers send graphs.
//
// Import resolves names to edges and checks each node against its op. Nodes may come in any order,
// with back edges; names may begin with `_` (graphs from a master have such); attributes that the
// op does not know are kept, those left out have the op's default. A node whose op is a function of
// the library becomes a call of it (function.h). Whether the nodes make sense together is
// `validate` (validate.h), which the receiver of a graph calls next; whether functions do is seen
// when their bodies take the place of calls.
#pragma once

#include "millrace/graph/graph.h"
#include "millrace/wire/graph_def.h"

namespace millrace {

// The version of the GraphDef format that we read, by TensorFlow's count (a number a day).
inline constexpr int kGraphDefVersion = 2313;

// Whether nodes of unknown ops may come that ask for a device of some task: a master passes them
// on, if it isn't itself that task (foreign_nodes.h).
enum class Foreign : uint8_t { refused, taken };

// Errors, all INVALID_ARGUMENT unless said otherwise and naming the node: an unknown op (NOT_FOUND;
// all of them at once, with nodes that use them), a name used twice, an input that does not exist,
// a wrong number or type of inputs, a bad attribute, a version that we do not read, a function that
// differs from one of the same name. The unknown ops are also those of functions that are called.
Result<Graph> import_graph(const wire::GraphDef& def, const OpRegistry& ops,
                           Foreign foreign = Foreign::refused);

// Adds the nodes of `def`, which may refer to those that are there. On error `graph` is unchanged.
// Errors: as import_graph; a node that is there already is INVALID_ARGUMENT in TensorFlow's words.
Status extend_graph(Graph& graph, const wire::GraphDef& def, Foreign foreign = Foreign::refused);

struct ExportOptions {
  enum class Defaults : uint8_t { kept, stripped };  // attributes that have the op's default
  Defaults defaults = Defaults::kept;
  NodeId first = 0;  // nodes from this one on; the others are taken to be known to the reader
};

// Nodes in the order of their ids. A node's device is the one it was placed on, else the requested.
wire::GraphDef export_graph(const Graph& graph, ExportOptions options = {});

}  // namespace millrace
