// From a GraphDef that somebody wrote to the nodes that a program's graph may take over.
//
// A client could pass on anything and leave it to the server to refuse; but then the error comes
// with the first run, and points at no line of the program. So the checks are the server's own
// (graph/import.h, graph/validate.h), with the server's words, before the first node is added.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/op/registry.h"
#include "millrace/wire/graph_def.h"

namespace millrace::python {

// An input that nodes are to read from the program's graph instead of what they name.
struct MappedInput {
  std::string name;    // as nodes write it: "node", "node:1"
  std::string source;  // the node that they read instead, for messages
  ArgType type;        // of its output
};

// The nodes of `def`, each after those that it reads, except for what comes round a loop; in their
// own order if that is one. Inputs stay as they are written, also those in `mapped`. Where there
// are functions, their bodies take the place of calls (plan/lower.h): what the program does next,
// gradients above all, knows of none. Nodes that called them keep their names, as IdentityN or
// NoOp. Errors: NOT_FOUND for unknown ops; INVALID_ARGUMENT for whatever else import_graph and
// validate refuse, and for a mapped input that is neither read nor an output of a node; those of
// lower_functions.
Result<std::vector<wire::NodeDef>> importable_nodes(wire::GraphDef def,
                                                    std::span<const MappedInput> mapped,
                                                    const OpRegistry& ops);

}  // namespace millrace::python
