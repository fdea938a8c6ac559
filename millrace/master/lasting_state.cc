#include "millrace/master/lasting_state.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"

#include "millrace/base/str_cat.h"
#include "millrace/cluster/kept_device.h"
#include "millrace/op/device_name.h"
#include "millrace/op/durable.h"

namespace millrace {
namespace {

// What nodes say of their devices, each once; those that leave the job open are placed on the
// master's own task, which lives as long as the session.
std::vector<DeviceName> named_devices(const wire::GraphDef& graph) {
  absl::flat_hash_set<std::string_view> texts;
  const auto note = [&](const std::vector<wire::NodeDef>& nodes) {
    for (const wire::NodeDef& node : nodes) texts.insert(node.device);
  };
  note(graph.nodes);
  for (const wire::FunctionDef& function : graph.functions) note(function.nodes);
  std::vector<DeviceName> names;
  for (const std::string_view text : texts) {
    const auto name = DeviceName::parse(text);
    if (name.ok() && name->job) names.push_back(*name);
  }
  return names;
}

bool is_named(std::span<const DeviceName> names, const DeviceName& device) {
  return std::ranges::any_of(
      names, [&](const DeviceName& name) { return name.is_compatible_with(device); });
}

const DeviceAttributes* find(std::span<const DeviceAttributes> devices, std::string_view name) {
  const auto found = std::ranges::find(devices, name, &DeviceAttributes::name);
  return found == devices.end() ? nullptr : &*found;
}

bool has_shared_name(const wire::NodeDef& node) {
  const AttrValue* const attr = node.attr("shared_name");
  const std::string* const text = attr == nullptr ? nullptr : attr->as_string();
  return text != nullptr && !text->empty();
}

// Whether a device that keeps that much has kept what a node names that can be.
bool is_kept(const wire::NodeDef& node, Keep keep) {
  const auto asks = asks_to_last(node.op, Attrs(node.attrs));
  if (asks.ok() && *asks) return true;
  if (keep == Keep::asked) return false;
  // A queue without a name that all share has ended with its kernel.
  return node.op.find("Queue") == std::string::npos || has_shared_name(node);
}

// A node that holds something between steps that a device which keeps that much has not kept:
// tables, accumulators, iterators, staging areas (which are known by name, and have no handle) in
// any case. What lasts for a step only says nothing.
bool holds_what_is_not_kept(const wire::NodeDef& node, const OpDef& op, Keep keep) {
  const std::string_view name = op.name;
  if (name.ends_with("Stage")) return true;
  if (!op.stateful || op.outputs.empty()) return false;
  const auto is_handle = [](const ArgDef& arg) {
    return arg.is_ref || arg.dtype == DType::resource;
  };
  // What is given a handle passes it on.
  if (!is_handle(op.outputs[0]) || std::ranges::any_of(op.inputs, is_handle)) return false;
  if (can_be_durable(name)) return !is_kept(node, keep);
  if (name == "_VarHandlesOp") return keep == Keep::asked;
  return name != "TemporaryVariable";
}

const wire::NodeDef* find_not_kept(const wire::GraphDef& graph, const OpRegistry& ops,
                                   const DeviceName& device, Keep keep) {
  for (const wire::NodeDef& node : graph.nodes) {
    const OpDef* const op = ops.find(node.op);
    if (op == nullptr || !holds_what_is_not_kept(node, *op, keep)) continue;
    const auto name = DeviceName::parse(node.device);
    if (name.ok() && name->job && name->is_compatible_with(device)) return &node;
  }
  return nullptr;
}

std::string_view what_is_kept(Keep keep) {
  return keep == Keep::all ? "only variables and queues that have a shared_name are"
                           : "only variables and queues are that ask for it (durable=True)";
}

}  // namespace

bool may_come_back(std::span<const DeviceAttributes> devices) {
  return std::ranges::any_of(devices, [](const DeviceAttributes& device) {
    return kept_on(device.description).has_value();
  });
}

Status is_all_there(const wire::GraphDef& graph, const OpRegistry& ops,
                    std::span<const DeviceAttributes> before,
                    std::span<const DeviceAttributes> now) {
  const std::vector<DeviceName> names = named_devices(graph);
  for (const DeviceAttributes& device : before) {
    MR_ASSIGN(const DeviceName name, DeviceName::parse(device.name));
    if (!is_named(names, name)) continue;
    const DeviceAttributes* const next = find(now, device.name);
    if (next == nullptr) return aborted(device.name, " takes no part any more");
    if (next->incarnation == device.incarnation) continue;
    const std::optional<Keep> keep = kept_on(device.description);
    if (!keep) {
      return aborted(device.name, " has started again, and keeps no state: start its task with ",
                     "--state DIR for sessions to go on");
    }
    if (kept_identity(next->description) != kept_identity(device.description)) {
      return aborted(device.name, " has started again without the state that it had ('",
                     device.description, "', now '", next->description, "')");
    }
    if (const wire::NodeDef* const lost = find_not_kept(graph, ops, name, *keep)) {
      return aborted(device.name, " has started again, and what '", lost->name, "' (", lost->op,
                     ") held there was not kept: ", what_is_kept(*keep));
    }
  }
  return {};
}

bool has_started_again(std::span<const DeviceAttributes> before,
                       std::span<const DeviceAttributes> now) {
  return std::ranges::any_of(before, [&](const DeviceAttributes& device) {
    const DeviceAttributes* const next = find(now, device.name);
    return next != nullptr && next->incarnation != device.incarnation;
  });
}

}  // namespace millrace
