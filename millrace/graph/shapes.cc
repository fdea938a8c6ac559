#include "millrace/graph/shapes.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"

#include "millrace/op/infer.h"

namespace millrace {
namespace {

// Every input of a new node is looked at, so a look must cost the same however long the chain.
constexpr int kMaxIdentities = 64;
// Nor may what is put together of what was put together grow without end.
constexpr int kMostLookedAt = 64;

uint64_t shape_hash(const PartialShape& shape) {
  uint64_t hash = absl::HashOf(shape.rank());
  for (const int64_t dim : shape.dims()) hash = absl::HashOf(hash, dim);
  return hash;
}

Status impossible(const Graph& graph, const Node& node, std::span<const PartialShape> inputs,
                  const Status& why) {
  constexpr size_t kMost = 8;
  std::string text;
  for (size_t i = 0; i < std::min(inputs.size(), kMost); ++i) {
    str_append(&text, i ? ", " : "", endpoint_name(graph, node.inputs[i]), " ",
               inputs[i].to_string());
  }
  if (inputs.size() > kMost) text += ", …";
  return why.then(str_cat(" for '{{node ", node.name, "}} = ", node.op->name,
                          "' with input shapes: ", text, "."));
}

// The int32 or int64 tensor of these elements, if all are known: a scalar, or a vector.
std::optional<Tensor> as_tensor(const KnownElements& known, DType dtype, bool is_scalar) {
  std::vector<int64_t> all;
  for (const std::optional<int64_t>& each : known) {
    if (!each) return std::nullopt;
    all.push_back(*each);
  }
  const Shape shape = is_scalar ? Shape() : Shape{std::ssize(all)};
  const Tensor made = dtype == DType::i64
                          ? Tensor::vector<int64_t>(all)
                          : Tensor::vector<int32_t>(std::vector<int32_t>(all.begin(), all.end()));
  const auto shaped = made.reshaped(shape);
  return shaped.ok() ? std::optional(*shaped) : std::nullopt;
}

// What an op that looks at nothing but its input's shape makes of that.
std::optional<KnownElements> told(ShapeFact fact, const PartialShape& shape) {
  if (fact == ShapeFact::none || !shape.has_rank()) return std::nullopt;
  if (fact == ShapeFact::rank) return KnownElements{shape.rank()};
  if (fact == ShapeFact::num_elements) {
    const std::optional<Shape> whole = shape.to_shape();
    return whole ? std::optional(KnownElements{whole->num_elements()}) : std::nullopt;
  }
  KnownElements dims;
  for (const int64_t dim : shape.dims())
    dims.push_back(dim == kUnknownDim ? std::nullopt : std::optional(dim));
  return dims;
}

Endpoint behind_identities(const Graph& graph, Endpoint output) {
  for (int passed = 0; passed < kMaxIdentities; ++passed) {
    const Node& node = graph[output.node];
    if (!node.op->passes_on || !node.control_inputs.empty()) break;
    output = node.inputs[0];
  }
  return output;
}

}  // namespace

Result<std::vector<PartialShape>> infer_outputs(const Node& node,
                                                std::span<const PartialShape> inputs,
                                                std::span<const Tensor* const> values,
                                                const InferContext::AskElements* ask) {
  if (!node.op->infer) return std::vector<PartialShape>(static_cast<size_t>(node.num_outputs()));
  InferContext context(node.attr_view(), inputs, values, node.num_outputs(), ask);
  MR_TRY(node.op->infer(context));
  return std::move(context).take_outputs();
}

ShapeTable::ShapeTable() { id_of(PartialShape()); }

const ShapeTable::ShapeId& ShapeTable::slot(Endpoint output) const {
  const auto at = static_cast<size_t>(output.output);
  if (!resized_.empty()) {
    const auto found = resized_.find(output.node);
    if (found != resized_.end()) return found->second[at];
  }
  return ids_[begin_[output.node] + at];
}

const PartialShape& ShapeTable::of(Endpoint output) const { return shapes_[slot(output)]; }

ShapeTable::ShapeId ShapeTable::id_of(const PartialShape& shape) {
  const auto made = static_cast<ShapeId>(shapes_.size());
  const auto [known, is_new] = by_hash_.try_emplace(shape_hash(shape), made);
  if (!is_new && shapes_[known->second] == shape) return known->second;
  shapes_.push_back(shape);
  return made;
}

void ShapeTable::make_room(const Graph& graph, size_t first, size_t end) {
  for (size_t id = first; id < end; ++id) {
    const Node& node = graph[static_cast<NodeId>(id)];
    begin_.push_back(begin_.back() + static_cast<uint32_t>(node.num_outputs()));
  }
  ids_.resize(begin_.back(), kUnknown);
}

Status ShapeTable::infer(const Graph& graph, const Node& node, Question& question) {
  question.shapes.clear();
  question.made.clear();
  question.values.clear();
  for (const Endpoint& input : node.inputs) {
    // Unknown too while it has no order: a back edge's producer comes later.
    const bool is_back = is_back_edge(graph[input.node], node);
    question.shapes.push_back(is_back ? PartialShape() : of(input));
    question.values.push_back(is_back ? nullptr : value(graph, input, question.made));
  }
  const auto known = [&](int slot) -> std::optional<KnownElements> {
    const Endpoint input = node.inputs[static_cast<size_t>(slot)];
    int budget = kMostLookedAt;
    return is_back_edge(graph[input.node], node) ? std::nullopt : elements(graph, input, budget);
  };
  const InferContext::AskElements ask = known;
  MR_ASSIGN(const std::vector<PartialShape> outputs,
            infer_outputs(node, question.shapes, question.values, &ask));
  for (size_t i = 0; i < outputs.size(); ++i) ids_[begin_[node.id] + i] = id_of(outputs[i]);
  return {};
}

Status ShapeTable::extend(const Graph& graph) {
  const size_t first = size();
  if (first == graph.size()) return {};
  MR_ASSIGN(const std::vector<NodeId> order, topological_order(graph, static_cast<NodeId>(first)));
  make_room(graph, first, graph.size());
  Question question;
  for (NodeId id : order) {
    if (!graph[id].op->infer) continue;
    Status status = infer(graph, graph[id], question);
    if (status.ok()) continue;
    truncate(first);
    return impossible(graph, graph[id], question.shapes, status);
  }
  return {};
}

Status ShapeTable::add(const Graph& graph, NodeId node) {
  make_room(graph, node, node + size_t{1});
  if (!graph[node].op->infer) return {};
  Question question;
  Status status = infer(graph, graph[node], question);
  if (!status.ok()) truncate(node);
  return status;
}

void ShapeTable::truncate(size_t size) {
  if (size >= this->size()) return;
  if (!resized_.empty())
    absl::erase_if(resized_, [&](const auto& entry) { return entry.first >= size; });
  begin_.resize(size + 1);
  ids_.resize(begin_.back());
  forget_unused_shapes();
}

// Shapes that only dropped nodes had go too: rejected graphs must not pile up. To find them is to
// look at every output, so it waits until there are many.
void ShapeTable::forget_unused_shapes() {
  constexpr size_t kFew = 64;
  if (shapes_.size() <= 2 * num_used_shapes_ + ids_.size() / 16 + kFew) return;
  std::vector<PartialShape> old;
  old.swap(shapes_);
  by_hash_.clear();
  id_of(PartialShape());
  std::vector<ShapeId> new_ids(old.size(), kUnknown);
  const auto move = [&](ShapeId& id) {
    if (id == kUnknown) return;
    if (new_ids[id] == kUnknown) new_ids[id] = id_of(old[id]);
    id = new_ids[id];
  };
  std::ranges::for_each(ids_, move);
  for (auto& [node, ids] : resized_) std::ranges::for_each(ids, move);
  num_used_shapes_ = shapes_.size();
}

Status ShapeTable::merge(Endpoint output, const PartialShape& more) {
  MR_ASSIGN(PartialShape merged, of(output).merge(more));
  replace(output, std::move(merged));
  return {};
}

void ShapeTable::replace(Endpoint output, PartialShape shape) { slot(output) = id_of(shape); }

void ShapeTable::set_num_outputs(NodeId node, int count) {
  const uint32_t begin = begin_[node], end = begin_[node + 1];
  if (end - begin == static_cast<uint32_t>(count) && !resized_.contains(node)) return;
  auto& ids = resized_.try_emplace(node, ids_.begin() + begin, ids_.begin() + end).first->second;
  ids.resize(static_cast<size_t>(count), kUnknown);
}

const Tensor* ShapeTable::value(const Graph& graph, Endpoint output,
                                std::deque<Tensor>& made) const {
  const Endpoint from = behind_identities(graph, output);
  const Node& node = graph[from.node];
  if (node.op->source == Source::constant) return constant_value(node);
  int budget = kMostLookedAt;
  const auto known = elements(graph, from, budget);
  if (!known) return nullptr;
  const DType dtype = node.output_types()[static_cast<size_t>(from.output)].dtype;
  const ShapeFact fact = node.op->tells;
  const bool is_scalar = fact == ShapeFact::none ? of(from).rank() == 0 : fact != ShapeFact::dims;
  std::optional<Tensor> value = as_tensor(*known, dtype, is_scalar);
  return value ? &made.emplace_back(*std::move(value)) : nullptr;
}

std::optional<KnownElements> ShapeTable::elements(const Graph& graph, Endpoint output,
                                                  int& budget) const {
  const Endpoint from = behind_identities(graph, output);
  const Node& node = graph[from.node];
  if (--budget < 0 || from.output != 0) return std::nullopt;
  if (node.op->source == Source::constant) {
    const Tensor* held = constant_value(node);
    return held ? elements_of(*held) : std::nullopt;
  }
  const DType dtype = node.output_types()[0].dtype;
  if (dtype != DType::i32 && dtype != DType::i64) return std::nullopt;
  std::optional<KnownElements> known;
  if (node.op->elements != nullptr) {
    const PartialShape& shape = of(from);
    if (shape.has_rank() && shape.rank() <= 1) known = put_together(graph, node, budget);
  } else if (node.inputs.size() == 1) {
    known = told(node.op->tells, of(node.inputs[0]));
  }
  if (!known || dtype == DType::i64) return known;
  for (std::optional<int64_t>& each : *known)
    if (each && !std::in_range<int32_t>(*each)) each = std::nullopt;
  return known;
}

// What the op's own rule makes of what is known of its inputs.
std::optional<KnownElements> ShapeTable::put_together(const Graph& graph, const Node& node,
                                                      int& budget) const {
  std::vector<PartialShape> shapes;
  for (const Endpoint& input : node.inputs) shapes.push_back(of(input));
  const auto of_input = [&](int slot) {
    return elements(graph, node.inputs[static_cast<size_t>(slot)], budget);
  };
  const InferContext::AskElements ask = of_input;
  return node.op->elements(InferContext(node.attr_view(), shapes, {}, node.num_outputs(), &ask));
}

std::optional<Tensor> ShapeTable::constant(const Graph& graph, Endpoint output) const {
  std::deque<Tensor> made;
  const Tensor* held = value(graph, output, made);
  return held ? std::optional(*held) : std::nullopt;
}

}  // namespace millrace
