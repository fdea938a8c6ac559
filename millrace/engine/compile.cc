// Part of compiled_graph.h: CompiledGraph::compile, from a graph to arrays.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"

#include "millrace/base/hash.h"
#include "millrace/engine/client_transfers.h"
#include "millrace/engine/compiled_layout.h"
#include "millrace/graph/frames.h"
#include "millrace/op/device_name.h"
#include "millrace/op/once_factory.h"

namespace millrace {
namespace {

using Layout = CompiledGraph::Layout;

// Nodes run in the order of their numbers if nothing else decides. So what goes to other tasks and
// comes from them stands as early as it can, and nobody waits for work that is none of theirs:
// receives first, a send right behind the last of its inputs.
std::vector<NodeId> with_transfers_early(const Graph& graph, const std::vector<NodeId>& order) {
  // By node: where it stands; a send has no place of its own but the one behind its last input.
  std::vector<uint32_t> place(graph.size());
  absl::flat_hash_map<NodeId, std::vector<NodeId>> sends_behind;
  std::vector<NodeId> first, rest;
  for (uint32_t i = 0; i < order.size(); ++i) {
    const Node& node = graph[order[i]];
    place[node.id] = 2 * i;
    const bool is_source = node.inputs.empty() && node.control_inputs.empty();
    if (node.op->role == Role::send && !is_source) {
      NodeId last = node.inputs.empty() ? node.control_inputs.front() : node.inputs.front().node;
      for (const Endpoint& input : node.inputs)
        if (place[input.node] > place[last]) last = input.node;
      for (NodeId input : node.control_inputs)
        if (place[input] > place[last]) last = input;
      place[node.id] = place[last] | 1;
      sends_behind[last].push_back(node.id);
    } else if (node.op->role == Role::receive && is_source) {
      place[node.id] = 0;
      first.push_back(node.id);
    } else {
      rest.push_back(node.id);
    }
  }
  std::vector<NodeId> early;
  early.reserve(order.size());
  const auto append = [&](NodeId node) {
    early.push_back(node);
    // What is appended may have sends behind it, too.
    for (size_t next = early.size() - 1; next < early.size(); ++next) {
      const auto sends = sends_behind.find(early[next]);
      if (sends != sends_behind.end())
        early.insert(early.end(), sends->second.begin(), sends->second.end());
    }
  };
  for (NodeId node : first) append(node);
  for (NodeId node : rest) append(node);
  return early;
}

// What says nothing of its type is a processor.
std::string type_of(std::string_view device) {
  const Result<DeviceName> name = DeviceName::parse(device);
  return name.ok() && name->type ? *name->type : "CPU";
}

class Compiler {
 public:
  Compiler(const Graph& graph, const DeviceContext& device, KernelCache& kernels,
           ClientTransfers transfers, const MakeTransfer& make_transfer,
           const std::shared_ptr<FunctionSpace>& functions)
      : graph_(graph),
        device_(device),
        device_type_(type_of(device.name)),
        cache_(kernels),
        transfers_(transfers),
        make_transfer_(make_transfer),
        functions_(functions),
        layout_(std::make_unique<Layout>()) {}

  Result<std::unique_ptr<const Layout>> compile() && {
    MR_TRY(number_nodes());
    MR_TRY(lay_out_nodes());
    lay_out_edges();
    if (transfers_ == ClientTransfers::by_slot) MR_TRY(count_feed_takers());
    for (NodeId id : order_) MR_TRY(make_kernel(graph_[id]));
    return std::unique_ptr<const Layout>(std::move(layout_));
  }

 private:
  // Numbers nodes by frame and, inside a frame, in topological order.
  Status number_nodes() {
    for (const Node& node : graph_.nodes()) {
      for (const Endpoint& input : node.inputs)
        if (input.node == kNoNode) return invalid("an input of node '", node.name, "' is not set");
    }
    MR_ASSIGN(order_, topological_order(graph_));
    order_ = with_transfers_early(graph_, order_);
    MR_ASSIGN(loops_, FrameTable::create(graph_));
    if (loops_.has_loops()) {
      std::stable_sort(order_.begin(), order_.end(), [&](NodeId a, NodeId b) {
        return loops_.of_inputs(graph_[a]) < loops_.of_inputs(graph_[b]);
      });
    }
    index_.resize(graph_.size());
    for (size_t i = 0; i < order_.size(); ++i) index_[order_[i]] = static_cast<uint32_t>(i);
    return {};
  }

  Status lay_out_nodes() {
    size_t name_bytes = 0, num_outputs = 0;
    for (const Node& node : graph_.nodes()) {
      name_bytes += node.name.size();
      num_outputs += node.output_types().size();
    }
    // The nodes keep views into both.
    layout_->names.reserve(name_bytes);
    layout_->output_types.reserve(num_outputs);
    layout_->nodes.reserve(order_.size());
    layout_->arrivals.reserve(order_.size());
    for (const Frame& frame : loops_.frames())
      layout_->frames.push_back({.parent = frame.parent, .name_hash = murmur64(frame.name)});
    for (NodeId id : order_) {
      lay_out(graph_[id]);
      if (graph_[id].op->role == Role::enter) MR_TRY(lay_out_enter(graph_[id]));
    }
    return {};
  }

  Status lay_out_enter(const Node& node) {
    const AttrView attrs = node.attr_view();
    Layout::Node& laid = layout_->nodes.back();
    laid.inner_frame = loops_.of_outputs(node);
    Layout::Frame& frame = layout_->frames[laid.inner_frame];
    ++frame.num_enters;
    MR_ASSIGN(const bool is_constant, attrs.boolean("is_constant").with(node.name));
    if (is_constant) laid.flags |= Layout::kLoopConstant;
    MR_ASSIGN(const int64_t parallel, attrs.integer("parallel_iterations").with(node.name));
    if (parallel < 1)
      return invalid("Enter '", node.name, "' has parallel_iterations = ", parallel,
                     "; at least 1 is needed");
    frame.parallel_iterations = std::max(
        frame.parallel_iterations, static_cast<uint32_t>(std::min<int64_t>(parallel, UINT32_MAX)));
    return {};
  }

  void lay_out(const Node& node) {
    Layout& to = *layout_;
    const uint32_t number = static_cast<uint32_t>(to.nodes.size());
    Layout::Frame& frame = to.frames[loops_.of_inputs(node)];
    if (frame.num_nodes++ == 0) {
      frame.first_node = number;
      frame.first_input = static_cast<uint32_t>(to.num_inputs);
    }
    frame.num_inputs += static_cast<uint32_t>(node.inputs.size());

    Layout::Node laid{.name = keep_name(node.name),
                      .output_types = to.output_types.data() + to.output_types.size(),
                      .first_input = static_cast<uint32_t>(to.num_inputs),
                      .num_inputs = static_cast<uint32_t>(node.inputs.size()),
                      .num_outputs = static_cast<uint32_t>(node.output_types().size()),
                      .role = node.op->role,
                      .cost = node.op->cost,
                      .flags = flags_of(node)};
    to.output_types.insert(to.output_types.end(), node.output_types().begin(),
                           node.output_types().end());
    to.num_inputs += node.inputs.size();
    to.most_outputs = std::max(to.most_outputs, node.output_types().size());

    for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
      const Endpoint& source = node.inputs[slot];
      to.producers.push_back(index_[source.node]);
      to.expects_ref.push_back(node.input_types()[slot].is_ref);
      if (graph_[source.node].output_types()[source.output].is_ref)
        laid.flags |= Layout::kReadsRefs;
    }
    const auto controls = static_cast<uint32_t>(node.control_inputs.size());
    to.arrivals.push_back(node.op->role == Role::merge
                              ? Arrivals::of_merge(laid.num_inputs, controls)
                              : Arrivals::of_ordinary(laid.num_inputs + controls));
    if (!to.arrivals.back().waits()) to.sources.push_back(number);
    if (laid.flags & Layout::kTransfer) to.moved.emplace(number, moved_by(node));
    to.ops.push_back(node.op);
    to.nodes.push_back(laid);
  }

  // Plans name transfers "edge_7_x", and feeds and fetches "x:0", if they move what x makes.
  static std::string moved_by(const Node& node) {
    const auto tensor = node.attr_view().string("tensor_name");
    if (!tensor.ok()) return std::string(node.name);
    constexpr std::string_view kEdge = "edge_";
    const std::string_view name = *tensor;
    if (const size_t colon = name.rfind(':'); colon != std::string_view::npos)
      return std::string(name.substr(0, colon));
    const size_t end = name.starts_with(kEdge) ? name.find('_', kEdge.size()) : name.npos;
    return std::string(end == name.npos ? node.name : name.substr(end + 1));
  }

  std::string_view keep_name(std::string_view name) {
    const size_t begin = layout_->names.size();
    layout_->names += name;
    return std::string_view(layout_->names).substr(begin);
  }

  static uint8_t flags_of(const Node& node) {
    uint8_t flags = 0;
    const Role role = node.op->role;
    if (role == Role::send || role == Role::receive) flags |= Layout::kTransfer;
    if (role == Role::control_trigger) flags |= Layout::kIgnoresDeath;
    if (node.op->allows_uninitialized_input) flags |= Layout::kMayBeUninitialized;
    return flags;
  }

  void lay_out_edges() {
    const FanOut consumers(graph_);
    for (NodeId id : order_) {
      Layout::Node& node = layout_->nodes[index_[id]];
      node.first_edge = static_cast<uint32_t>(layout_->edges.size());
      for (const FanOut::Edge& edge : consumers.of(id)) layout_->edges.push_back(edge_of(edge));
      node.num_edges = static_cast<uint32_t>(layout_->edges.size()) - node.first_edge;
      sort_edges(node);
    }
  }

  Layout::Edge edge_of(const FanOut::Edge& edge) const {
    const bool is_control = edge.slot < 0;
    const Layout::Node& consumer = layout_->nodes[index_[edge.consumer]];
    return {.consumer = index_[edge.consumer],
            .slot = is_control ? Layout::kControl
                               : consumer.first_input + static_cast<uint32_t>(edge.slot),
            .output = is_control ? 0 : static_cast<uint32_t>(edge.output),
            .is_last = 0,
            .to_merge = consumer.role == Role::merge};
  }

  // Data edges by output, then control edges.
  void sort_edges(const Layout::Node& node) {
    const auto begin = layout_->edges.begin() + node.first_edge;
    const auto end = begin + node.num_edges;
    std::stable_sort(begin, end, [](const Layout::Edge& a, const Layout::Edge& b) {
      const bool a_control = a.slot == Layout::kControl, b_control = b.slot == Layout::kControl;
      if (a_control != b_control) return b_control;
      return a.output < b.output;
    });
    for (auto edge = begin; edge != end && edge->slot != Layout::kControl; ++edge) {
      const auto next = edge + 1;
      edge->is_last = next == end || next->slot == Layout::kControl || next->output != edge->output;
    }
  }

  Status make_kernel(const Node& node) {
    MR_ASSIGN(std::shared_ptr<Kernel> kernel, kernel_of(node));
    Layout::Node& laid = layout_->nodes[index_[node.id]];
    laid.kernel = kernel.get();
    if (kernel->is_async()) laid.flags |= Layout::kAsync;
    if (dynamic_cast<QuickKernel*>(kernel.get()) != nullptr) laid.flags |= Layout::kIsQuick;
    layout_->kernels.push_back(std::move(kernel));
    return {};
  }

  Result<std::shared_ptr<Kernel>> kernel_of(const Node& node) {
    const bool is_transfer = node.op->role == Role::send || node.op->role == Role::receive;
    if (is_transfer && transfers_ == ClientTransfers::by_slot) {
      MR_ASSIGN(std::string key, client_key(node));
      if (!key.empty()) return client_kernel(node, std::move(key));
    }
    if (is_transfer) {
      layout_->uses_rendezvous = true;
      if (std::shared_ptr<Kernel> made = make_transfer_ ? make_transfer_(node) : nullptr)
        return made;
    }
    if (kernel_factory(node) == nullptr)
      return unimplemented("op '", node.op->name, "' of node '", node.name, "' has no kernel for ",
                           device_.name);
    const auto create = [&] { return create_kernel(node); };
    // Transfers keep no state, and plans use their names again for other tensors.
    if (node.op->stateful && !is_transfer) return cache_.find_or_create(cache_key(node), create);
    MR_ASSIGN(std::shared_ptr<Kernel> kernel, create());
    return kernel;
  }

  const KernelFactory* kernel_factory(const Node& node) const {
    return node.op->kernel_for(device_type_);
  }

  Result<std::unique_ptr<Kernel>> create_kernel(const Node& node) const {
    const std::vector<ArgType> inputs(node.input_types().begin(), node.input_types().end());
    const std::vector<ArgType> outputs(node.output_types().begin(), node.output_types().end());
    const KernelSpec spec{.node_name = node.name,
                          .attrs = node.attr_view(),
                          .inputs = inputs,
                          .outputs = outputs,
                          .device = device_.name,
                          .random = device_.random};
    auto made = (*kernel_factory(node))(spec);
    if (!made.ok()) return made.status().then(str_cat("\n\t [[{{node ", node.name, "}}]]"));
    if (auto* caller = dynamic_cast<FunctionCaller*>(made->get()))
      caller->give_functions(functions_);
    return made;
  }

  static std::string cache_key(const Node& node) {
    std::string key = str_cat(node.name, ";", node.op->name);
    for (const TypeList* types : {&node.input_types(), &node.output_types()}) {
      key += ';';
      for (const ArgType& type : *types)
        str_append(&key, static_cast<int>(type.dtype), type.is_ref ? "&," : ",");
    }
    // A step under a lease and one without may have the same node.
    if (const AttrValue* mark = node.attrs().find(kUnderLease); mark && mark->as_string())
      str_append(&key, ";", kUnderLease, "=", *mark->as_string());
    return key;
  }

  Status count_feed_takers() {
    for (const Node& node : graph_.nodes()) {
      if (node.op->role != Role::receive) continue;
      MR_ASSIGN(const std::string key, client_key(node));
      // In a loop one node takes its feed many times.
      if (!key.empty()) feed_takers_[key] += loops_.of_inputs(node) == 0 ? 1 : 2;
    }
    return {};
  }

  Result<std::shared_ptr<Kernel>> client_kernel(const Node& node, std::string key) {
    const bool is_feed = node.op->role == Role::receive;
    std::vector<std::string>& keys = is_feed ? layout_->feed_keys : layout_->fetch_keys;
    auto& slots = is_feed ? feed_slots_ : fetch_slots_;
    const auto [slot, is_new] = slots.try_emplace(key, keys.size());
    if (is_new) keys.push_back(std::move(key));
    Layout::Node& laid = layout_->nodes[index_[node.id]];
    laid.cost = Cost::cheap;
    if (is_feed) {
      MR_ASSIGN(std::string name, node.attr_view().string("tensor_name"));
      const auto takers =
          feed_takers_[keys[slot->second]] == 1 ? FeedTakers::one : FeedTakers::several;
      return std::shared_ptr<Kernel>(make_feed_kernel(slot->second, std::move(name), takers));
    }
    if ((laid.flags & Layout::kReadsRefs) && loops_.of_inputs(node) == 0)
      laid.flags |= Layout::kReadsLast;
    return std::shared_ptr<Kernel>(make_fetch_kernel(slot->second));
  }

  const Graph& graph_;
  const DeviceContext& device_;
  const std::string device_type_;
  KernelCache& cache_;
  const ClientTransfers transfers_;
  const MakeTransfer& make_transfer_;
  const std::shared_ptr<FunctionSpace>& functions_;

  std::vector<NodeId> order_;
  FrameTable loops_;
  std::vector<uint32_t> index_;  // by NodeId: the node's number in the layout
  absl::flat_hash_map<std::string, size_t> feed_slots_, fetch_slots_;
  absl::flat_hash_map<std::string, int> feed_takers_;  // by key
  std::unique_ptr<Layout> layout_;
};

}  // namespace

Result<std::shared_ptr<const CompiledGraph>> CompiledGraph::compile(
    const Graph& graph, const DeviceContext& device, KernelCache& kernels,
    ClientTransfers transfers, const MakeTransfer& make_transfer,
    const std::shared_ptr<FunctionSpace>& functions) {
  MR_ASSIGN(auto layout,
            Compiler(graph, device, kernels, transfers, make_transfer, functions).compile());
  return std::shared_ptr<const CompiledGraph>(new CompiledGraph(std::move(layout)));
}

}  // namespace millrace
