#include "millrace/autodiff/node_gradient.h"

#include "millrace/autodiff/sums.h"

namespace millrace {

NodeGradient::NodeGradient(PlacedNodes& nodes, const Between& between, NodeId node,
                           std::vector<Gradient> arriving)
    : nodes_(nodes), between_(between), id_(node), arriving_(std::move(arriving)) {
  leaving_.resize(static_cast<size_t>(num_inputs()));
}

DType NodeGradient::dtype(Endpoint of) const {
  if (of.node == kNoNode) return DType::invalid;
  return nodes_.graph()[of.node].output_types()[of.output].dtype;
}

PartialShape NodeGradient::shape(Endpoint of) const {
  return of.node == kNoNode ? PartialShape() : nodes_.builder().shape(of);
}

std::optional<Tensor> NodeGradient::constant(Endpoint of) const {
  if (of.node == kNoNode) return std::nullopt;
  return nodes_.builder().constant(of);
}

Endpoint NodeGradient::grad(int slot) {
  Gradient& arriving = arriving_[static_cast<size_t>(slot)];
  if (arriving.dense.node != kNoNode) return arriving.dense;
  if (!arriving.slices) return arriving.dense = add("ZerosLike", {output(slot)});
  if (!status().ok()) return {};
  // Kept for whoever asks again; the slices stay for whoever can do with them.
  return arriving.dense = keep(densified(nodes_, *arriving.slices));
}

Result<Endpoint> NodeGradient::make(std::string_view op, std::span<const Endpoint> inputs,
                                    Attrs attrs) {
  return nodes_.add(op, inputs, std::move(attrs));
}

Status NodeGradient::check_input_grad(int slot) {
  const Gradient& gradient = leaving_[static_cast<size_t>(slot)];
  if (dtype(input(slot)) == DType::resource) return {};  // of the variable, not of the handle
  const Endpoint of = gradient.slices ? gradient.slices->values : gradient.dense;
  if (dtype(of) != dtype(input(slot))) {
    return invalid("its gradient by input ", slot, " is ", dtype_name(dtype(of)), "; the input is ",
                   dtype_name(dtype(input(slot))));
  }
  if (gradient.slices) return {};
  const PartialShape wanted = shape(input(slot));
  const Status fits = nodes_.builder().merge_shape(of, wanted);
  if (fits.ok()) return {};
  return invalid("its gradient by input ", slot, " has shape ", shape(of).to_string(),
                 "; the input has ", wanted.to_string());
}

Result<std::vector<Gradient>> NodeGradient::ask() {
  const OpDef& op = *node().op;
  const std::string who = str_cat("'", node().name, "' (op type: ", op.name, ")");
  if (op.role != Role::ordinary && op.role != Role::nothing) {
    return unimplemented(
        "the gradient of ", who,
        " can't be made: gradients don't go through loops, conditionals, functions "
        "and transfers yet");
  }
  if (op.grad == nullptr && op.not_differentiable.empty())
    return not_found("No gradient defined for operation ", who);
  if (op.grad != nullptr) {
    Status status = op.grad(*this);
    if (status.ok()) status = this->status();
    if (!status.ok()) return status.with(str_cat("gradient of ", who));
  }
  for (int slot = 0; slot < num_inputs(); ++slot) {
    if (!leaving_[static_cast<size_t>(slot)].has_value()) continue;
    MR_TRY(check_input_grad(slot).with(str_cat("gradient of ", who)));
  }
  return std::move(leaving_);
}

}  // namespace millrace
