// Part of graph.h: FanOut, topological_order, and the names of endpoints.
#include <algorithm>

#include "millrace/base/shown.h"
#include "millrace/graph/graph.h"

namespace millrace {

FanOut::FanOut(const Graph& graph, NodeId first)
    : first_(first), begin_(graph.size() - first + 1, 0) {
  const auto counts = [&](NodeId producer) { return producer != kNoNode && producer >= first; };
  const auto nodes = graph.nodes().subspan(first);
  for (const Node& node : nodes) {
    for (const Endpoint& input : node.inputs) {
      if (counts(input.node)) ++begin_[input.node - first + 1];
    }
    for (NodeId before : node.control_inputs) {
      if (counts(before)) ++begin_[before - first + 1];
    }
  }
  for (size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
  edges_.resize(begin_.back());
  std::vector<uint32_t> next(begin_.begin(), begin_.end() - 1);
  for (const Node& node : nodes) {
    int32_t slot = 0;
    for (const Endpoint& input : node.inputs) {
      if (counts(input.node)) edges_[next[input.node - first]++] = {input.output, node.id, slot};
      ++slot;
    }
    for (NodeId before : node.control_inputs) {
      if (counts(before)) edges_[next[before - first]++] = {-1, node.id, -1};
    }
  }
}

bool is_back_edge(const Node& producer, const Node& consumer) {
  return consumer.op->role == Role::merge && producer.op->role == Role::next_iteration;
}

namespace {

// Depth first along the inputs: a node is done when all its inputs are. Taking the nodes in order
// of their ids keeps an order that is good already, and a node met again on the way is a cycle,
// with its members on the stack.
class DepthFirst {
 public:
  DepthFirst(const Graph& graph, NodeId first)
      : graph_(graph), first_(first), states_(graph.size() - first, State::unseen) {
    order_.reserve(states_.size());
  }

  Result<std::vector<NodeId>> run() && {
    for (NodeId root = first_; root < graph_.size(); ++root) {
      if (state(root) != State::unseen) continue;
      enter(root);
      while (!stack_.empty()) MR_TRY(step());
    }
    return std::move(order_);
  }

 private:
  enum class State : uint8_t { unseen, on_stack, done };
  struct Visit {
    NodeId node;
    uint32_t next_input;  // data inputs, then control inputs
  };

  // Only asked of nodes from first_ on.
  State& state(NodeId id) { return states_[id - first_]; }

  void enter(NodeId id) {
    state(id) = State::on_stack;
    stack_.push_back({id, 0});
  }

  Status step() {
    Visit& visit = stack_.back();
    const Node& node = graph_[visit.node];
    const uint32_t num_data = static_cast<uint32_t>(node.inputs.size());
    const uint32_t num_inputs = num_data + static_cast<uint32_t>(node.control_inputs.size());
    while (visit.next_input < num_inputs) {
      const uint32_t at = visit.next_input++;
      const NodeId input =
          at < num_data ? node.inputs[at].node : node.control_inputs[at - num_data];
      if (input == kNoNode || input < first_ || state(input) == State::done) continue;
      if (at < num_data && is_back_edge(graph_[input], node)) continue;
      if (state(input) == State::on_stack) return cycle(input);
      enter(input);
      return {};
    }
    state(visit.node) = State::done;
    order_.push_back(visit.node);
    stack_.pop_back();
    return {};
  }

  Status cycle(NodeId first) const {
    constexpr size_t kMost = 12;
    const auto begin = std::ranges::find(stack_, first, &Visit::node);
    // The stack goes from consumers to inputs; people read the other way.
    std::string text(graph_[first].name);
    size_t shown = 1;
    for (auto at = stack_.end(); at-- != begin;) {
      if (shown++ == kMost) {
        str_append(&text, " -> … ", at - begin, " more …");
        at = begin;
      }
      str_append(&text, " -> ", graph_[at->node].name);
    }
    return invalid("Graph is invalid, contains a cycle that is no while loop: ", text);
  }

  const Graph& graph_;
  const NodeId first_;
  std::vector<State> states_;
  std::vector<Visit> stack_;
  std::vector<NodeId> order_;
};

}  // namespace

Result<std::vector<NodeId>> topological_order(const Graph& graph, NodeId first) {
  return DepthFirst(graph, first).run();
}

TensorName parse_tensor_name(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return {text, 0};
  const std::string_view digits = text.substr(colon + 1);
  int64_t index = 0;
  for (char c : digits) {
    if (c < '0' || c > '9' || index > INT32_MAX / 10 - 1) return {text, 0};
    index = index * 10 + (c - '0');
  }
  if (digits.empty()) return {text, 0};
  return {text.substr(0, colon), static_cast<int32_t>(index)};
}

Result<Endpoint> find_endpoint(const Graph& graph, std::string_view tensor_name) {
  const TensorName name = parse_tensor_name(tensor_name);
  const Node* node = graph.find(name.node);
  if (node == nullptr) return not_found("there is no node '", shown(name.node), "' in the graph");
  if (name.output >= node->num_outputs()) {
    return invalid("'", tensor_name, "': node '", node->name, "' (", node->op->name, ") has ",
                   node->num_outputs(), " outputs");
  }
  return Endpoint{node->id, name.output};
}

std::string endpoint_name(const Graph& graph, Endpoint endpoint) {
  const std::string_view name = graph[endpoint.node].name;
  return endpoint.output == 0 ? std::string(name) : str_cat(name, ":", endpoint.output);
}

}  // namespace millrace
