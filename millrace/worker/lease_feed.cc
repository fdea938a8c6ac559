#include "millrace/worker/lease_feed.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "millrace/engine/client_transfers.h"

namespace millrace {
namespace {

constexpr std::string_view kHoldLease = "_HoldLease", kBefore = "before";

bool holds_before(const Node& node) {
  if (node.op->name != kHoldLease || !node.control_inputs.empty()) return false;
  const auto name = node.attr_view().string("held_as");
  return name.ok() && *name == kBefore;
}

bool has_one_consumer(const Graph& graph, NodeId node) {
  size_t consumers = 0;
  for (const Node& other : graph.nodes()) {
    consumers += static_cast<size_t>(std::ranges::count(other.inputs, node, &Endpoint::node)) +
                 static_cast<size_t>(std::ranges::count(other.control_inputs, node));
  }
  return consumers == 1;
}

}  // namespace

Result<std::optional<LeaseFeed>> lease_feed_of(const Graph& graph) {
  const auto nodes = graph.nodes();
  const auto holder = std::ranges::find_if(nodes, holds_before);
  if (holder == nodes.end()) return std::optional<LeaseFeed>();
  const NodeId hold = (*holder).id, feed = (*holder).inputs[0].node;
  if (!graph[feed].control_inputs.empty() || graph[feed].op->role != Role::receive ||
      !has_one_consumer(graph, feed))
    return std::optional<LeaseFeed>();
  MR_ASSIGN(std::string key, client_key(graph[feed]));
  if (key.empty()) return std::optional<LeaseFeed>();
  Graph rest = graph;
  for (const Node& node : graph.nodes()) {
    std::vector<NodeId> before(node.control_inputs.begin(), node.control_inputs.end());
    if (std::erase(before, hold) > 0) rest.set_control_inputs(node.id, std::move(before));
  }
  std::vector<bool> keep(graph.size(), true);
  keep[hold] = keep[feed] = false;
  rest.retain(keep);
  return std::optional(LeaseFeed{std::make_shared<const Graph>(std::move(rest)), std::move(key)});
}

}  // namespace millrace
