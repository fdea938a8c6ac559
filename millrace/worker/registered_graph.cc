#include "millrace/worker/registered_graph.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "millrace/autodiff/function_gradient.h"
#include "millrace/plan/lower.h"
#include "millrace/plan/partition.h"
#include "millrace/worker/lease_feed.h"
#include "millrace/worker/peer_receive.h"

namespace millrace {
namespace {

bool is_transfer(const Node& node) {
  return node.op->role == Role::send || node.op->role == Role::receive;
}

// What must be known before compiling: where the nodes are and whom their transfers meet.
struct Survey {
  std::optional<size_t> only_device;  // none: there are several, or the graph is to be rewritten
  bool meets_peers = false;
  bool is_placed = true;
};

class Surveyor {
 public:
  Surveyor(const Graph& graph, const LocalDevices& devices) : graph_(graph), devices_(devices) {}

  Result<Survey> survey() && {
    for (const Node& node : graph_.nodes()) {
      if (node.device().empty()) survey_.is_placed = false;
      MR_TRY(visit_device(node).with(node.name));
      if (is_transfer(node)) MR_TRY(visit_transfer(node).with(node.name));
    }
    const bool rewrite = devices_seen_.size() != 1 || knows_not_all_ || !survey_.is_placed;
    if (!rewrite) survey_.only_device = devices_seen_.front();
    return survey_;
  }

 private:
  // Devices of one graph are interned: equal ones have one address.
  Status visit_device(const Node& node) {
    const std::string_view name = node.device().empty() ? node.requested_device() : node.device();
    if (name.data() == last_device_ && !devices_seen_.empty()) return {};
    MR_ASSIGN(const size_t device, devices_.find(name));
    last_device_ = name.data();
    if (std::ranges::find(devices_seen_, device) == devices_seen_.end())
      devices_seen_.push_back(device);
    return {};
  }

  Status visit_transfer(const Node& node) {
    const AttrView attrs = node.attr_view();
    for (const char* end : {"send_device", "recv_device"}) {
      MR_ASSIGN(const std::string device, attrs.string(end));
      if (!devices_.find(device).ok()) survey_.meets_peers = true;
    }
    MR_ASSIGN(const int64_t incarnation, attrs.integer("send_device_incarnation"));
    if (incarnation == 0) knows_not_all_ = true;
    return {};
  }

  const Graph& graph_;
  const LocalDevices& devices_;
  std::vector<size_t> devices_seen_;
  const char* last_device_ = nullptr;
  bool knows_not_all_ = false;  // a transfer without an incarnation, to be filled in
  Survey survey_;
};

// Masters lower what calls functions; TensorFlow's may leave some of it to workers.
Status lower_calls(std::shared_ptr<const Graph>& graph) {
  const auto calls = [](const Node& node) { return calls_functions(node.op->role); };
  if (std::ranges::none_of(graph->nodes(), calls)) return {};
  Graph lowered = *graph;
  // What is added goes where its call is.
  for (const Node& node : graph->nodes()) {
    if (!node.device().empty()) lowered.set_requested_device(node.id, node.device());
  }
  StandIns stand_ins;
  MR_TRY(lower_functions(
      lowered, stand_ins,
      {.differentiate = differentiated, .remote_calls = LowerOptions::ByKernel::computed}));
  graph = std::make_shared<const Graph>(std::move(lowered));
  return {};
}

bool is_in_order(const std::vector<uint32_t>& numbers, size_t count) {
  if (numbers.size() != count) return false;
  for (size_t i = 0; i < count; ++i)
    if (numbers[i] != i) return false;
  return true;
}

}  // namespace

Result<std::shared_ptr<RegisteredGraph>> RegisteredGraph::create(
    std::string handle, std::shared_ptr<const Graph> graph, const LocalDevices& devices,
    const SessionKernels& kernels, const std::shared_ptr<const PeerFetcher>& peers,
    FreshNames& names, const CallSite& calls) {
  if (graph == nullptr) return invalid("RegisterGraph came without a graph");
  MR_TRY(lower_calls(graph));
  std::shared_ptr<RegisteredGraph> made(new RegisteredGraph(std::move(handle)));
  MR_ASSIGN(const Survey survey, Surveyor(*graph, devices).survey());
  made->meets_peers_ = survey.meets_peers;
  if (survey.only_device) {
    const SlotNumbers slots({});
    MR_ASSIGN(const auto lease, lease_feed_of(*graph));
    MR_TRY(made->add_piece(*survey.only_device, std::move(graph), lease ? lease->graph : nullptr,
                           devices, kernels, peers, calls, slots));
    if (lease) {
      made->lease_feed_ = made->num_feeds_++;
      made->feed_of_key_.try_emplace(lease->key, static_cast<uint32_t>(*made->lease_feed_));
    }
    return made;
  }
  Graph copy = *graph;
  if (!survey.is_placed) MR_TRY(take_requested_devices(copy));
  const auto incarnation = [&](std::string_view name) -> uint64_t {
    const auto device = devices.find(name);
    return device.ok() ? devices[*device].incarnation : 0;
  };
  MR_ASSIGN(auto parts, split_by_device(std::move(copy), incarnation, names));
  std::vector<const Graph*> all;
  for (const Partition& part : parts) all.push_back(&part.graph);
  const SlotNumbers slots(all);
  made->slot_keys_ = slots.keys();
  for (Partition& part : parts) {
    MR_ASSIGN(const size_t device, devices.find(part.location));
    MR_TRY(made->add_piece(device, std::make_shared<const Graph>(std::move(part.graph)), nullptr,
                           devices, kernels, peers, calls, slots));
  }
  return made;
}

Status RegisteredGraph::add_piece(size_t device, std::shared_ptr<const Graph> graph,
                                  std::shared_ptr<const Graph> reduced, const LocalDevices& devices,
                                  const SessionKernels& kernels,
                                  const std::shared_ptr<const PeerFetcher>& peers,
                                  const CallSite& calls, const SlotNumbers& slots) {
  std::shared_ptr<FunctionSpace> functions;
  if (graph->functions() != nullptr)
    functions =
        std::make_shared<GraphFunctions>(calls, graph->functions(), graph->ops(), devices, device);
  bool has_slots = false, has_keys = false;
  const auto make_transfer = [&](const Node& node) {
    std::unique_ptr<Kernel> made = slots.transfer(node);
    (made != nullptr ? has_slots : has_keys) = true;
    return made != nullptr ? std::move(made) : peer_receive(node, peers);
  };
  MR_ASSIGN(auto compiled,
            CompiledGraph::compile(reduced ? *reduced : *graph, devices[device], *kernels[device],
                                   ClientTransfers::by_slot, make_transfer, functions));
  // In loops a slot's transfer has a key for each iteration.
  if (has_keys || (has_slots && compiled->has_frames())) uses_rendezvous_ = true;
  pieces_.push_back(
      {device, std::move(graph), compiled, std::move(functions), num_feeds_, num_fetches_});
  for (const std::string& key : compiled->feed_keys())
    feed_of_key_.try_emplace(key, static_cast<uint32_t>(num_feeds_++));
  for (const std::string& key : compiled->fetch_keys())
    fetch_of_key_.try_emplace(key, static_cast<uint32_t>(num_fetches_++));
  return {};
}

RegisteredGraph::KeyMap RegisteredGraph::make_key_map(std::shared_ptr<const StepKeys> keys) const {
  KeyMap map;
  const auto number_of = [&](const auto& numbers, const std::string& key) {
    const auto found = numbers.find(key);
    if (found != numbers.end()) return found->second;
    map.has_elsewhere = true;
    return KeyMap::kElsewhere;
  };
  for (const std::string& key : keys->send) map.send.push_back(number_of(feed_of_key_, key));
  for (const std::string& key : keys->receive) map.receive.push_back(number_of(fetch_of_key_, key));
  map.send_in_order = is_in_order(map.send, num_feeds_);
  map.receive_in_order = is_in_order(map.receive, num_fetches_);
  map.keys = std::move(keys);
  return map;
}

std::shared_ptr<const RegisteredGraph::KeyMap> RegisteredGraph::map_keys(
    const std::shared_ptr<const StepKeys>& keys) {
  // A map keeps its keys alive, so no other keys can have their address.
  if (expected_ != nullptr && expected_->keys == keys) return expected_;
  std::shared_ptr<const KeyMap> last;
  {
    MutexLock lock(mutex_);
    if (last_map_ != nullptr && last_map_->keys == keys) return last_map_;
    last = last_map_;
  }
  // From another process every request brings keys of its own that say the same.
  if (last != nullptr && last->keys->send == keys->send && last->keys->receive == keys->receive)
    return last;
  auto made = std::make_shared<const KeyMap>(make_key_map(keys));
  MutexLock lock(mutex_);
  last_map_ = made;
  return made;
}

Result<std::vector<std::shared_ptr<const CompiledGraph>>> RegisteredGraph::for_partial_run(
    const LocalDevices& devices, const SessionKernels& kernels,
    const std::shared_ptr<const PeerFetcher>& peers) {
  {
    MutexLock lock(mutex_);
    if (!partial_.empty()) return partial_;
  }
  std::vector<std::shared_ptr<const CompiledGraph>> made;
  for (const Piece& piece : pieces_) {
    MR_ASSIGN(auto compiled,
              CompiledGraph::compile(
                  *piece.graph, devices[piece.device], *kernels[piece.device],
                  ClientTransfers::by_rendezvous,
                  [&](const Node& node) { return peer_receive(node, peers); }, piece.functions));
    made.push_back(std::move(compiled));
  }
  MutexLock lock(mutex_);
  if (partial_.empty()) partial_ = std::move(made);
  return partial_;
}

}  // namespace millrace
