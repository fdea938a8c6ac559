#include "millrace/worker/lease_feed.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "millrace/engine/client_transfers.h"
#include "millrace/ops/state/held_lease.h"

namespace millrace {
namespace {

bool holds_before(const Node& node) {
  if (node.op->name != "_HoldLease" || !node.control_inputs.empty()) return false;
  const auto name = node.attr_view().string("held_as");
  if (!name.ok()) return false;
  const auto as = HeldLeases::named(*name);
  return as.ok() && *as == HeldLeases::As::before;
}

}  // namespace

Result<std::optional<LeaseFeed>> lease_feed_of(const Graph& graph) {
  const auto nodes = graph.nodes();
  const auto holder = std::ranges::find_if(nodes, holds_before);
  if (holder == nodes.end()) return std::optional<LeaseFeed>();
  const NodeId hold = (*holder).id, feed = (*holder).inputs[0].node;
  const FanOut consumers(graph);
  if (!graph[feed].control_inputs.empty() || graph[feed].op->role != Role::receive ||
      consumers.of(feed).size() != 1)
    return std::optional<LeaseFeed>();
  MR_ASSIGN(std::string key, client_key(graph[feed]));
  if (key.empty()) return std::optional<LeaseFeed>();
  Graph rest = graph;
  for (const FanOut::Edge& edge : consumers.of(hold)) {
    const auto& inputs = graph[edge.consumer].control_inputs;
    std::vector<NodeId> before(inputs.begin(), inputs.end());
    std::erase(before, hold);
    rest.set_control_inputs(edge.consumer, std::move(before));
  }
  std::vector<bool> keep(graph.size(), true);
  keep[hold] = keep[feed] = false;
  rest.retain(keep);
  return std::optional(LeaseFeed{std::make_shared<const Graph>(std::move(rest)), std::move(key)});
}

}  // namespace millrace
