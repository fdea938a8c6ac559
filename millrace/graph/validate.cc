#include "millrace/graph/validate.h"

namespace millrace {
namespace {

// The five parts of a rendezvous key are joined by ';'.
Status check_transfer(const Node& node) {
  for (std::string_view name : {"tensor_name", "send_device", "recv_device"}) {
    MR_ASSIGN(const std::string value, node.attr_view().string(name).with(node.name));
    // An empty source device means "local".
    if (value.empty() && name != "send_device") {
      return invalid("{{node ", node.name, "}} (", node.op->name, "): attribute '", name,
                     "' is empty");
    }
    if (value.find(';') != std::string::npos) {
      return invalid("{{node ", node.name, "}} (", node.op->name, "): attribute '", name, "' is \"",
                     value, "\"; it must not contain ';'");
    }
  }
  return node.attr_view().integer("send_device_incarnation").status().with(node.name);
}

}  // namespace

Status validate(const Graph& graph) {
  FrameTable frames;
  return validate(graph, frames);
}

Status validate(const Graph& graph, FrameTable& frames) {
  for (const Node& node : graph.nodes().subspan(frames.size())) {
    for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
      if (node.inputs[slot].node != kNoNode) continue;
      return invalid("{{node ", node.name, "}}: input ", slot, " is not connected");
    }
    if (node.op->role == Role::send || node.op->role == Role::receive) MR_TRY(check_transfer(node));
  }
  return frames.extend(graph);
}

}  // namespace millrace
