// Part of step_graph.h: cut_step, what a step needs of the whole graph.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"

#include "millrace/base/shown.h"
#include "millrace/op/rendezvous.h"
#include "millrace/plan/names_function.h"
#include "millrace/plan/node_map.h"
#include "millrace/plan/step_graph.h"

namespace millrace {
namespace {

// Its control edges mean "once the value is there", which is the _Recv when it is fed.
bool is_placeholder(const Node& node) { return node.op->source == Source::fed; }

// Where one task takes a fed value.
struct Arrival {
  const Device* device = nullptr;
  NodeId recv = kNoNode;  // in the step's graph
};

struct Feed {
  Endpoint source;
  std::vector<Arrival> arrivals;  // one per task
};

class StepCutter {
 public:
  StepCutter(const Graph& whole, const DeviceSet& devices, const StepSignature& signature)
      : whole_(whole),
        devices_(devices),
        signature_(signature),
        new_ids_(whole.size()),
        step_{Graph(whole.ops()), {}, {}, {}} {}

  Result<StepGraph> run() && {
    MR_TRY(resolve());
    mark();
    MR_TRY(find_arrivals());
    step_.graph.reserve(kept_.size() + signature_.feeds.size() + signature_.fetches.size());
    step_.graph.set_versions(whole_.versions());
    MR_TRY(add_receives());
    for (NodeId id : kept_) {
      MR_ASSIGN(const NodeId copy, step_.graph.add_copy(whole_[id]));
      new_ids_.set(id, copy);
      if (names_function(whole_[id])) step_.graph.set_functions(whole_.functions());
    }
    for (NodeId id : kept_) MR_TRY(connect(whole_[id]));
    MR_TRY(add_sends());
    for (NodeId id : targets_) step_.roots.push_back(new_ids_[id]);
    return std::move(step_);
  }

 private:
  Status resolve() {
    if (signature_.fetches.empty() && signature_.targets.empty()) {
      return invalid("Must specify at least one target to fetch or execute.");
    }
    for (const std::string& feed : signature_.feeds) MR_TRY(resolve_feed(feed));
    MR_TRY(find_missing_fetches());
    for (const std::string& fetch : signature_.fetches) MR_TRY(resolve_fetch(fetch));
    std::vector<std::string_view> missing;
    for (const std::string& target : signature_.targets) {
      if (const Node* node = whole_.find(target)) {
        targets_.push_back(node->id);
      } else {
        missing.push_back(target);
      }
    }
    if (missing.empty()) return {};
    return not_found("PruneForTargets: Some target nodes not found: ", listed(missing, " "));
  }

  // All of them at once: who mends one name at a time has to ask for each. An empty name comes
  // last, since it says the least.
  Status find_missing_fetches() const {
    std::vector<std::string_view> missing;
    for (const std::string& fetch : signature_.fetches)
      if (whole_.find(parse_tensor_name(fetch).node) == nullptr) missing.push_back(fetch);
    if (missing.empty()) return {};
    std::stable_partition(missing.begin(), missing.end(),
                          [](std::string_view name) { return !name.empty(); });
    return not_found("FetchOutputs node ", listed(missing, ", nor "), ": not found");
  }

  static std::string listed(std::span<const std::string_view> names, std::string_view between) {
    constexpr size_t kMost = 5;
    std::string text;
    for (const std::string_view name : names.first(std::min(names.size(), kMost))) {
      str_append(&text, text.empty() ? "" : between,
                 name.empty() ? "'' (an empty name)" : shown(name));
    }
    if (names.size() > kMost) str_append(&text, " and ", names.size() - kMost, " more");
    return text;
  }

  Status resolve_feed(const std::string& feed) {
    const TensorName name = parse_tensor_name(feed);
    const Node* node = whole_.find(name.node);
    if (node == nullptr) return not_found("FeedInputs: unable to find feed output ", shown(feed));
    if (name.output >= node->num_outputs()) {
      return invalid("FeedInputs: ", feed, " should have output index < ", node->num_outputs());
    }
    const Endpoint source{node->id, name.output};
    if (!fed_.emplace(source, feeds_.size()).second) {
      return invalid("Endpoint \"", feed, "\" fed more than once.");
    }
    feeds_.push_back({source, {}});
    return {};
  }

  Status resolve_fetch(const std::string& fetch) {
    const TensorName name = parse_tensor_name(fetch);
    const Node* node = whole_.find(name.node);
    if (node == nullptr) return not_found("FetchOutputs node ", shown(fetch), ": not found");
    if (node->num_outputs() == 0) {
      return invalid("Tried to fetch data for '", fetch,
                     "', which produces no output.  To run to a "
                     "node but not fetch any data, pass '",
                     fetch,
                     "' as an argument to the "
                     "'target_node_names' argument of the Session::Run API.");
    }
    if (name.output >= node->num_outputs()) {
      return invalid("FetchOutputs ", fetch, ": output index too large, must be < ",
                     node->num_outputs());
    }
    const Endpoint source{node->id, name.output};
    if (fed_.contains(source)) return invalid(fetch, " is both fed and fetched.");
    fetched_.push_back(source);
    return {};
  }

  // Calls `visit` with each edge of `node` that is not replaced by a feed: its producer.
  template <class Visit>
  void for_each_producer(const Node& node, Visit visit) const {
    for (const Endpoint& input : node.inputs) {
      if (!fed_.contains(input)) visit(input.node);
    }
    for (NodeId before : node.control_inputs) {
      if (!fed_placeholder(before)) visit(before);
    }
  }

  const size_t* fed_placeholder(NodeId id) const {
    if (feeds_.empty() || !is_placeholder(whole_[id])) return nullptr;
    const auto found = fed_.find(Endpoint{id, 0});
    return found == fed_.end() ? nullptr : &found->second;
  }

  // Finds what is kept, and lists it in order of ids.
  void mark() {
    const auto keep = [&](NodeId id) {
      if (new_ids_[id] != kNoNode) return;
      new_ids_.set(id, 0);  // until it has its real one
      kept_.push_back(id);
    };
    for (const Endpoint& source : fetched_) keep(source.node);
    for (NodeId id : targets_) keep(id);
    for (size_t next = 0; next < kept_.size(); ++next) {
      for_each_producer(whole_[kept_[next]], keep);
    }
    std::ranges::sort(kept_);
  }

  Result<const Device*> device_of(const Node& node) const {
    if (const Device* device = devices_.find(node.device())) return device;
    return internal("node '", node.name, "' is on device '", node.device(),
                    "', which the session does not have");
  }

  static Arrival* arrival_on(Feed& feed, uint32_t task) {
    const auto found = std::ranges::find_if(
        feed.arrivals, [&](const Arrival& arrival) { return arrival.device->task == task; });
    return found == feed.arrivals.end() ? nullptr : &*found;
  }

  Status find_arrivals() {
    if (feeds_.empty()) return {};
    for (NodeId id : kept_) {
      for (const Endpoint& input : whole_[id].inputs) {
        const auto fed = fed_.find(input);
        if (fed != fed_.end()) MR_TRY(add_arrival(feeds_[fed->second], whole_[id]));
      }
    }
    // A value that is there for its own sake serves control edges too.
    for (NodeId id : kept_) {
      for (NodeId before : whole_[id].control_inputs) {
        const size_t* fed = fed_placeholder(before);
        if (fed && feeds_[*fed].arrivals.empty()) MR_TRY(add_arrival(feeds_[*fed], whole_[id]));
      }
    }
    return {};
  }

  Status add_arrival(Feed& feed, const Node& consumer) {
    MR_ASSIGN(const Device* const device, device_of(consumer));
    if (arrival_on(feed, device->task)) return {};
    MR_ASSIGN(const Device* const original, device_of(whole_[feed.source.node]));
    feed.arrivals.push_back({original->task == device->task ? original : device, kNoNode});
    return {};
  }

  // "_recv_x_0", "_send_y_1"; further ones for the same tensor get ".1", ".2" … at the end, which
  // no other tensor's name can have: workers keep transfers by name.
  std::string transfer_name(std::string_view verb, Endpoint source, size_t number) const {
    const std::string prefix =
        str_cat("_", verb, "_", whole_[source.node].name, "_", source.output);
    for (;; ++number) {
      std::string name = number == 0 ? prefix : str_cat(prefix, ".", number);
      if (!whole_.find(name) && !step_.graph.find(name)) return name;
    }
  }

  Attrs transfer_attrs(const Device& device, std::string tensor_name) const {
    return {{"tensor_name", std::move(tensor_name)},
            {"send_device", device.full_name},
            {"recv_device", device.full_name},
            {"send_device_incarnation", static_cast<int64_t>(device.incarnation)},
            {"client_terminated", true}};
  }

  static ClientTransfer transfer(size_t index, const Node& node, const Device& device,
                                 std::string_view tensor_name) {
    return {.index = static_cast<int>(index),
            .node = std::string(node.name),
            .device = device.full_name,
            .key = RendezvousKey::make(device.full_name, device.incarnation, device.full_name,
                                       tensor_name)
                       .text};
  }

  std::string tensor_name(Endpoint source) const {
    return str_cat(whole_[source.node].name, ":", source.output);
  }

  Status add_receives() {
    for (size_t i = 0; i < feeds_.size(); ++i) {
      Feed& feed = feeds_[i];
      const std::string name = tensor_name(feed.source);
      for (size_t k = 0; k < feed.arrivals.size(); ++k) {
        Arrival& arrival = feed.arrivals[k];
        Attrs attrs = transfer_attrs(*arrival.device, name);
        attrs.set("tensor_type", whole_[feed.source.node].output_types()[feed.source.output].dtype);
        MR_ASSIGN(arrival.recv, step_.graph.add({.name = transfer_name("recv", feed.source, k),
                                                 .op = "_Recv",
                                                 .attrs = std::move(attrs)}));
        step_.graph.set_device(arrival.recv, arrival.device->full_name);
        step_.feeds.push_back(transfer(i, step_.graph[arrival.recv], *arrival.device, name));
      }
    }
    return {};
  }

  Status connect(const Node& node) {
    const NodeId id = new_ids_[node.id];
    for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
      Endpoint source{new_ids_[node.inputs[slot].node], node.inputs[slot].output};
      if (const auto fed = fed_.find(node.inputs[slot]); fed != fed_.end()) {
        MR_ASSIGN(const Device* const device, device_of(node));
        source = {arrival_on(feeds_[fed->second], device->task)->recv, 0};
      }
      MR_TRY(step_.graph.set_input(id, static_cast<int>(slot), source));
    }
    if (node.control_inputs.empty()) return {};
    std::vector<NodeId> before;
    for (NodeId control : node.control_inputs) {
      const size_t* fed = fed_placeholder(control);
      if (fed == nullptr) {
        before.push_back(new_ids_[control]);
        continue;
      }
      MR_ASSIGN(const Device* const device, device_of(node));
      const Arrival* here = arrival_on(feeds_[*fed], device->task);
      before.push_back((here ? *here : feeds_[*fed].arrivals[0]).recv);
    }
    step_.graph.set_control_inputs(id, std::move(before));
    return {};
  }

  Status add_sends() {
    absl::flat_hash_map<Endpoint, size_t> times;
    for (size_t i = 0; i < fetched_.size(); ++i) {
      const Endpoint source = fetched_[i];
      MR_ASSIGN(const Device* const device, device_of(whole_[source.node]));
      // Fetched twice is sent twice, under keys of their own.
      const size_t repeat = times[source]++;
      const std::string name =
          repeat == 0 ? tensor_name(source) : str_cat(tensor_name(source), "#", repeat);
      MR_ASSIGN(const NodeId send,
                step_.graph.add({.name = transfer_name("send", source, repeat),
                                 .op = "_Send",
                                 .inputs = {{new_ids_[source.node], source.output}},
                                 .attrs = transfer_attrs(*device, name)}));
      step_.graph.set_device(send, device->full_name);
      step_.fetches.push_back(transfer(i, step_.graph[send], *device, name));
      step_.roots.push_back(send);
    }
    return {};
  }

  const Graph& whole_;
  const DeviceSet& devices_;
  const StepSignature& signature_;
  std::vector<Feed> feeds_;
  absl::flat_hash_map<Endpoint, size_t> fed_;  // into feeds_
  std::vector<Endpoint> fetched_;
  std::vector<NodeId> targets_;
  std::vector<NodeId> kept_;
  NodeMap new_ids_;  // by id in the whole graph; kNoNode if it is not kept
  StepGraph step_;
};

}  // namespace

Result<StepGraph> cut_step(const Graph& whole, const DeviceSet& devices,
                           const StepSignature& signature) {
  return StepCutter(whole, devices, signature).run();
}

void drop_unneeded(StepGraph& step) {
  const Graph& graph = step.graph;
  std::vector<bool> keep(graph.size(), false);
  std::vector<NodeId> kept;
  const auto need = [&](NodeId id) {
    if (keep[id]) return;
    keep[id] = true;
    kept.push_back(id);
  };
  for (NodeId root : step.roots) need(root);
  for (size_t next = 0; next < kept.size(); ++next) {
    const Node& node = graph[kept[next]];
    for (const Endpoint& input : node.inputs) need(input.node);
    for (NodeId before : node.control_inputs) need(before);
  }
  if (kept.size() == graph.size()) return;
  const std::vector<NodeId> new_ids = step.graph.retain(keep);
  for (NodeId& root : step.roots) root = new_ids[root];
  std::erase_if(step.feeds,
                [&](const ClientTransfer& feed) { return !step.graph.find(feed.node); });
}

}  // namespace millrace
