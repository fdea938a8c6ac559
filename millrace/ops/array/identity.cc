// Part of families.h: register_identity.
#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/array/families.h"
#include "millrace/ops/array/gradients.h"
#include "millrace/ops/loops/forward.h"

namespace millrace {
namespace {

class ConstKernel final : public Kernel {
 public:
  explicit ConstKernel(Tensor value) : value_(std::move(value)) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    MR_ASSIGN(Tensor value, spec.attrs.tensor("value"));
    MR_ASSIGN(const DType dtype, spec.attrs.type("dtype"));
    if (value.dtype() != dtype) {
      return invalid("Const '", spec.node_name, "': the value is ", dtype_name(value.dtype()),
                     " but attribute dtype is ", dtype_name(dtype));
    }
    return std::unique_ptr<Kernel>(std::make_unique<ConstKernel>(std::move(value)));
  }
  Status run(KernelContext& context) override {
    context.set_output(0, value_);
    return {};
  }

 private:
  const Tensor value_;
};

Status refuse_placeholder(KernelContext& context, const PartialShape& shape) {
  return invalid("You must feed a value for placeholder tensor '", context.node_name(),
                 "' with dtype ", dtype_name(context.output_dtype(0)),
                 shape.rank() > 0 ? str_cat(" and shape ", shape.to_string()) : "");
}

Status ensure_shape(KernelContext& context, const PartialShape& shape) {
  if (shape.allows(context.input(0).shape())) return forward_first(context);
  return invalid("Shape of tensor ", context.node_name(), " ", context.input(0).shape().to_string(),
                 " is not compatible with expected shape ", shape.to_string(), ".");
}

Status guaranteed_constant(KernelContext& context) {
  if (context.input(0).dtype() != DType::resource) return forward_first(context);
  return invalid("Input tensor cannot be a resource variable handle: read the variable first");
}

Status forward_all(KernelContext& context) {
  for (int slot = 0; slot < context.num_inputs(); ++slot) forward(context, slot, slot);
  return {};
}

Status infer_const(InferContext& context) {
  MR_ASSIGN(const Tensor value, context.attrs().tensor("value"));
  context.set_output(0, value.shape());
  return {};
}

Status infer_all_as_inputs(InferContext& context) {
  for (int slot = 0; slot < context.num_inputs(); ++slot)
    context.set_output(slot, context.input(slot));
  return {};
}

// The input must fit the declared shape; what is known of either is known of the output.
Status infer_both(InferContext& context) {
  MR_ASSIGN(const PartialShape declared, context.attrs().shape("shape"));
  return context.set_output(0, declared.merge(context.input(0)));
}

// The default must fit, but what is fed instead needs only fit the declared shape.
Status infer_placeholder_with_default(InferContext& context) {
  MR_ASSIGN(PartialShape declared, context.attrs().shape("shape"));
  MR_TRY(declared.merge(context.input(0)));
  context.set_output(0, std::move(declared));
  return {};
}

OpDef passing(std::string name, std::string doc, std::string signature) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .signature = std::move(signature),
          .infer = infer::same_as_input,
          .cpu = kernel(forward_first),
          .cost = Cost::cheap,
          .examples = {"[1 2 3] -> [1 2 3]"}};
}

Status register_sources(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "Const",
      .doc = "The tensor value, the same in each step.",
      .signature = "-> output: dtype | value: tensor, dtype: type",
      .infer = infer_const,
      .cpu = kernel_class<ConstKernel>(),
      .not_differentiable = "it has no input",
      .source = Source::constant,
      .cost = Cost::cheap,
  }));
  MR_TRY(ops.add({
      .name = "Placeholder",
      .doc = "A tensor that must be fed; running it is an error.",
      .signature = "-> output: dtype | dtype: type, shape: shape = ?",
      .infer = infer::shape_attr,
      .cpu = kernel_with(refuse_placeholder, partial_shape("shape")),
      .not_differentiable = "it has no input",
      .foldable = false,
      .source = Source::fed,
      .cost = Cost::cheap,
  }));
  MR_TRY(ops.add({
      .name = "PlaceholderV2",
      .doc = "A tensor that must be fed, of a given shape; running it is an error.",
      .signature = "-> output: dtype | dtype: type, shape: shape",
      .infer = infer::shape_attr,
      .cpu = kernel_with(refuse_placeholder, partial_shape("shape")),
      .not_differentiable = "it has no input",
      .foldable = false,
      .source = Source::fed,
      .cost = Cost::cheap,
  }));
  return ops.add({
      .name = "PlaceholderWithDefault",
      .doc = "A tensor that may be fed; the input if it is not.",
      .signature = "input: dtype -> output: dtype | dtype: type, shape: shape",
      .infer = infer_placeholder_with_default,
      .cpu = kernel(forward_first),
      .grad = grad::pass,
      .foldable = false,
      .cost = Cost::cheap,
      .examples = {"[1 2 3] -> [1 2 3] | shape = [?]"},
  });
}

}  // namespace

Status register_identity(OpRegistry& ops) {
  MR_TRY(register_sources(ops));
  const std::string same = "input: T -> output: T | T: type";
  OpDef identity = passing("Identity", "Its input, unchanged.", same);
  identity.passes_on = true;
  identity.grad = grad::pass;
  MR_TRY(ops.add(std::move(identity)));
  OpDef snapshot = passing("Snapshot", "Its input, as it is now.", same);
  snapshot.grad = grad::pass;
  MR_TRY(ops.add(std::move(snapshot)));
  OpDef stop = passing("StopGradient", "Its input, unchanged; for gradients, a constant.", same);
  stop.not_differentiable = "that is what it is for";
  MR_TRY(ops.add(std::move(stop)));
  OpDef guaranteed = passing(
      "GuaranteeConst", "Its input, unchanged; a promise that it is the same in each step.", same);
  guaranteed.grad = grad::pass;
  guaranteed.cpu = kernel(guaranteed_constant);
  guaranteed.stateful = true;
  MR_TRY(ops.add(std::move(guaranteed)));
  OpDef prevent = passing("PreventGradient",
                          "Its input, unchanged; asking for a gradient through it is an error that "
                          "shows message.",
                          same + ", message: string = ''");
  prevent.grad = grad::prevented;
  MR_TRY(ops.add(std::move(prevent)));
  MR_TRY(ops.add({
      .name = "IdentityN",
      .doc = "All its inputs, unchanged.",
      .signature = "input: T -> output: T | T: list(type) >= 1",
      .infer = infer_all_as_inputs,
      .cpu = kernel(forward_all),
      .grad = grad::pass,
      .cost = Cost::cheap,
      .examples = {"[1 2], 3 -> [1 2], 3 | T = {float, int32}"},
  }));
  MR_TRY(ops.add({
      .name = "RefIdentity",
      .doc = "The same reference to a variable.",
      .signature = "input: ref(T) -> output: ref(T) | T: type",
      .infer = infer::same_as_input,
      .cpu = kernel(forward_first),
      .grad = grad::pass,
      .foldable = false,
      .allows_uninitialized_input = true,
      .cost = Cost::cheap,
  }));
  return ops.add({
      .name = "EnsureShape",
      .doc = "Its input, unchanged; an error if the shape is not what it should be.",
      .signature = "input: T -> output: T | shape: shape, T: type",
      .infer = infer_both,
      .cpu = kernel_with(ensure_shape, partial_shape("shape")),
      .grad = grad::pass,
      .cost = Cost::cheap,
      .examples = {"[1 2 3] -> [1 2 3] | shape = [?]"},
  });
}

}  // namespace millrace
