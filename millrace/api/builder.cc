#include "millrace/api/builder.h"

#include <algorithm>
#include <set>
#include <utility>

namespace millrace {
namespace {

constexpr std::string_view kClassAttr = "_class";
constexpr std::string_view kClassPrefix = "loc:@";

// What a node with these inputs waits for, outer scopes first. A scope says nothing about a node
// that already depends on one made inside of it.
std::vector<NodeId> control_inputs(const std::vector<Endpoint>& inputs,
                                   const Surroundings& around) {
  std::vector<NodeId> wanted;
  const auto is_input = [&](NodeId node) {
    return std::ranges::find(inputs, node, &Endpoint::node) != inputs.end();
  };
  for (const auto& scope : around.controls) {
    const auto is_inside = [&](const Endpoint& input) { return scope->seen.contains(input.node); };
    if (std::ranges::any_of(inputs, is_inside)) continue;
    for (const NodeId node : scope->nodes)
      if (!is_input(node)) wanted.push_back(node);
  }
  return wanted;  // the graph drops repeats
}

}  // namespace

std::string Builder::claim_name(std::string_view name) {
  return names_.claim(name, [this](std::string_view text) { return graph_.find(text) != nullptr; });
}

std::string Builder::free_name(std::string_view name) const {
  return names_.peek(name, [this](std::string_view text) { return graph_.find(text) != nullptr; });
}

Result<NodeId> Builder::append(Graph::NewNode spec) {
  // Shape rules trust that a node has the inputs and attributes that its op declares.
  MR_ASSIGN(const NodeId id, graph_.add(std::move(spec)));
  const Node& node = graph_[id];
  Status status = shapes_.add(graph_, id);
  if (status.ok()) return id;
  status = status.with(str_cat(node.op->name, " '", node.name, "'"));
  graph_.truncate(id);
  return status;
}

Result<NodeId> Builder::add(NewNode spec, const Surroundings& around) {
  Graph::NewNode node{
      .name = std::move(spec.name), .op = spec.op, .inputs = std::move(spec.inputs)};
  // The context may add nodes, and change what surrounds the program meanwhile.
  const std::shared_ptr<FlowContext> flow = around.flow;
  if (!around.is_plumbing) {
    node.control_inputs = control_inputs(node.inputs, around);
    if (flow) MR_TRY(flow->admit(node.inputs, node.control_inputs));
  }
  node.attrs = std::move(spec.attrs);
  std::string device = around.devices.text();
  bool asks_functions = around.devices.asks_functions();
  if (!around.colocated_with.empty() || !around.groups.empty()) {
    std::set<std::string> groups(around.groups.begin(), around.groups.end());
    std::string of_others;
    for (const NodeId other : around.colocated_with) {
      for (std::string& group : colocation_groups(other)) groups.insert(std::move(group));
      if (!graph_[other].requested_device().empty()) of_others = graph_[other].requested_device();
    }
    node.attrs.set(kClassAttr, std::vector<std::string>(groups.begin(), groups.end()));
    if (!around.colocated_with.empty()) {
      device = of_others;
      asks_functions = false;
    }
  }
  node.device = device;
  MR_ASSIGN(const NodeId id, append(std::move(node)));
  if (flow) flow->added(id);
  if (asks_functions) MR_TRY(ask_device_functions(id, around.devices));
  for (const auto& scope : around.controls) scope->seen.insert(id);
  return id;
}

// From the innermost scope out; a function sees what inner scopes said, and has the last word on
// it.
Status Builder::ask_device_functions(NodeId node, DeviceStack stack) {
  DeviceName said;
  for (auto at = stack.entries().rbegin(); at != stack.entries().rend(); ++at) {
    if (at->kind == DeviceStack::Entry::Kind::reset) return {};
    if (at->kind == DeviceStack::Entry::Kind::function) {
      MR_ASSIGN(said, at->function(node));
    } else {
      said = at->spec.overridden_by(said);
    }
    graph_.set_requested_device(node, device_text(said));
  }
  return {};
}

std::vector<std::string> Builder::colocation_groups(NodeId node) const {
  std::vector<std::string> groups;
  const AttrValue* value = graph_[node].attrs().find(kClassAttr);
  if (const auto* names = value ? value->as_list_of<std::string>() : nullptr) {
    for (const std::string& name : *names)
      if (name.starts_with(kClassPrefix)) groups.push_back(name);
  }
  if (groups.empty()) groups.push_back(str_cat(kClassPrefix, graph_[node].name));
  return groups;
}

Status Builder::check_endpoint(Endpoint output) const {
  if (output.node >= graph_.size())
    return invalid("there is no node ", output.node, "; the graph has ", graph_.size());
  const Node& node = graph_[output.node];
  if (output.output < 0 || output.output >= node.num_outputs()) {
    return invalid("'", node.name, "' has no output ", output.output, "; it has ",
                   node.num_outputs());
  }
  return {};
}

Status Builder::set_input(NodeId node, int slot, Endpoint source) {
  MR_TRY(check_endpoint(source));
  if (node >= graph_.size() || slot < 0 || slot >= static_cast<int>(graph_[node].inputs.size()))
    return invalid("node ", node, " has no input ", slot);
  return graph_.set_input(node, slot, source);
}

Status Builder::merge_shape(Endpoint output, const PartialShape& more) {
  MR_TRY(check_endpoint(output));
  return shapes_.merge(output, more);
}

Status Builder::set_attr(NodeId node, std::string_view name, AttrValue value) {
  MR_TRY(graph_.set_attr(node, name, std::move(value)));
  shapes_.set_num_outputs(node, graph_[node].num_outputs());
  return {};
}

}  // namespace millrace
