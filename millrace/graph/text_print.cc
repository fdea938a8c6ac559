// Part of text.h: to_text, from a graph to text.
#include <algorithm>

#include "millrace/graph/literal.h"
#include "millrace/graph/text.h"
#include "millrace/graph/text_function.h"
#include "millrace/graph/typing.h"

namespace millrace {
namespace {

// The attributes that the reader will find by itself from the inputs that stand above the node.
Attrs decided_by_inputs(const Graph& graph, const Node& node) {
  absl::InlinedVector<std::optional<ArgType>, 8> above;
  for (const Endpoint& input : node.inputs) {
    above.emplace_back();
    if (input.node < node.id) above.back() = graph[input.node].output_types()[input.output];
  }
  Attrs decided;
  infer_attrs(*node.op, above, decided);
  return decided;
}

bool is_default(const Node& node, const Attrs::Entry& entry) {
  const AttrDef* attr = node.op->find_attr(entry.first);
  return attr && attr->default_value && *attr->default_value == entry.second;
}

bool is_plain_device(std::string_view device) {
  return std::ranges::none_of(device, [](char c) { return c <= ' ' || c == '"' || c > '~'; });
}

std::string device_text(std::string_view device) {
  return is_plain_device(device) ? std::string(device) : print_attr(AttrValue(device));
}

void print_attrs(const Graph& graph, const Node& node, PrintOptions options, std::string* text) {
  std::string_view separator = text->ends_with('(') ? "" : ", ";
  const Tensor* constant = constant_value(node);
  const AttrValue* dtype = node.attrs().find("dtype");
  const bool is_short =
      constant && dtype && dtype->as_type() && *dtype->as_type() == constant->dtype();
  if (is_short) {
    str_append(text, separator, print_tensor(*constant));
    separator = ", ";
  }
  const Attrs decided = decided_by_inputs(graph, node);
  for (const Attrs::Entry& entry : node.attrs()) {
    if (is_short && (entry.first == "dtype" || entry.first == "value")) continue;
    const AttrValue* found = decided.find(entry.first);
    if (found && *found == entry.second) continue;
    if (options.defaults == PrintOptions::Defaults::hidden && is_default(node, entry)) continue;
    str_append(text, separator, entry.first, "=", print_attr(entry.second));
    separator = ", ";
  }
}

}  // namespace

std::string to_text(const Graph& graph, const Node& node, PrintOptions options) {
  std::string text = str_cat(node.name, " = ", node.op->name, "(");
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Endpoint& input = node.inputs[i];
    str_append(&text, i ? ", " : "",
               input.node == kNoNode ? std::string("?") : endpoint_name(graph, input));
  }
  print_attrs(graph, node, options, &text);
  text += ')';
  for (NodeId before : node.control_inputs) str_append(&text, " ^", graph[before].name);
  using Devices = PrintOptions::Devices;
  if (options.devices == Devices::shown && !node.requested_device().empty()) {
    str_append(&text, " @ ", device_text(node.requested_device()));
  }
  if (options.devices != Devices::hidden && !node.device().empty()) {
    str_append(&text, " -> ", device_text(node.device()));
  }
  return text;
}

std::string to_text(const Graph& graph, PrintOptions options) {
  std::string text;
  const GraphVersions& versions = graph.versions();
  if (versions.producer || versions.min_consumer || !versions.bad_consumers.empty()) {
    str_append(&text, "versions producer=", versions.producer,
               " min_consumer=", versions.min_consumer);
    for (int bad : versions.bad_consumers) str_append(&text, " bad_consumer=", bad);
    text += '\n';
  }
  if (graph.functions()) {
    for (const auto& [name, function] : *graph.functions()) {
      str_append(&text, print_function(*function), "\n");
    }
  }
  for (const Node& node : graph.nodes()) str_append(&text, to_text(graph, node, options), "\n");
  return text;
}

}  // namespace millrace
