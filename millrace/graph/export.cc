// Part of import.h: export_graph, from the IR to GraphDef.
#include <algorithm>

#include "millrace/graph/import.h"
#include "millrace/wire/function_def.h"

namespace millrace {
namespace {

bool has_default(const Node& node, const Attrs::Entry& entry) {
  const AttrDef* attr = node.op->find_attr(entry.first);
  return attr && attr->default_value && *attr->default_value == entry.second;
}

wire::NodeDef export_node(const Graph& graph, const Node& node, ExportOptions options) {
  wire::NodeDef def;
  def.name = node.name;
  def.op = node.op->name;
  def.device = node.device().empty() ? node.requested_device() : node.device();
  def.inputs.reserve(node.inputs.size() + node.control_inputs.size());
  for (const Endpoint& input : node.inputs) def.inputs.push_back(endpoint_name(graph, input));
  for (NodeId before : node.control_inputs) def.inputs.push_back(str_cat("^", graph[before].name));
  def.attrs.reserve(node.attrs().size());
  for (const Attrs::Entry& entry : node.attrs()) {
    const bool is_stripped = options.defaults == ExportOptions::Defaults::stripped;
    if (!is_stripped || !has_default(node, entry)) def.attrs.push_back(entry);
  }
  return def;
}

}  // namespace

wire::GraphDef export_graph(const Graph& graph, ExportOptions options) {
  wire::GraphDef def;
  const size_t first = std::min<size_t>(options.first, graph.size());
  def.nodes.reserve(graph.size() - first);
  for (const Node& node : graph.nodes().subspan(first)) {
    def.nodes.push_back(export_node(graph, node, options));
  }
  const GraphVersions& versions = graph.versions();
  def.versions = {versions.producer, versions.min_consumer, versions.bad_consumers};
  if (graph.functions()) {
    for (const auto& [name, function] : *graph.functions()) def.functions.push_back(*function);
  }
  return def;
}

}  // namespace millrace
