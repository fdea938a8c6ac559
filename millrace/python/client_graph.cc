#include "millrace/python/client_graph.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "millrace/graph/import.h"
#include "millrace/op/infer.h"

namespace millrace::python {
namespace {

// Every input of a new node is looked at, so a look must cost the same however long the chain.
constexpr int kMaxIdentities = 64;

// A scalar or vector of int32 or int64, as the node's attribute "out_type" says.
std::optional<Tensor> index_tensor(const Node& node, std::span<const int64_t> values,
                                   const Shape& shape) {
  Result<DType> type = node.attr_view().type("out_type");
  const DType dtype = type.ok() ? *type : DType::i32;
  if (dtype == DType::i64) {
    auto made = Tensor::vector<int64_t>(values).reshaped(shape);
    return made.ok() ? std::optional(*made) : std::nullopt;
  }
  std::vector<int32_t> narrow;
  for (const int64_t value : values) {
    if (value > std::numeric_limits<int32_t>::max()) return std::nullopt;
    narrow.push_back(static_cast<int32_t>(value));
  }
  auto made = Tensor::vector<int32_t>(narrow).reshaped(shape);
  return made.ok() ? std::optional(*made) : std::nullopt;
}

}  // namespace

ClientGraph::ClientGraph(const OpRegistry& ops) : graph_(ops) {
  // Says by whose rules the nodes are meant; readers that are older accept it.
  graph_.set_versions({.producer = kGraphDefVersion});
}

Status ClientGraph::check_endpoint(Endpoint output) const {
  if (output.node >= graph_.size())
    return invalid("there is no node ", output.node, "; the graph has ", graph_.size());
  const Node& node = graph_[output.node];
  if (output.output < 0 || output.output >= node.num_outputs()) {
    return invalid("'", node.name, "' has no output ", output.output, "; it has ",
                   node.num_outputs());
  }
  return {};
}

Result<std::vector<PartialShape>> ClientGraph::infer(const Node& node) const {
  if (node.op->infer == nullptr) return std::vector<PartialShape>();
  std::vector<PartialShape> inputs;
  std::vector<std::optional<Tensor>> values;
  for (const Endpoint input : node.inputs) {
    inputs.push_back(shape(input));
    values.push_back(constant(input));
  }
  std::vector<const Tensor*> constants;
  for (const auto& value : values) constants.push_back(value ? &*value : nullptr);
  InferContext context(node.attr_view(), inputs, constants, node.num_outputs());
  MR_TRY(node.op->infer(context));
  return std::move(context).take_outputs();
}

Result<NodeId> ClientGraph::add(Graph::NewNode spec) {
  // Shape rules trust that a node has the inputs and attributes that its op declares.
  MR_ASSIGN(const NodeId id, graph_.add(std::move(spec)));
  const Node& node = graph_[id];
  auto inferred = infer(node);
  if (!inferred.ok()) {
    Status status = inferred.status().with(str_cat(node.op->name, " '", node.name, "'"));
    graph_.truncate(id);
    return status;
  }
  auto& shapes = shapes_.emplace_back(node.num_outputs());
  const size_t known = std::min(shapes.size(), inferred->size());
  for (size_t i = 0; i < known; ++i) shapes[i] = std::move((*inferred)[i]);
  return id;
}

Status ClientGraph::set_input(NodeId node, int slot, Endpoint source) {
  MR_TRY(check_endpoint(source));
  if (node >= graph_.size() || slot < 0 || slot >= static_cast<int>(graph_[node].inputs.size()))
    return invalid("node ", node, " has no input ", slot);
  return graph_.set_input(node, slot, source);
}

Status ClientGraph::merge_shape(Endpoint output, const PartialShape& more) {
  MR_TRY(check_endpoint(output));
  MR_ASSIGN(PartialShape merged, shape(output).merge(more));
  shapes_[output.node][output.output] = std::move(merged);
  return {};
}

Status ClientGraph::set_attr(NodeId node, std::string_view name, AttrValue value) {
  MR_TRY(graph_.set_attr(node, name, std::move(value)));
  shapes_[node].resize(graph_[node].num_outputs());
  return {};
}

void ClientGraph::replace_shape(Endpoint output, PartialShape shape) {
  shapes_[output.node][output.output] = std::move(shape);
}

Endpoint ClientGraph::behind_identities(Endpoint output) const {
  for (int passed = 0; passed < kMaxIdentities; ++passed) {
    const Node& node = graph_[output.node];
    if (!node.op->passes_on || !node.control_inputs.empty()) break;
    output = node.inputs[0];
  }
  return output;
}

std::optional<Tensor> ClientGraph::constant(Endpoint output) const {
  const Node& node = graph_[behind_identities(output).node];
  const OpDef& op = *node.op;
  if (op.source == Source::constant) {
    const Tensor* value = constant_value(node);
    return value ? std::optional(*value) : std::nullopt;
  }
  if (node.inputs.size() != 1 || !node.control_inputs.empty()) return std::nullopt;
  if (op.tells == ShapeFact::none) return std::nullopt;
  const PartialShape& input = shape(node.inputs[0]);
  if (op.tells == ShapeFact::rank) {
    if (!input.has_rank()) return std::nullopt;
    const int64_t rank = input.rank();
    return index_tensor(node, {&rank, 1}, Shape());
  }
  const std::optional<Shape> known = input.to_shape();
  if (!known) return std::nullopt;
  if (op.tells == ShapeFact::dims) return index_tensor(node, known->dims(), Shape{known->rank()});
  const int64_t size = known->num_elements();
  return index_tensor(node, {&size, 1}, Shape());
}

}  // namespace millrace::python
