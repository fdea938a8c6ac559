// Nodes whose op is not known here and that are for another task, which may know it: TensorFlow's
// tasks know twice as many. Nobody sends signatures, so what such a node takes and gives is told by
// the graph that came: what it takes by those who make it, what it gives by those who read it, and
// else by the attributes with which ops name their types. Part of import.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"

#include "millrace/graph/graph.h"
#include "millrace/wire/node_def.h"

namespace millrace {

// True if a node asks for a device of a task, by its job.
bool asks_for_task(const wire::NodeDef& node);

class ForeignNodes {
 public:
  // Both must outlive this. `there` has the nodes that came before. Costs by how many `nodes` are.
  ForeignNodes(std::span<const wire::NodeDef> nodes, const Graph& there);

  // The op of one of the nodes, made up of what is told of its inputs and outputs; valid as long as
  // the registry. Null if too little is told. Errors: RESOURCE_EXHAUSTED if the registry has
  // too many already.
  Result<const OpDef*> op_of(const wire::NodeDef& node) const;

 private:
  using Types = std::vector<ArgType>;

  // Of the results, also of a node whose op is known; none if nobody can tell.
  const std::optional<Types>& outputs_of(const wire::NodeDef& node) const;
  std::optional<Types> told(const wire::NodeDef& node) const;
  std::optional<ArgType> type_of(std::string_view input) const;
  std::optional<Types> inputs_of(const wire::NodeDef& node) const;

  const Graph& there_;
  absl::flat_hash_map<absl::string_view, const wire::NodeDef*> by_name_;
  // By the node, as those declare them who read them and whose ops are known.
  absl::flat_hash_map<const wire::NodeDef*, std::vector<std::optional<ArgType>>> read_as_;
  // Each asked for once, however many read it.
  mutable absl::node_hash_map<const wire::NodeDef*, std::optional<Types>> outputs_;
};

}  // namespace millrace
