#include "millrace/autodiff/node_gradient.h"

#include "millrace/autodiff/sums.h"

namespace millrace {
namespace {

constexpr std::string_view kCallAttr = "source";

}  // namespace

NodeGradient::NodeGradient(PlacedNodes& nodes, const Between& between, NodeId node,
                           std::vector<Gradient> arriving)
    : nodes_(nodes), between_(between), id_(node), arriving_(std::move(arriving)) {
  leaving_.resize(static_cast<size_t>(num_inputs()));
}

DType NodeGradient::dtype(Endpoint of) const {
  return of.node == kNoNode ? DType::invalid : nodes_.dtype(of);
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
  if (!arriving.slices) return arriving.dense = keep(nodes_.zeros_like(output(slot)));
  if (!status().ok()) return {};
  // Kept for whoever asks again; the slices stay for whoever can do with them.
  return arriving.dense = keep(densified(nodes_, *arriving.slices));
}

Result<Endpoint> NodeGradient::make(std::string_view op, std::span<const Endpoint> inputs,
                                    Attrs attrs) {
  // What keeps gradients of several calls apart is told which call this is.
  const OpDef* def = nodes_.graph().ops().find(op);
  if (def != nullptr && def->role == Role::ordinary && def->stateful &&
      def->find_attr(kCallAttr) != nullptr && attrs.find(kCallAttr) == nullptr)
    attrs.set(kCallAttr, nodes_.root());
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

std::string NodeGradient::who() const {
  return str_cat("'", node().name, "' (op type: ", node().op->name, ")");
}

Status NodeGradient::ask_source(GradientSource& source) {
  for (int slot = 0; slot < num_outputs(); ++slot) {
    const DType type = dtype(output(slot));
    if (!has_grad(slot) && (is_floating(type) || is_complex(type))) grad(slot);
  }
  MR_TRY(status());
  MR_ASSIGN(std::vector<Gradient> made,
            nodes_.as_program([&] { return source.gradients(id_, arriving_); }));
  if (made.size() != leaving_.size()) {
    return invalid("Num gradients ", made.size(), " generated for op ", who(),
                   " do not match num inputs ", leaving_.size());
  }
  for (int slot = 0; slot < num_inputs(); ++slot)
    if (is_needed(slot)) leaving_[static_cast<size_t>(slot)] = made[static_cast<size_t>(slot)];
  return {};
}

Status NodeGradient::ask_op() {
  const OpDef& op = *node().op;
  if (op.role != Role::ordinary && op.role != Role::nothing) {
    return unimplemented("the gradient of ", who(),
                         " can't be made: gradients don't go through functions and transfers "
                         "yet");
  }
  if (op.grad == nullptr && op.not_differentiable.empty())
    return not_found("No gradient defined for operation ", who());
  if (op.grad == nullptr) return {};
  Status asked = op.grad(*this);
  if (asked.ok()) asked = status();
  return asked.ok() ? asked : asked.with(str_cat("gradient of ", who()));
}

Result<std::vector<Gradient>> NodeGradient::ask(GradientSource* source) {
  MR_TRY(source != nullptr && source->has(id_) ? ask_source(*source) : ask_op());
  for (int slot = 0; slot < num_inputs(); ++slot) {
    if (!leaving_[static_cast<size_t>(slot)].has_value()) continue;
    MR_TRY(check_input_grad(slot).with(str_cat("gradient of ", who())));
  }
  return std::move(leaving_);
}

}  // namespace millrace
