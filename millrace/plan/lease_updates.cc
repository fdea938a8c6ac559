#include "millrace/plan/lease_updates.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "millrace/graph/frames.h"
#include "millrace/op/once_factory.h"
#include "millrace/op/rendezvous.h"

namespace millrace {
namespace {

constexpr std::string_view kStepLease = "StepLease", kQueueLend = "QueueLend",
                           kHoldLease = "_HoldLease", kDequeue = "QueueDequeueV2";

bool takes_from_queue(const Node& node) { return node.op->name.starts_with("QueueDequeue"); }

class LeasedStep {
 public:
  LeasedStep(StepGraph& step, const DeviceSet& devices) : step_(step), devices_(devices) {}

  Status run() {
    MR_TRY(find_lease());
    if (lease_ == kNoNode) return {};
    before_ = graph()[lease_].inputs[0];
    MR_TRY(find_updates());
    MR_ASSIGN(const bool takes, graph()[lease_].attr_view().boolean("takes"));
    if (takes) MR_TRY(take());
    for (NodeId update : updates_) MR_TRY(put_under_lease(update));
    if (after_) {
      acknowledge_last();
    } else if (!updates_.empty()) {
      drop_lease();
    }
    return {};
  }

 private:
  Graph& graph() { return step_.graph; }

  Status find_lease() {
    for (const Node& node : graph().nodes()) {
      if (node.op->name != kStepLease) continue;
      if (lease_ != kNoNode) {
        return invalid("'", graph()[lease_].name, "' and '", node.name,
                       "' are two leases for one step; a step is made under one");
      }
      lease_ = node.id;
    }
    return {};
  }

  Status find_updates() {
    MR_ASSIGN(const FrameTable frames, FrameTable::create(graph()));
    for (const Node& node : graph().nodes()) {
      if (!is_made_once(*node.op)) continue;
      if (frames.of(node.id) != FrameTable::kRoot) {
        return unimplemented("'", node.name, "' (", node.op->name,
                             ") is inside of a while loop, where one update under a lease can't be "
                             "told from the next; update after the loop");
      }
      updates_.push_back(node.id);
    }
    return {};
  }

  // The step's dequeue lends, and what depends on it is known.
  Status take() {
    std::optional<NodeId> dequeue;
    for (const Node& node : graph().nodes()) {
      if (!takes_from_queue(node)) continue;
      if (node.op->name != kDequeue) {
        return unimplemented("'", node.name, "' (", node.op->name,
                             ") in a session that counts once, which takes one element at a time: "
                             "use dequeue(), or a session without");
      }
      if (dequeue) {
        return unimplemented("'", graph()[*dequeue].name, "' and '", node.name,
                             "' take two elements in one step of a session that counts once; take "
                             "them in two steps, or in a session without");
      }
      dequeue = node.id;
    }
    if (!dequeue) return {};
    // Copied: the graph changes below.
    const Node node = graph()[*dequeue];
    const AttrView asked = graph()[lease_].attr_view();
    MR_ASSIGN(std::vector<DType> types, node.attr_view().types("component_types"));
    MR_ASSIGN(const float seconds, asked.real("seconds"));
    MR_ASSIGN(const int64_t attempts, asked.integer("attempts"));
    MR_ASSIGN(const Endpoint before, lease_at(before_, node.device()));
    const std::string device(node.device());
    const int count = static_cast<int>(types.size());
    MR_TRY(graph().replace(
        *dequeue, {.name = std::string(node.name),
                   .op = kQueueLend,
                   .inputs = {node.inputs[0], before},
                   .control_inputs = {node.control_inputs.begin(), node.control_inputs.end()},
                   .attrs = {{"component_types", AttrValue(std::move(types))},
                             {"seconds", seconds},
                             {"attempts", attempts}}}));
    graph().set_device(*dequeue, device);
    after_ = Endpoint{*dequeue, count};
    MR_TRY(graph().set_input(lease_, 0, *after_));
    find_dependents(*dequeue);
    return {};
  }

  void find_dependents(NodeId of) {
    const FanOut consumers(graph());
    depends_on_taken_.assign(graph().size(), false);
    std::vector<NodeId> reached = {of};
    for (size_t next = 0; next < reached.size(); ++next) {
      for (const FanOut::Edge& edge : consumers.of(reached[next])) {
        if (depends_on_taken_[edge.consumer]) continue;
        depends_on_taken_[edge.consumer] = true;
        reached.push_back(edge.consumer);
      }
    }
  }

  Status put_under_lease(NodeId update) {
    const bool is_after = after_ && depends_on_taken_[update];
    const std::string name = is_after ? "after" : "before";
    MR_ASSIGN(const NodeId hold,
              holder(is_after ? *after_ : before_, name, graph()[update].device()));
    MR_TRY(graph().set_attr(update, kUnderLease, name));
    graph().add_control_input(update, hold);
    return {};
  }

  // Updates for the element that the dequeue acknowledges come before that: one of them might fail.
  // But a dequeue does not wait for what may be in a conditional's branch that is not taken.
  void acknowledge_last() {
    for (const NodeId update : updates_) {
      if (!depends_on_taken_[update] && !may_be_dead(update))
        graph().add_control_input(after_->node, update);
    }
  }

  // The updates' holders have the lease, and look at it. What asked for it has nothing to say then,
  // unless it is fetched; and its task need take no part in the step.
  void drop_lease() {
    std::erase(step_.roots, lease_);
    drop_unneeded(step_);
  }

  bool may_be_dead(NodeId node) {
    std::vector<bool> seen(graph().size(), false);
    std::vector<NodeId> reached = {node};
    const auto reach = [&](NodeId before) {
      if (!seen[before]) reached.push_back(before);
      seen[before] = true;
    };
    for (size_t next = 0; next < reached.size(); ++next) {
      const Node& each = graph()[reached[next]];
      if (each.op->role == Role::merge) continue;  // alive whichever branch was taken
      if (each.op->role == Role::switch_) return true;
      for (const Endpoint& input : each.inputs) reach(input.node);
      for (const NodeId before : each.control_inputs) reach(before);
    }
    return false;
  }

  // The _HoldLease of a task.
  Result<NodeId> holder(Endpoint lease, const std::string& name, std::string_view on_device) {
    MR_ASSIGN(const Device* const device, device_of(on_device));
    const auto [at, is_new] = holders_.try_emplace({name, device->task}, kNoNode);
    if (!is_new) return at->second;
    MR_ASSIGN(lease, lease_at(lease, on_device));
    MR_ASSIGN(at->second, graph().add({.name = graph().unique_name("_hold_lease_" + name),
                                       .op = kHoldLease,
                                       .inputs = {lease},
                                       .attrs = {{"held_as", name}}}));
    graph().set_device(at->second, device->full_name);
    return at->second;
  }

  // The lease for a node on that device. What is fed is fed to the node's task as well; anything
  // else is sent there when the step is cut into tasks.
  Result<Endpoint> lease_at(Endpoint lease, std::string_view on_device) {
    MR_ASSIGN(const Device* const device, device_of(on_device));
    const std::string source(graph()[lease.node].name);
    const auto fed = std::ranges::find(step_.feeds, source, &ClientTransfer::node);
    if (fed == step_.feeds.end()) return lease;
    const int index = fed->index;
    for (const ClientTransfer& each : step_.feeds) {
      if (each.index != index) continue;
      MR_ASSIGN(const Device* const there, device_of(each.device));
      if (there->task == device->task) return Endpoint{graph().find(each.node)->id, 0};
    }
    const AttrView attrs = graph()[lease.node].attr_view();
    MR_ASSIGN(const std::string tensor_name, attrs.string("tensor_name"));
    MR_ASSIGN(const DType type, attrs.type("tensor_type"));
    // Numbered like the others of the same value (step_graph.h).
    std::string name;
    for (int number = 1; name.empty() || graph().find(name) != nullptr; ++number)
      name = str_cat(source, ".", number);
    MR_ASSIGN(const NodeId receive,
              graph().add(
                  {.name = name,
                   .op = "_Recv",
                   .attrs = {{"tensor_name", tensor_name},
                             {"tensor_type", type},
                             {"send_device", device->full_name},
                             {"recv_device", device->full_name},
                             {"send_device_incarnation", static_cast<int64_t>(device->incarnation)},
                             {"client_terminated", true}}}));
    graph().set_device(receive, device->full_name);
    step_.feeds.push_back({.index = index,
                           .node = name,
                           .device = device->full_name,
                           .key = RendezvousKey::make(device->full_name, device->incarnation,
                                                      device->full_name, tensor_name)
                                      .text});
    return Endpoint{receive, 0};
  }

  Result<const Device*> device_of(std::string_view name) const {
    if (const Device* device = devices_.find(name)) return device;
    return internal("a step under a lease has a node on device '", name,
                    "', which the session does not have");
  }

  StepGraph& step_;
  const DeviceSet& devices_;
  NodeId lease_ = kNoNode;
  Endpoint before_;
  std::optional<Endpoint> after_;  // if it takes
  std::vector<NodeId> updates_;
  std::vector<bool> depends_on_taken_;
  std::map<std::pair<std::string, uint32_t>, NodeId> holders_;
};

}  // namespace

Status lease_updates(StepGraph& step, const DeviceSet& devices) {
  return LeasedStep(step, devices).run();
}

}  // namespace millrace
