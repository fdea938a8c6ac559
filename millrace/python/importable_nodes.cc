#include "millrace/python/importable_nodes.h"

#include <map>
#include <utility>

#include "absl/container/flat_hash_set.h"

#include "millrace/autodiff/function_gradient.h"
#include "millrace/base/str_cat.h"
#include "millrace/graph/graph.h"
#include "millrace/graph/import.h"
#include "millrace/graph/validate.h"
#include "millrace/plan/lower.h"

namespace millrace::python {
namespace {

// A node with an output of that type, to stand for a tensor of the program's graph.
wire::NodeDef stand_in(std::string name, ArgType type) {
  return {.name = std::move(name),
          .op = type.is_ref ? "VariableV2" : "Placeholder",
          .attrs = {{"dtype", type.dtype}, {"shape", PartialShape::unknown()}}};
}

// Lets the nodes of a graph read stand-ins where inputs are mapped.
class Mapping {
 public:
  Mapping(wire::GraphDef& def, std::span<const MappedInput> mapped)
      : def_(def), mapped_(mapped), is_read_(mapped.size(), false) {
    for (const wire::NodeDef& node : def.nodes) names_.insert(node.name);
    for (size_t i = 0; i < mapped.size(); ++i) {
      const TensorName name = parse_tensor_name(mapped[i].name);
      by_input_[{name.node, name.output}] = i;
    }
  }

  void apply() {
    for (const MappedInput& input : mapped_) {
      stand_ins_.push_back(stand_in(free_name(input.source), input.type));
    }
    for (wire::NodeDef& node : def_.nodes) {
      for (std::string& input : node.inputs) redirect(input);
    }
    def_.nodes.insert(def_.nodes.end(), stand_ins_.begin(), stand_ins_.end());
  }

  // Whether some node reads the i-th mapped input.
  bool is_read(size_t i) const { return is_read_[i]; }

  // Names the mapped inputs again where nodes read stand-ins.
  void undo(wire::NodeDef& node) const {
    for (std::string& input : node.inputs) {
      const bool is_control = input.starts_with('^');
      const TensorName name = parse_tensor_name(std::string_view(input).substr(is_control ? 1 : 0));
      for (size_t i = 0; i < mapped_.size(); ++i) {
        if (stand_ins_[i].name != name.node) continue;
        input = str_cat(is_control ? "^" : "", mapped_[i].name);
        break;
      }
    }
  }

 private:
  std::string free_name(const std::string& source) {
    std::string name = source;
    for (int suffix = 1; !names_.insert(name).second; ++suffix) name = str_cat(source, "_", suffix);
    return name;
  }

  void redirect(std::string& input) {
    if (input.starts_with('^')) return;
    const TensorName name = parse_tensor_name(input);
    const auto found = by_input_.find({name.node, name.output});
    if (found == by_input_.end()) return;
    is_read_[found->second] = true;
    input = stand_ins_[found->second].name;
  }

  wire::GraphDef& def_;
  const std::span<const MappedInput> mapped_;
  std::map<std::pair<std::string_view, int32_t>, size_t> by_input_;
  absl::flat_hash_set<std::string> names_;
  std::vector<wire::NodeDef> stand_ins_;
  std::vector<bool> is_read_;
};

}  // namespace

Result<std::vector<wire::NodeDef>> importable_nodes(wire::GraphDef def,
                                                    std::span<const MappedInput> mapped,
                                                    const OpRegistry& ops) {
  std::vector<wire::NodeDef> nodes = def.nodes;
  const size_t own = nodes.size();
  Mapping mapping(def, mapped);
  mapping.apply();
  MR_ASSIGN(Graph graph, import_graph(def, ops));
  MR_TRY(validate(graph));
  for (size_t i = 0; i < mapped.size(); ++i) {
    if (mapping.is_read(i) || find_endpoint(graph, mapped[i].name).ok()) continue;
    return invalid("Attempted to map inputs that were not found in graph_def: [", mapped[i].name,
                   "]");
  }
  if (!def.functions.empty()) {
    StandIns outputs;
    MR_TRY(lower_functions(graph, outputs, {.differentiate = differentiated}));
    nodes = export_graph(graph).nodes;
    for (wire::NodeDef& node : nodes) mapping.undo(node);
  }
  MR_ASSIGN(const std::vector<NodeId> order, topological_order(graph));
  std::vector<wire::NodeDef> ordered;
  ordered.reserve(nodes.size());
  for (const NodeId id : order) {
    // What stands for mapped inputs comes behind the nodes that were given, before those of bodies.
    if (id >= own && id < own + mapped.size()) continue;
    ordered.push_back(std::move(nodes[id]));
  }
  return ordered;
}

}  // namespace millrace::python
