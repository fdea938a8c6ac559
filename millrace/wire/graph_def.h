// GraphDef as plain values: the form in which graphs are exchanged with clients, peers and files.
//
// Not the IR (that is millrace/graph): names are unresolved strings, attributes are whatever the
// sender wrote, nothing is checked against an op. Reading and writing go straight between these
// structs and the bytes, without protobuf messages in between, because a graph of a million nodes
// is parsed while a client waits.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/wire/function_def.h"
#include "millrace/wire/node_def.h"

namespace millrace::wire {

struct VersionDef {
  int producer = 0;
  int min_consumer = 0;
  std::vector<int> bad_consumers;
};

struct GraphDef {
  std::vector<NodeDef> nodes;  // any order; loops have back edges
  VersionDef versions;
  std::vector<FunctionDef> functions;
};

// Reads the bytes of a GraphDef message. Unknown fields are skipped; of several attributes with one
// name the last wins; X_REF types are read as X.
// Errors: INVALID_ARGUMENT with the byte offset and what is wrong there; RESOURCE_EXHAUSTED for a
// tensor attribute that would be far larger than its bytes.
Result<GraphDef> parse_graph_def(std::string_view bytes);
std::string serialize_graph_def(const GraphDef& graph);
// Appends instead.
void serialize_graph_def(const GraphDef& graph, std::string* out);

}  // namespace millrace::wire
