// Part of families.h: register_control_flow.
#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/flow/families.h"
#include "millrace/ops/loops/forward.h"
#include "millrace/tensor/visit_dtype.h"

namespace millrace {
namespace {

Status run_switch(KernelContext& context) {
  const Tensor& predicate = context.input(1);
  if (predicate.num_elements() != 1) {
    return invalid("Switch '", context.node_name(),
                   "': the predicate must be a scalar, but has shape ",
                   predicate.shape().to_string());
  }
  const int taken = predicate.item<bool>() ? 1 : 0;
  forward(context, 0, taken);
  context.set_other_outputs_dead(taken);
  return {};
}

Status run_switch_n(KernelContext& context) {
  const Tensor& index = context.input(1);
  if (index.num_elements() != 1) {
    return invalid("_SwitchN '", context.node_name(),
                   "': output_index must be a scalar, but has shape ", index.shape().to_string());
  }
  const int last = context.num_outputs() - 1;
  const int32_t wanted = index.item<int32_t>();
  const int taken = wanted < 0 || wanted > last ? last : wanted;
  forward(context, 0, taken);
  context.set_other_outputs_dead(taken);
  return {};
}

// What programs count as true: a number other than 0, a text that is not empty; of anything but a
// scalar, that it has elements.
Result<Tensor> run_to_bool(KernelContext& context) {
  const Tensor& input = context.input(0);
  bool is_true = input.num_elements() > 0;
  bool has_truth = true;
  if (input.shape().rank() == 0) {
    visit_dtype(input.dtype(), [&]<class T>(std::type_identity<T>) {
      has_truth = dtype_of<T> == input.dtype();  // others are only their bits
      if (!has_truth) return;
      if constexpr (std::is_same_v<T, std::string>) {
        is_true = !input.item<T>().empty();
      } else if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Half>) {
        is_true = static_cast<float>(input.item<T>()) != 0;
      } else if constexpr (!std::is_same_v<T, ResourceHandle> && !std::is_same_v<T, Variant>) {
        is_true = input.item<T>() != T();
      } else {
        has_truth = false;
      }
    });
  }
  if (!has_truth)
    return invalid("ToBool '", context.node_name(), "': a ", dtype_name(input.dtype()),
                   " is neither true nor false");
  return Tensor::scalar(is_true);
}

Status run_merge(KernelContext& context) {
  for (int slot = 0; slot < context.num_inputs(); ++slot) {
    if (!context.input_is_ref(slot) && !context.input(slot).has_value()) continue;
    forward(context, slot, 0);
    context.set_output(1, Tensor::scalar<int32_t>(slot));
    return {};
  }
  return internal("Merge '", context.node_name(), "' ran although none of its inputs is alive");
}

Status infer_switch(InferContext& context) {
  context.set_output(0, context.input(0));
  context.set_output(1, context.input(0));
  return {};
}

Status infer_switch_n(InferContext& context) {
  for (int slot = 0; slot < context.num_outputs(); ++slot) {
    context.set_output(slot, context.input(0));
  }
  return {};
}

// What all inputs have in common; a dim in which they differ is unknown.
Status infer_merge(InferContext& context) {
  context.set_output(1, PartialShape::scalar());
  PartialShape common = context.input(0);
  for (int slot = 1; slot < context.num_inputs() && common.has_rank(); ++slot) {
    const PartialShape& other = context.input(slot);
    if (other.rank() != common.rank()) {
      common = PartialShape::unknown();
      break;
    }
    std::vector<int64_t> dims(common.dims().begin(), common.dims().end());
    for (int axis = 0; axis < common.rank(); ++axis) {
      if (dims[axis] != other.dim(axis)) dims[axis] = kUnknownDim;
    }
    MR_ASSIGN(common, PartialShape::create(dims));
  }
  context.set_output(0, std::move(common));
  return {};
}

Status nothing(KernelContext&) { return {}; }

// An op of this family that passes its only input on.
OpDef passing(std::string name, std::string doc, std::string signature, Role role) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .signature = std::move(signature),
          .infer = infer::same_as_input,
          .cpu = kernel(forward_first),
          .role = role,
          .foldable = false,
          .cost = Cost::cheap};
}

Status register_branches(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "Switch",
      .doc = "Forwards data to output_true if pred is true and to output_false if not; the other "
             "output is dead, and so is what depends on it.",
      .signature = "data: T, pred: bool -> output_false: T, output_true: T | T: type",
      .infer = infer_switch,
      .cpu = kernel(run_switch),
      .role = Role::switch_,
      .foldable = false,
      .cost = Cost::cheap,
  }));
  MR_TRY(ops.add({
      .name = "RefSwitch",
      .doc = "Switch for a reference to a variable.",
      .signature =
          "data: ref(T), pred: bool -> output_false: ref(T), output_true: ref(T) | T: type",
      .infer = infer_switch,
      .cpu = kernel(run_switch),
      .role = Role::switch_,
      .foldable = false,
      .allows_uninitialized_input = true,
      .cost = Cost::cheap,
  }));
  MR_TRY(ops.add({
      .name = "_SwitchN",
      .doc =
          "Forwards data to the output that output_index counts to from 0, the last one if there "
          "is no such output; the others are dead.",
      .signature = "data: T, output_index: int32 -> outputs: num_outs*T | num_outs: int >= 1, "
                   "T: type",
      .infer = infer_switch_n,
      .cpu = kernel(run_switch_n),
      .role = Role::switch_,
      .foldable = false,
      .cost = Cost::cheap,
  }));
  MR_TRY(ops.add({
      .name = "ToBool",
      .doc =
          "Whether a number is not 0, a text not empty; of anything but a scalar, whether it has "
          "elements.",
      .signature = "input: T -> output: bool | T: type",
      .infer = infer::scalar,
      .cpu = kernel(run_to_bool),
      .not_differentiable = "its result is true or false",
      .cost = Cost::cheap,
      .examples = {"3 -> true", "[0 0] -> true"},
  }));
  MR_TRY(ops.add({
      .name = "Merge",
      .doc = "Forwards the first of its inputs that comes alive, and says which one it was.",
      .signature = "inputs: N*T -> output: T, value_index: int32 | T: type, N: int >= 1",
      .infer = infer_merge,
      .cpu = kernel(run_merge),
      .role = Role::merge,
      .foldable = false,
      .cost = Cost::cheap,
  }));
  return ops.add({
      .name = "RefMerge",
      .doc = "Merge for references to variables.",
      .signature = "inputs: N*ref(T) -> output: ref(T), value_index: int32 | T: type, N: int >= 1",
      .infer = infer_merge,
      .cpu = kernel(run_merge),
      .role = Role::merge,
      .foldable = false,
      .cost = Cost::cheap,
  });
}

Status register_loops(OpRegistry& ops) {
  const std::string frame =
      "T: type, frame_name: string, is_constant: bool = false, parallel_iterations: int = 10";
  MR_TRY(ops.add(passing("Enter",
                         "Moves data into the loop frame_name; if is_constant, into each of its "
                         "iterations.",
                         "data: T -> output: T | " + frame, Role::enter)));
  MR_TRY(ops.add(passing("RefEnter", "Enter for a reference to a variable.",
                         "data: ref(T) -> output: ref(T) | " + frame, Role::enter)));
  MR_TRY(ops.add(passing("Exit", "Moves data out of the loop it is in.",
                         "data: T -> output: T | T: type", Role::exit)));
  MR_TRY(ops.add(passing("RefExit", "Exit for a reference to a variable.",
                         "data: ref(T) -> output: ref(T) | T: type", Role::exit)));
  MR_TRY(ops.add(passing("NextIteration", "Moves data to the next iteration of its loop.",
                         "data: T -> output: T | T: type", Role::next_iteration)));
  MR_TRY(ops.add(passing("RefNextIteration", "NextIteration for a reference to a variable.",
                         "data: ref(T) -> output: ref(T) | T: type", Role::next_iteration)));
  return ops.add(passing("LoopCond", "The loop's decision whether there is another iteration.",
                         "input: bool -> output: bool", Role::loop_cond));
}

}  // namespace

Status register_control_flow(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "NoOp",
      .doc = "Does nothing; control edges give it a meaning.",
      .signature = "->",
      .infer = infer::no_outputs,
      .cpu = kernel(nothing),
      .not_differentiable = "it gives nothing",
      .role = Role::nothing,
      .foldable = false,
      .cost = Cost::cheap,
  }));
  MR_TRY(ops.add({
      .name = "ControlTrigger",
      .doc = "A NoOp that runs even if a control input is dead.",
      .signature = "->",
      .infer = infer::no_outputs,
      .cpu = kernel(nothing),
      .not_differentiable = "it gives nothing",
      .role = Role::control_trigger,
      .foldable = false,
      .cost = Cost::cheap,
  }));
  MR_TRY(register_branches(ops));
  return register_loops(ops);
}

}  // namespace millrace
