#include "millrace/master/named_graph.h"

#include <algorithm>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

// As feeds are written: "node:0" for "node".
std::string endpoint_of(std::string_view input) {
  return input.find(':') == std::string_view::npos ? str_cat(input, ":0") : std::string(input);
}

bool has_role(const NamedGraph::Node& node, Role role) {
  return node.op != nullptr && node.op->role == role;
}

// Its control edges mean "once the value is there".
bool is_placeholder(const NamedGraph::Node* node) {
  return node != nullptr && node->op != nullptr && node->op->source == Source::fed;
}

// What it calls is put in its place, once.
bool is_replaced_by_calls(const NamedGraph::Node& node) {
  return node.op == nullptr || (calls_functions(node.op->role) && node.op->role != Role::loop);
}

}  // namespace

std::string_view NamedGraph::node_of(std::string_view input) {
  if (input.starts_with('^')) return input.substr(1);
  return input.substr(0, input.find(':'));
}

NamedGraph::Node NamedGraph::noted(const wire::NodeDef& node) const {
  Node made{.op = ops_.find(node.op), .inputs = node.inputs};
  if (made.op == nullptr) made.calls.push_back(node.op);
  for (const auto& [name, value] : node.attrs) {
    if (const FunctionRef* function = value.as_func()) made.calls.push_back(function->name);
    if (const auto* several = value.as_list_of<FunctionRef>()) {
      for (const FunctionRef& function : *several) made.calls.push_back(function.name);
    }
  }
  return made;
}

void NamedGraph::extend(const wire::GraphDef& graph) {
  for (const wire::FunctionDef& function : graph.functions) {
    Body body;
    for (const wire::NodeDef& node : function.nodes) {
      Node made = noted(node);
      made.inputs.clear();
      body.has_loop |= has_role(made, Role::enter);
      body.nodes.emplace_back(node.name, std::move(made));
    }
    functions_[function.name] = std::move(body);
  }
  for (const wire::NodeDef& node : graph.nodes) nodes_[node.name] = noted(node);
}

const NamedGraph::Node* NamedGraph::find(std::string_view name) const {
  const auto found = nodes_.find(to_absl(name));
  return found == nodes_.end() ? nullptr : &found->second;
}

bool NamedGraph::knows_calls_of(const Node& node) const {
  return std::ranges::all_of(node.calls,
                             [this](const auto& each) { return functions_.contains(each); });
}

void NamedGraph::visit_body(const std::string& function, bool is_plain, Called& seen,
                            absl::FunctionRef<void(const Needed&)> visitor) const {
  const auto found = functions_.find(function);
  if (found == functions_.end() || !seen.emplace(function, is_plain).second) return;
  is_plain = is_plain && !found->second.has_loop;
  for (const auto& [name, node] : found->second.nodes) {
    visitor({.name = name, .node = node, .is_in_function = true, .is_plain = is_plain});
    for (const std::string& called : node.calls)
      visit_body(called, is_plain && is_replaced_by_calls(node), seen, visitor);
  }
}

void NamedGraph::visit(const StepRequestNames& names,
                       absl::FunctionRef<void(const Needed&)> visitor) const {
  const absl::flat_hash_set<std::string> fed(names.feeds.begin(), names.feeds.end());
  absl::flat_hash_map<std::string, std::string_view> connected;
  for (const auto& [from, to] : names.connections) connected.emplace(endpoint_of(to), from);
  // What is read where `input` is written. No further than all connections: a circle is the
  // planner's to refuse.
  const auto source_of = [&](std::string_view input) {
    for (size_t i = 0; i < connected.size(); ++i) {
      if (input.starts_with('^') && !is_placeholder(find(node_of(input)))) break;
      const auto other =
          connected.find(endpoint_of(input.starts_with('^') ? node_of(input) : input));
      if (other == connected.end()) break;
      input = other->second;
    }
    return input;
  };
  absl::flat_hash_set<std::string_view> seen;
  Called seen_functions;
  std::vector<std::pair<std::string_view, const Node*>> to_visit;
  const auto reach = [&](std::string_view input) {
    input = source_of(input);
    if (!input.starts_with('^') && fed.contains(endpoint_of(input))) return;
    const auto found = nodes_.find(to_absl(node_of(input)));
    if (found != nodes_.end() && seen.insert(found->first).second)
      to_visit.emplace_back(found->first, &found->second);
  };
  for (const std::string& fetch : names.fetches) reach(fetch);
  for (const std::string& target : names.targets) reach(str_cat("^", node_of(target)));
  while (!to_visit.empty()) {
    const auto [name, node] = to_visit.back();
    to_visit.pop_back();
    visitor({.name = name, .node = *node});
    for (const std::string& called : node->calls)
      visit_body(called, is_replaced_by_calls(*node), seen_functions, visitor);
    for (const std::string& input : node->inputs) reach(input);
  }
}

// Whatever runs in a loop depends on one of the nodes that lead into it, on a way that does not
// leave it again.
bool NamedGraph::is_any_in_loop(const std::vector<std::string>& names) const {
  absl::flat_hash_set<std::string_view> seen;
  std::vector<const Node*> to_visit;
  const auto reach = [&](std::string_view input) {
    const auto found = nodes_.find(to_absl(node_of(input)));
    if (found != nodes_.end() && seen.insert(found->first).second)
      to_visit.push_back(&found->second);
  };
  for (const std::string& name : names) reach(name);
  while (!to_visit.empty()) {
    const Node& node = *to_visit.back();
    to_visit.pop_back();
    if (has_role(node, Role::enter)) return true;
    if (has_role(node, Role::exit)) continue;
    for (const std::string& input : node.inputs) reach(input);
  }
  return false;
}

}  // namespace millrace
