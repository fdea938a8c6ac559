#include "millrace/graph/graph.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

#include "millrace/base/shown.h"
#include "millrace/graph/names.h"
#include "millrace/graph/typing.h"

namespace millrace {
namespace {

// A graph of a million nodes takes a megabyte more for each byte of a node.
static_assert(sizeof(Node) <= 96);

// More nodes than this can't be numbered, and would take hundreds of gigabytes.
constexpr size_t kMostNodes = kNoNode - 1;

Status unknown_op(const OpRegistry& ops, std::string_view op, std::string_view name) {
  std::string hint;
  for (const std::string& known : ops.suggestions(op)) {
    str_append(&hint, hint.empty() ? "; did you mean " : ", ", known);
  }
  return invalid("Op type not registered '", shown(op), "', used by node '", shown(name), "'",
                 hint);
}

Status wrong_count(const Node& node, size_t wanted) {
  return invalid("Node '", node.name, "' (", node.op->name, ") takes ", wanted, " inputs ",
                 type_list_name(node.input_types()), ", but has ", node.inputs.size());
}

// Long lists (a NoOp that groups thousands) must not take quadratic time.
void drop_repeats(std::vector<NodeId>& ids) {
  constexpr size_t kShort = 16;
  size_t kept = 0;
  absl::flat_hash_set<NodeId> seen;
  for (NodeId id : ids) {
    const bool is_new = ids.size() <= kShort
                            ? std::find(ids.begin(), ids.begin() + kept, id) == ids.begin() + kept
                            : seen.insert(id).second;
    if (is_new) ids[kept++] = id;
  }
  ids.resize(kept);
}

// TensorFlow's client adds outputs to these when it takes a gradient. A session that has been sent
// the node by then keeps it as it was.
bool grows_by_gradients(const Node& node) {
  return node.op->role == Role::conditional || node.op->role == Role::loop ||
         node.attrs().find(kLoweredFrom) != nullptr;
}

}  // namespace

Graph::Graph(const Graph& other)
    : ops_(other.ops_),
      nodes_(other.nodes_),
      num_outputs_(other.num_outputs_),
      by_name_(other.by_name_),
      kinds_(other.kinds_),
      interned_(other.interned_),
      num_used_strings_(other.num_used_strings_),
      versions_(other.versions_),
      functions_(other.functions_) {
  // The copied nodes still point at the strings of `other`.
  absl::flat_hash_map<const std::string*, const std::string*> moved;
  const auto move = [&](const std::string*& text) {
    if (text == nullptr) return;
    const std::string*& mine = moved[text];
    if (mine == nullptr) mine = intern(*text);
    text = mine;
  };
  for (NodeId id = 0; id < size(); ++id) {
    Node& node = nodes_[id];
    node.name = names_.add(node.name);
    move(node.requested_device_);
    move(node.device_);
  }
}

const Node* Graph::find(std::string_view name) const {
  const NodeId id = by_name_.find(name, nodes_);
  return id == kNoNode ? nullptr : &nodes_[id];
}

std::vector<NodeId> Graph::find_all(std::span<const std::string_view> names) const {
  return by_name_.find_all(names, nodes_);
}

Result<NodeId> Graph::add(NewNode node) {
  for (const Endpoint& input : node.inputs) {
    if (input.node == kNoNode) return invalid("Node '", node.name, "' has an open input");
  }
  return add_with_back_edges(std::move(node));
}

Result<NodeId> Graph::add_with_back_edges(NewNode spec) {
  Node node;
  MR_TRY(check_node_name(spec.name));
  node.op = spec.def ? spec.def : ops_->find(spec.op);
  if (node.op == nullptr) return unknown_op(*ops_, spec.op, spec.name);
  node.name = spec.name;
  node.inputs.assign(spec.inputs.begin(), spec.inputs.end());
  for (NodeId before : spec.control_inputs) {
    if (before >= size()) return invalid("Node '", node.name, "': no control input ", before);
  }
  drop_repeats(spec.control_inputs);
  node.control_inputs.assign(spec.control_inputs);
  MR_TRY(complete(node, std::move(spec.attrs)));
  node.requested_device_ = intern(spec.device);
  return append(std::move(node));
}

Result<NodeId> Graph::add_copy(const Node& original) {
  return add_copy(original, original.name, original.requested_device());
}

Result<NodeId> Graph::add_copy(const Node& original, std::string_view name,
                               std::string_view requested_device) {
  Node node;
  node.name = name;
  node.op = original.op;
  node.inputs.assign(original.inputs.size(), Endpoint{});
  node.kind = kinds_.of(*node.op, original.kind);
  node.requested_device_ = intern(requested_device);
  node.device_ = intern(original.device());
  return append(std::move(node));
}

Status Graph::complete(Node& node, Attrs attrs) {
  absl::InlinedVector<std::optional<ArgType>, 8> given;
  for (const Endpoint& source : node.inputs) {
    given.emplace_back();
    if (source.node == kNoNode) continue;
    const int slot = static_cast<int>(given.size()) - 1;
    if (source.node >= size() || source.output < 0 ||
        source.output >= nodes_[source.node].num_outputs()) {
      return check_source(node, slot, source);
    }
    given.back() = nodes_[source.node].output_types()[source.output];
  }
  infer_attrs(*node.op, given, attrs);
  auto kind = kinds_.of(*node.op, std::move(attrs));
  if (!kind.ok())
    return kind.status().with(str_cat("Node '", node.name, "' (", node.op->name, ")"));
  node.kind = *std::move(kind);
  if (node.inputs.size() != node.input_types().size()) {
    return wrong_count(node, node.input_types().size());
  }
  for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
    if (given[slot] && !fits(*given[slot], node.input_types()[slot])) {
      return check_source(node, static_cast<int>(slot), node.inputs[slot]);
    }
  }
  return {};
}

Status Graph::check_source(const Node& node, int slot, Endpoint source) const {
  if (source.node >= size()) {
    return invalid("Node '", node.name, "': input ", slot, " comes from node ", source.node,
                   ", and the graph has ", size());
  }
  const Node& producer = nodes_[source.node];
  if (source.output < 0 || source.output >= producer.num_outputs()) {
    return invalid("Node '", node.name, "': Connecting to invalid output ", source.output,
                   " of source node ", producer.name, " which has ", producer.num_outputs(),
                   " outputs.",
                   grows_by_gradients(producer)
                       ? " Try using tf.compat.v1.experimental.output_all_intermediates(True)."
                       : "");
  }
  const ArgType have = producer.output_types()[source.output];
  if (fits(have, node.input_types()[slot])) return {};
  return invalid("Input ", slot, " of node ", node.name, " was passed ", type_name(have), " from ",
                 producer.name, ":", source.output, " incompatible with expected ",
                 type_name(node.input_types()[slot]), ".");
}

Result<NodeId> Graph::append(Node node) {
  if (size() >= kMostNodes) return error(Code::resource_exhausted, "the graph has too many nodes");
  node.id = static_cast<NodeId>(size());
  const NodeId taken = by_name_.insert(node.name, node.id, nodes_);
  if (taken != kNoNode) {
    return error(Code::already_exists, "Duplicate node name in graph: '", node.name, "'");
  }
  num_outputs_ += node.output_types().size();
  node.name = names_.add(node.name);
  nodes_.push_back(std::move(node));
  return nodes_.back().id;
}

Status Graph::set_input(NodeId id, int slot, Endpoint source) {
  Node& node = nodes_[id];
  if (slot < 0 || slot >= static_cast<int>(node.inputs.size())) {
    return invalid("Node '", node.name, "' has no input ", slot);
  }
  MR_TRY(check_source(node, slot, source));
  node.inputs[slot] = source;
  return {};
}

void Graph::add_control_input(NodeId id, NodeId before) {
  auto& controls = nodes_[id].control_inputs;
  if (std::ranges::find(controls, before) == controls.end()) controls.push_back(before);
}

void Graph::set_control_inputs(NodeId id, std::vector<NodeId> before) {
  drop_repeats(before);
  nodes_[id].control_inputs.assign(before);
}

void Graph::set_device(NodeId id, std::string_view full_name) {
  nodes_[id].device_ = intern(full_name);
}

void Graph::set_requested_device(NodeId id, std::string_view device) {
  nodes_[id].requested_device_ = intern(device);
}

Status Graph::set_attr(NodeId id, std::string_view name, AttrValue value) {
  Node& node = nodes_[id];
  const NodeKinds::Shared before = node.kind;
  Attrs attrs = before->attrs;
  attrs.set(name, std::move(value));
  if (Status status = complete(node, std::move(attrs)); !status.ok()) {
    node.kind = before;
    return status;
  }
  num_outputs_ += node.output_types().size() - before->output_types.size();
  return {};
}

Status Graph::replace(NodeId id, NewNode by) {
  Node made;
  made.op = ops_->find(by.op);
  if (made.op == nullptr) return unknown_op(*ops_, by.op, nodes_[id].name);
  made.id = id;
  made.name = nodes_[id].name;
  made.inputs.assign(by.inputs.begin(), by.inputs.end());
  drop_repeats(by.control_inputs);
  made.control_inputs.assign(by.control_inputs);
  MR_TRY(complete(made, std::move(by.attrs)));
  made.requested_device_ = nodes_[id].requested_device_;
  made.device_ = nodes_[id].device_;
  num_outputs_ += made.output_types().size() - nodes_[id].output_types().size();
  nodes_[id] = std::move(made);
  return {};
}

void Graph::reserve(size_t count) {
  nodes_.reserve(count);
  by_name_.reserve(count);
}

void Graph::truncate(size_t size) {
  if (size >= nodes_.size()) return;
  by_name_.truncate(static_cast<NodeId>(size), nodes_);
  for (size_t id = size; id < nodes_.size(); ++id) num_outputs_ -= nodes_[id].output_types().size();
  names_.take_back_from(nodes_[size].name);
  nodes_.truncate(size);
  forget_unused();
}

// What only dropped nodes used goes too: rejected graphs must not pile up. To find the strings is
// to look at every node, so it waits until there are many.
void Graph::forget_unused() {
  kinds_.forget_unused();
  constexpr size_t kFew = 64;
  if (interned_.size() <= 2 * num_used_strings_ + nodes_.size() / 16 + kFew) return;
  absl::flat_hash_set<const std::string*> used;
  for (const Node& node : nodes()) {
    used.insert(node.requested_device_);
    used.insert(node.device_);
  }
  absl::erase_if(interned_, [&](const std::string& text) { return !used.contains(&text); });
  num_used_strings_ = interned_.size();
}

namespace {

std::vector<NodeId> number_kept(const std::vector<bool>& keep) {
  std::vector<NodeId> ids(keep.size(), kNoNode);
  NodeId next = 0;
  for (size_t id = 0; id < keep.size(); ++id) {
    if (keep[id]) ids[id] = next++;
  }
  return ids;
}

void renumber(Node& node, const std::vector<NodeId>& ids) {
  node.id = ids[node.id];
  for (Endpoint& input : node.inputs) {
    if (input.node != kNoNode) input.node = ids[input.node];
  }
  for (NodeId& before : node.control_inputs) before = ids[before];
}

}  // namespace

std::vector<NodeId> Graph::retain(const std::vector<bool>& keep) {
  std::vector<NodeId> ids = number_kept(keep);
  TextArena kept_names;
  NodeId kept = 0;
  for (NodeId id = 0; id < ids.size(); ++id) {
    if (!keep[id]) {
      num_outputs_ -= nodes_[id].output_types().size();
      continue;
    }
    renumber(nodes_[id], ids);
    nodes_[id].name = kept_names.add(nodes_[id].name);
    if (kept != id) nodes_[kept] = std::move(nodes_[id]);
    ++kept;
  }
  nodes_.truncate(kept);
  names_ = std::move(kept_names);
  by_name_.renumber(ids);
  return ids;
}

std::string Graph::unique_name(std::string_view prefix) const {
  std::string name(prefix);
  for (int64_t suffix = 1; find(name) != nullptr; ++suffix) name = str_cat(prefix, "_", suffix);
  return name;
}

const std::string* Graph::intern(std::string_view text) {
  if (text.empty()) return nullptr;
  const auto found = interned_.find(to_absl(text));
  return found != interned_.end() ? &*found : &*interned_.emplace(text).first;
}

const Tensor* constant_value(const Node& node) {
  if (node.op->source != Source::constant) return nullptr;
  const AttrValue* value = node.attrs().find("value");
  const Tensor* tensor = value ? value->as_tensor() : nullptr;
  // A value of another type than it says has no meaning, and is refused when it is to run.
  return tensor && tensor->dtype() == node.output_types()[0].dtype ? tensor : nullptr;
}

}  // namespace millrace
