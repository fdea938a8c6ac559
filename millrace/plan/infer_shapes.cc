#include "millrace/plan/infer_shapes.h"

#include <algorithm>

#include "millrace/op/infer.h"

namespace millrace {
namespace {

Status impossible(const Graph& graph, const Node& node, std::span<const PartialShape> inputs,
                  const Status& why) {
  constexpr size_t kMost = 8;
  std::string text;
  for (size_t i = 0; i < std::min(inputs.size(), kMost); ++i) {
    str_append(&text, i ? ", " : "", endpoint_name(graph, node.inputs[i]), " ",
               inputs[i].to_string());
  }
  if (inputs.size() > kMost) text += ", …";
  return why.then(str_cat(" for '{{node ", node.name, "}} = ", node.op->name,
                          "' with input shapes: ", text, "."));
}

}  // namespace

void ShapeTable::truncate(size_t size) {
  if (size >= this->size()) return;
  begin_.resize(size + 1);
  shapes_.resize(begin_.back());
}

Status extend_shapes(const Graph& graph, ShapeTable& table) {
  const size_t first = table.size();
  if (first == graph.size()) return {};
  MR_ASSIGN(const std::vector<NodeId> order, topological_order(graph, static_cast<NodeId>(first)));
  for (size_t id = first; id < graph.size(); ++id) {
    table.begin_.push_back(table.begin_.back() +
                           static_cast<uint32_t>(graph[static_cast<NodeId>(id)].num_outputs()));
  }
  table.shapes_.resize(table.begin_.back());
  // Reused from node to node.
  std::vector<PartialShape> inputs;
  std::vector<const Tensor*> constants;
  const auto infer = [&](const Node& node) -> Status {
    inputs.clear();
    constants.clear();
    for (const Endpoint& input : node.inputs) {
      // Unknown too while it has no order: a back edge's producer comes later.
      inputs.push_back(is_back_edge(graph[input.node], node) ? PartialShape() : table.of(input));
      constants.push_back(constant_value(graph[input.node]));
    }
    InferContext context(node.attr_view(), inputs, constants, node.num_outputs());
    const Status status = node.op->infer(context);
    if (!status.ok()) return impossible(graph, node, inputs, status);
    std::ranges::move(std::move(context).take_outputs(),
                      table.shapes_.begin() + table.begin_[node.id]);
    return {};
  };
  for (NodeId id : order) {
    const Node& node = graph[id];
    if (!node.op->infer) continue;
    if (Status status = infer(node); !status.ok()) {
      table.truncate(first);
      return status;
    }
  }
  return {};
}

}  // namespace millrace
