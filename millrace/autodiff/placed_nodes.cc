#include "millrace/autodiff/placed_nodes.h"

namespace millrace {

PlacedNodes::PlacedNodes(Builder& builder, const GradientOptions& options)
    : builder_(builder), colocates_(options.colocate_with_ops), around_(builder.current()) {
  root_ = builder.claim_name(around_.inside(options.name.empty() ? "gradients" : options.name));
  scope_ = root_;
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

}  // namespace millrace
