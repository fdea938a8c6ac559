// Part of families.h: register_functional.
#include "millrace/op/infer.h"
#include "millrace/ops/flow/families.h"

namespace millrace {
namespace {

enum class State : uint8_t { without, with };

OpDef calling(std::string name, std::string doc, std::string signature, Role role, State state) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .signature = std::move(signature),
          .infer = infer::unknown,
          .role = role,
          .stateful = state == State::with,
          .foldable = false};
}

// The op, and its form for functions without state.
Status add_pair(OpRegistry& ops, const std::string& name, const std::string& doc,
                const std::string& signature, Role role) {
  MR_TRY(ops.add(calling(name, doc, signature, role, State::with)));
  return ops.add(calling("Stateless" + name, doc + " The functions have no state.", signature, role,
                         State::without));
}

}  // namespace

Status register_functional(OpRegistry& ops) {
  const std::string types = "Tin: list(type), Tout: list(type)";
  MR_TRY(add_pair(ops, "If", "Calls then_branch with input if cond is true, else else_branch.",
                  "cond: Tcond, input: Tin -> output: Tout | Tcond: type, " + types +
                      ", then_branch: func, else_branch: func, output_shapes: list(shape) = {}",
                  Role::conditional));
  MR_TRY(add_pair(ops, "Case",
                  "Calls the function of branches that branch_index counts to from 0; the last one "
                  "if there is no such branch.",
                  "branch_index: int32, input: Tin -> output: Tout | " + types +
                      ", branches: list(func) >= 1, output_shapes: list(shape) = {}",
                  Role::selection));
  MR_TRY(add_pair(ops, "While",
                  "Puts input through body again and again, as long as cond of it is true.",
                  "input: T -> output: T | T: list(type), cond: func, body: func, "
                  "output_shapes: list(shape) = {}, parallel_iterations: int = 10",
                  Role::loop));
  MR_TRY(
      ops.add(calling("For",
                      "Puts input through body again and again, with an index before it that goes "
                      "from start by delta as long as it has not come to limit.",
                      "start: int32, limit: int32, delta: int32, input: T -> output: T | "
                      "T: list(type), body: func",
                      Role::loop, State::without)));
  MR_TRY(ops.add(calling("RemoteCall", "Calls f on the device that target names.",
                         "target: string, args: Tin -> output: Tout | Tin: list(type) >= 1, "
                         "Tout: list(type) >= 1, f: func",
                         Role::call, State::with)));
  const std::string call = "args: Tin -> output: Tout | " + types +
                           ", f: func, config: string = '', config_proto: string = '', "
                           "executor_type: string = ''";
  MR_TRY(ops.add(calling("PartitionedCall", "Calls f, a function without state.", call, Role::call,
                         State::without)));
  MR_TRY(ops.add(calling("StatefulPartitionedCall", "Calls f, which may have state.", call,
                         Role::call, State::with)));
  return ops.add(calling("SymbolicGradient",
                         "The gradients of the arguments of f, by those of its results.",
                         "input: Tin -> output: Tout | Tin: list(type) >= 1, "
                         "Tout: list(type) >= 1, f: func",
                         Role::function_gradient, State::without));
}

}  // namespace millrace
