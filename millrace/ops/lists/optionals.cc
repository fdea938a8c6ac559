// Part of families.h: register_optionals.
#include "millrace/op/gradient.h"
#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/lists/families.h"
#include "millrace/wire/known_variants.h"

namespace millrace {
namespace {

constexpr std::string_view kTypeName = wire::kOptionalType;
const std::string kSome(1, '\1');
const std::string kNone(1, '\0');

bool has_value(const Variant& optional) { return optional.metadata == kSome; }

Result<const Variant*> optional_of(const KernelContext& context) {
  const Tensor& handle = context.input(0);
  if (handle.num_elements() != 1) {
    return invalid("'", context.node_name(), "': an optional is a scalar, not ",
                   handle.shape().to_string());
  }
  const Variant& held = handle.item<Variant>();
  if (held.type_name == kTypeName) {
    MR_TRY(wire::check_variant(held));
    return &held;
  }
  return invalid("'", context.node_name(), "': Input is not an optional, but '",
                 held.type_name.substr(0, 100), "'");
}

Result<Tensor> from_value(KernelContext& context) {
  Variant made{std::string(kTypeName), kSome, {}};
  for (int slot = 0; slot < context.num_inputs(); ++slot)
    made.tensors.push_back(context.take_input(slot));
  MR_TRY(made.settle());
  return Tensor::scalar(std::move(made));
}

Result<Tensor> none(KernelContext&) {
  return Tensor::scalar(Variant{std::string(kTypeName), kNone, {}});
}

Result<Tensor> tell_value(KernelContext& context) {
  MR_ASSIGN(const Variant* held, optional_of(context));
  return Tensor::scalar(has_value(*held));
}

// What the optional holds is its maker's word; whoever planned the step went by the node's.
Status get_value(KernelContext& context, std::span<const PartialShape> shapes) {
  MR_ASSIGN(const Variant* held, optional_of(context));
  if (!has_value(*held)) return invalid("The given optional does not have a value.");
  if (held->tensors.size() != static_cast<size_t>(context.num_outputs())) {
    return invalid("'", context.node_name(), "': the given optional has ", held->tensors.size(),
                   " components, expected ", context.num_outputs());
  }
  for (int slot = 0; slot < context.num_outputs(); ++slot) {
    const Tensor& component = held->tensors[static_cast<size_t>(slot)];
    if (component.dtype() != context.output_dtype(slot)) {
      return invalid("'", context.node_name(), "': component ", slot, " of the given optional is ",
                     dtype_name(component.dtype()), ", expected ",
                     dtype_name(context.output_dtype(slot)));
    }
    if (!shapes[static_cast<size_t>(slot)].allows(component.shape())) {
      return invalid("'", context.node_name(), "': component ", slot, " of the given optional has ",
                     "shape ", component.shape().to_string(), ", expected ",
                     shapes[static_cast<size_t>(slot)].to_string());
    }
    context.set_output(slot, component);
  }
  return {};
}

Result<std::unique_ptr<Kernel>> make_get_value(const KernelSpec& spec) {
  MR_ASSIGN(auto shapes, spec.attrs.shapes("output_shapes"));
  if (shapes.size() != spec.outputs.size()) {
    return invalid("output_shapes names ", shapes.size(), " shapes for ", spec.outputs.size(),
                   " components");
  }
  return kernel([shapes = std::move(shapes)](KernelContext& context) {
    return get_value(context, shapes);
  })(spec);
}

Status infer_components(InferContext& context) {
  MR_ASSIGN(const auto shapes, context.attrs().shapes("output_shapes"));
  if (shapes.size() != static_cast<size_t>(context.num_outputs())) return {};
  for (int slot = 0; slot < context.num_outputs(); ++slot)
    context.set_output(slot, shapes[static_cast<size_t>(slot)]);
  return {};
}

OpDef optional_op(std::string name, std::string doc, std::string signature, InferFn infer,
                  KernelFactory cpu) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .signature = std::move(signature),
          .infer = std::move(infer),
          .cpu = std::move(cpu),
          .foldable = false,
          .cost = Cost::cheap};
}

// --- Gradients: an optional's is an optional of the gradients of what it holds ---

Status through_value(GradContext& g) {
  const auto types = g.attrs().types("Toutput_types");
  if (!types.ok()) return types.status();
  Attrs attrs;
  attrs.set("output_types", *types);
  attrs.set("output_shapes", std::vector<PartialShape>(types->size()));
  const Endpoint held = g.add("OptionalGetValue", {g.grad()}, std::move(attrs));
  for (int slot = 0; slot < g.num_inputs(); ++slot)
    g.set_input_grad(slot, Endpoint{held.node, slot});
  return {};
}

Status through_get_value(GradContext& g) {
  const auto types = g.attrs().types("output_types");
  if (!types.ok()) return types.status();
  std::vector<Endpoint> gradients;
  for (int slot = 0; slot < g.num_outputs(); ++slot) gradients.push_back(g.grad(slot));
  Attrs attrs;
  attrs.set("Toutput_types", *types);
  g.set_input_grad(0, g.add("OptionalFromValue", gradients, std::move(attrs)));
  return {};
}

// --- As a type of variants ---

Result<Variant> zeros_like_optional(const Variant& optional, TensorArithmetic& tensors) {
  MR_TRY(wire::check_variant(optional));
  Variant made = optional;
  for (Tensor& component : made.tensors) {
    MR_ASSIGN(component, tensors.zeros_like(component));
  }
  return made;
}

Result<Variant> sum_of_optionals(const Variant& a, const Variant& b, TensorArithmetic& tensors) {
  MR_TRY(wire::check_variant(a));
  MR_TRY(wire::check_variant(b));
  if (has_value(a) != has_value(b))
    return invalid("Cannot add optionals because one has a value and the other doesn't.");
  if (a.tensors.size() != b.tensors.size()) {
    return invalid("Cannot add optionals because they have different numbers of components (",
                   a.tensors.size(), " vs. ", b.tensors.size(), ").");
  }
  Variant made = a;
  for (size_t i = 0; i < made.tensors.size(); ++i) {
    MR_ASSIGN(made.tensors[i], tensors.sum(a.tensors[i], b.tensors[i]));
  }
  MR_TRY(made.settle());
  return made;
}

}  // namespace

Status register_optionals(OpRegistry& ops) {
  MR_TRY(ops.add_variant({.type_name = std::string(kTypeName),
                          .plural = "optionals",
                          .zeros_like = zeros_like_optional,
                          .sum = sum_of_optionals}));
  OpDef from =
      optional_op("OptionalFromValue", "An optional that holds components.",
                  "components: Toutput_types -> optional: variant | Toutput_types: list(type) >= 1",
                  infer::scalar, kernel(from_value));
  from.grad = through_value;
  MR_TRY(ops.add(std::move(from)));
  OpDef nothing = optional_op("OptionalNone", "An optional that holds nothing.",
                              "-> optional: variant", infer::scalar, kernel(none));
  nothing.not_differentiable = "it has no inputs";
  MR_TRY(ops.add(std::move(nothing)));
  OpDef asked =
      optional_op("OptionalHasValue", "Whether an optional holds something.",
                  "optional: variant -> has_value: bool", infer::scalar, kernel(tell_value));
  asked.not_differentiable = "it gives a truth value";
  MR_TRY(ops.add(std::move(asked)));
  OpDef get = optional_op("OptionalGetValue", "What an optional holds.",
                          "optional: variant -> components: output_types | "
                          "output_types: list(type) >= 1, output_shapes: list(shape) >= 1",
                          infer_components, make_get_value);
  get.grad = through_get_value;
  return ops.add(std::move(get));
}

}  // namespace millrace
