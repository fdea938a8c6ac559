// A handful of ops for the tests of graph and plan, with TensorFlow's signatures: the op library
// stands on the floor of graph, and tests of rewiring need no more than these. Not part of any
// library.
#pragma once

#include "millrace/graph/text.h"
#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/op/registry.h"

namespace millrace::testing {

// Adds float scalars, or int32 ones; enough to see a constant folded.
inline Status add_scalars(KernelContext& context) {
  const Tensor &a = context.input(0), &b = context.input(1);
  if (a.dtype() == DType::f32) {
    context.set_output(0, Tensor::scalar(a.item<float>() + b.item<float>()));
  } else if (a.dtype() == DType::i32) {
    context.set_output(0, Tensor::scalar(a.item<int32_t>() + b.item<int32_t>()));
  } else {
    return unimplemented("no such sum");
  }
  return {};
}

inline Status do_nothing(KernelContext&) { return {}; }

inline Status forward(KernelContext& context) {
  context.set_output(0, context.input(0));
  return {};
}

inline Status infer_const(InferContext& context) {
  MR_ASSIGN(const Tensor value, context.attrs().tensor("value"));
  context.set_output(0, value.shape());
  return {};
}

inline Status same_as_second_input(InferContext& context) {
  context.set_output(0, context.input(1));
  return {};
}

inline Status infer_matmul(InferContext& context) {
  MR_ASSIGN(const PartialShape a, context.input_of_rank(0, 2));
  MR_ASSIGN(const PartialShape b, context.input_of_rank(1, 2));
  if (!a.has_rank() || !b.has_rank()) return {};
  const int64_t left = a.dim(1), right = b.dim(0);
  if (left >= 0 && right >= 0 && left != right) {
    return invalid("Dimensions must be equal, but are ", left, " and ", right);
  }
  context.set_output(0, PartialShape{a.dim(0), b.dim(1)});
  return {};
}

// Zeros are as good as any other value.
inline Status fill(KernelContext& context) {
  const auto dims = context.input(0).flat<int32_t>();
  MR_ASSIGN(const Shape shape, Shape::create(std::vector<int64_t>(dims.begin(), dims.end())));
  MR_ASSIGN(Tensor zeros, Tensor::zeros(context.output_dtype(0), shape));
  context.set_output(0, std::move(zeros));
  return {};
}

inline Status infer_fill(InferContext& context) {
  const Tensor* dims = context.constant(0);
  if (dims == nullptr) return {};
  std::vector<int64_t> sizes;
  for (int32_t dim : dims->flat<int32_t>()) sizes.push_back(dim);
  MR_ASSIGN(const PartialShape shape, PartialShape::create(sizes));
  context.set_output(0, shape);
  return {};
}

inline Status add_value_ops(OpRegistry& ops) {
  MR_TRY(ops.add({.name = "Const",
                  .doc = {},
                  .signature = "-> output: dtype | value: tensor, dtype: type",
                  .infer = infer_const,
                  .cpu = kernel(do_nothing),
                  .source = Source::constant}));
  MR_TRY(ops.add({.name = "Placeholder",
                  .doc = {},
                  .signature = "-> output: dtype | dtype: type, shape: shape = ?",
                  .infer = infer::shape_attr,
                  .cpu = kernel(do_nothing),
                  .foldable = false,
                  .source = Source::fed}));
  MR_TRY(ops.add({.name = "Add",
                  .doc = {},
                  .signature = "x: T, y: T -> z: T | T: type",
                  .infer = infer::broadcast,
                  .cpu = kernel(add_scalars),
                  .commutative = true}));
  MR_TRY(ops.add({.name = "Sub",
                  .doc = {},
                  .signature = "x: T, y: T -> z: T | T: type",
                  .infer = infer::broadcast,
                  .cpu = kernel(do_nothing)}));
  MR_TRY(ops.add({.name = "Less",
                  .doc = {},
                  .signature = "x: T, y: T -> z: bool | T: type",
                  .infer = infer::broadcast,
                  .cpu = kernel(do_nothing)}));
  MR_TRY(ops.add({.name = "MatMul",
                  .doc = {},
                  .signature = "a: T, b: T -> product: T | transpose_a: bool = false, "
                               "transpose_b: bool = false, T: {float, double, int32}",
                  .infer = infer_matmul,
                  .cpu = kernel(do_nothing)}));
  MR_TRY(ops.add({.name = "Fill",
                  .doc = {},
                  .signature = "dims: int32, value: T -> output: T | T: type",
                  .infer = infer_fill,
                  .cpu = kernel(fill)}));
  MR_TRY(ops.add({.name = "Identity",
                  .doc = {},
                  .signature = "input: T -> output: T | T: type",
                  .infer = infer::same_as_input,
                  .cpu = kernel(forward),
                  .passes_on = true}));
  MR_TRY(ops.add({.name = "Shape",
                  .doc = {},
                  .signature = "input: T -> output: out | T: type, out: type = int32",
                  .cpu = kernel(do_nothing),
                  .tells = ShapeFact::dims}));
  MR_TRY(ops.add({.name = "IdentityN",
                  .doc = {},
                  .signature = "input: T -> output: T | T: list(type) >= 1",
                  .cpu = kernel(do_nothing)}));
  MR_TRY(ops.add({.name = "Pack",
                  .doc = {},
                  .signature = "values: N*T -> output: T | N: int >= 1, T: type, axis: int = 0",
                  .cpu = kernel(do_nothing)}));
  MR_TRY(ops.add({.name = "Split",
                  .doc = {},
                  .signature = "value: T -> output: num*T | num: int >= 1, T: type",
                  .cpu = kernel(do_nothing)}));
  return ops.add({.name = "NoOp", .doc = {}, .signature = "->", .cpu = kernel(do_nothing)});
}

inline Status add_state_ops(OpRegistry& ops) {
  MR_TRY(ops.add({.name = "VariableV2",
                  .doc = {},
                  .signature = "-> ref: ref(dtype) | shape: shape, dtype: type, "
                               "container: string = '', shared_name: string = ''",
                  .infer = infer::shape_attr,
                  .cpu = kernel(do_nothing),
                  .stateful = true}));
  MR_TRY(ops.add({.name = "Assign",
                  .doc = {},
                  .signature = "ref: ref(T), value: T -> output_ref: ref(T) | T: type, "
                               "use_locking: bool = true",
                  .infer = same_as_second_input,
                  .cpu = kernel(do_nothing),
                  .allows_uninitialized_input = true}));
  MR_TRY(ops.add({.name = "VarHandleOp",
                  .doc = {},
                  .signature = "-> resource: resource | dtype: type, shape: shape, "
                               "container: string = '', shared_name: string = ''",
                  .cpu = kernel(do_nothing),
                  .stateful = true}));
  MR_TRY(ops.add({.name = "ReadVariableOp",
                  .doc = {},
                  .signature = "resource: resource -> value: dtype | dtype: type",
                  .cpu = kernel(do_nothing),
                  .stateful = true}));
  MR_TRY(ops.add({.name = "AssignVariableOp",
                  .doc = {},
                  .signature = "resource: resource, value: dtype -> | dtype: type",
                  .cpu = kernel(do_nothing),
                  .stateful = true}));
  MR_TRY(ops.add({.name = "RandomUniform",
                  .doc = {},
                  .signature = "shape: int32 -> output: dtype | dtype: type, seed: int = 0",
                  .cpu = kernel(do_nothing),
                  .stateful = true}));
  // Known by name, without a kernel.
  return ops.add({.name = "RemoteOnly", .doc = {}, .signature = "x: T -> y: T | T: type"});
}

inline Status add_flow_ops(OpRegistry& ops) {
  const auto add = [&](const char* name, const char* signature, Role role,
                       InferFn infer = nullptr) {
    return ops.add({.name = name,
                    .doc = {},
                    .signature = signature,
                    .infer = std::move(infer),
                    .cpu = kernel(do_nothing),
                    .role = role});
  };
  MR_TRY(add("Switch", "data: T, pred: bool -> output_false: T, output_true: T | T: type",
             Role::switch_));
  MR_TRY(add("RefSwitch",
             "data: ref(T), pred: bool -> output_false: ref(T), output_true: ref(T) | T: type",
             Role::switch_));
  MR_TRY(add("Merge", "inputs: N*T -> output: T, value_index: int32 | T: type, N: int >= 1",
             Role::merge));
  MR_TRY(add("Enter",
             "data: T -> output: T | T: type, frame_name: string, is_constant: bool = false, "
             "parallel_iterations: int = 10",
             Role::enter, infer::same_as_input));
  MR_TRY(add("Exit", "data: T -> output: T | T: type", Role::exit, infer::same_as_input));
  MR_TRY(add("NextIteration", "data: T -> output: T | T: type", Role::next_iteration,
             infer::same_as_input));
  MR_TRY(add("LoopCond", "input: bool -> output: bool", Role::loop_cond, infer::same_as_input));
  MR_TRY(add("ControlTrigger", "->", Role::control_trigger));
  const auto transfer = [&](const char* name, const char* signature, Role role) {
    return ops.add({.name = name,
                    .doc = {},
                    .signature = str_cat(signature,
                                         "tensor_name: string, send_device: string, "
                                         "send_device_incarnation: int, recv_device: string, "
                                         "client_terminated: bool = false"),
                    .cpu = kernel(do_nothing),
                    .role = role,
                    .stateful = true});
  };
  const auto calling = [&](const char* name, const char* signature, Role role) {
    return ops.add({.name = name,
                    .doc = {},
                    .signature = str_cat(signature, "Tin: list(type), Tout: list(type)"),
                    .role = role,
                    .stateful = !std::string_view(name).starts_with("P")});
  };
  MR_TRY(calling("PartitionedCall",
                 "args: Tin -> output: Tout | f: func, executor_type: string = '', ", Role::call));
  MR_TRY(
      calling("RemoteCall", "target: string, args: Tin -> output: Tout | f: func, ", Role::call));
  MR_TRY(add("_RemoteDevice",
             "target: string -> index: int32 | devices: list(string), within: string = ''",
             Role::ordinary));
  MR_TRY(add("_RemoteCall",
             "target: string, args: Tin -> output: Tout | Tin: list(type), Tout: list(type), "
             "f: func",
             Role::ordinary));
  MR_TRY(calling("StatefulPartitionedCall", "args: Tin -> output: Tout | f: func, ", Role::call));
  MR_TRY(calling("If",
                 "cond: Tcond, input: Tin -> output: Tout | Tcond: type, then_branch: func, "
                 "else_branch: func, ",
                 Role::conditional));
  MR_TRY(calling("Case",
                 "branch_index: int32, input: Tin -> output: Tout | branches: list(func) >= 1, ",
                 Role::selection));
  MR_TRY(ops.add({.name = "While",
                  .doc = {},
                  .signature = "input: T -> output: T | T: list(type), cond: func, body: func, "
                               "parallel_iterations: int = 10",
                  .role = Role::loop,
                  .stateful = true}));
  MR_TRY(calling("SymbolicGradient", "input: Tin -> output: Tout | f: func, ",
                 Role::function_gradient));
  MR_TRY(add("_SwitchN",
             "data: T, output_index: int32 -> outputs: num_outs*T | num_outs: int >= 1, T: type",
             Role::switch_));
  MR_TRY(add("ToBool", "input: T -> output: bool | T: type", Role::ordinary));
  MR_TRY(transfer("_Send", "tensor: T -> | T: type, ", Role::send));
  return transfer("_Recv", "-> tensor: tensor_type | tensor_type: type, ", Role::receive);
}

// The ops above. They live as long as the program, as graphs of several test cases refer to them.
inline const OpRegistry& test_ops() {
  static const OpRegistry& ops = *[] {
    auto* made = new OpRegistry();
    for (const Status& status : {add_value_ops(*made), add_state_ops(*made), add_flow_ops(*made)}) {
      if (!status.ok()) {
        std::fprintf(stderr, "test ops: %s\n", status.to_string().c_str());
        std::abort();
      }
    }
    return made;
  }();
  return ops;
}

// A graph that is known to be right.
inline Graph graph_of(std::string_view text) { return parse_graph(text, test_ops()).value(); }

}  // namespace millrace::testing
