#include "millrace/autodiff/placed_nodes.h"

namespace millrace {

PlacedNodes::PlacedNodes(Builder& builder, const GradientOptions& options)
    : builder_(builder),
      colocates_(options.colocate_with_ops),
      around_(builder.current()),
      flow_(around_.flow) {
  root_ = builder.claim_name(around_.inside(options.name.empty() ? "gradients" : options.name));
  scope_ = root_;
}

std::shared_ptr<ReversedPlace> PlacedNodes::run_in(std::shared_ptr<ReversedPlace> place) {
  std::swap(place, place_);
  around_.flow = place_ ? place_ : flow_;
  return place;
}

Result<Endpoint> PlacedNodes::let_in(Endpoint value) {
  if (!flow_) return value;
  std::vector<Endpoint> values = {value};
  std::vector<NodeId> before;
  MR_TRY(flow_->admit(values, before));
  return values.front();
}

void PlacedNodes::beside(NodeId op) {
  if (!colocates_) return;
  around_.colocated_with.clear();
  if (op != kNoNode) around_.colocated_with.push_back(op);
}

void PlacedNodes::enter_scope_of(NodeId op) { scope_of_ = op; }

void PlacedNodes::leave_scope() {
  scope_of_ = kNoNode;
  scope_ = root_;
}

void PlacedNodes::claim_scope() {
  if (scope_of_ == kNoNode) return;
  scope_ = builder_.claim_name(str_cat(root_, "/", graph()[scope_of_].name, "_grad"));
  scope_of_ = kNoNode;
}

Result<Endpoint> PlacedNodes::add(std::string_view op, std::span<const Endpoint> inputs,
                                  Attrs attrs, std::string_view name) {
  if (place_ && inputs.size() == 1) {
    const OpDef* def = graph().ops().find(op);
    if (def != nullptr && def->tells != ShapeFact::none) {
      MR_ASSIGN(const std::optional<Endpoint> told, place_->told_of(inputs[0], op, attrs));
      if (told) return *told;
    }
  }
  claim_scope();
  MR_ASSIGN(
      const NodeId made,
      builder_.add({.name = builder_.claim_name(str_cat(scope_, "/", name.empty() ? op : name)),
                    .op = op,
                    .inputs = {inputs.begin(), inputs.end()},
                    .attrs = std::move(attrs)},
                   around_));
  return Endpoint{made, 0};
}

Result<Endpoint> PlacedNodes::add_constant(Tensor value, std::string_view name) {
  const DType dtype = value.dtype();
  return add("Const", {}, {{"value", std::move(value)}, {"dtype", dtype}}, name);
}

Result<Endpoint> PlacedNodes::add_plumbing(Plumbing node) {
  claim_scope();
  Surroundings around = around_;
  around.flow = nullptr;
  around.controls.clear();
  around.colocated_with.clear();
  around.groups.clear();
  around.is_plumbing = true;
  const std::string_view name = node.name.empty() ? node.op : node.name;
  MR_ASSIGN(const NodeId made,
            builder_.add({.name = builder_.claim_name(str_cat(scope_, "/", name)),
                          .op = node.op,
                          .inputs = std::move(node.inputs),
                          .attrs = std::move(node.attrs)},
                         around));
  for (const NodeId before : node.after) builder_.add_control_input(made, before);
  return Endpoint{made, 0};
}

Result<Endpoint> PlacedNodes::zeros(DType type, const Shape& shape) {
  MR_ASSIGN(Tensor zero, scalar_of(type, 0));
  if (shape.rank() == 0) return add_constant(std::move(zero));
  MR_ASSIGN(const Endpoint dims, add_constant(Tensor::vector<int64_t>(shape.dims())));
  MR_ASSIGN(const Endpoint each, add_constant(std::move(zero)));
  return add("Fill", {dims, each});
}

Result<Endpoint> PlacedNodes::zeros_like(Endpoint of) {
  const DType type = dtype(of);
  if (!place_ || type == DType::resource || type == DType::variant) return add("ZerosLike", {of});
  // A value of the loop would be kept just for its shape.
  if (const auto shape = builder_.shape(of).to_shape()) return zeros(type, *shape);
  MR_ASSIGN(const Endpoint dims, add("Shape", {of}));
  MR_ASSIGN(Tensor zero, scalar_of(type, 0));
  MR_ASSIGN(const Endpoint each, add_constant(std::move(zero)));
  return add("Fill", {dims, each});
}

}  // namespace millrace
