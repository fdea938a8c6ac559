#include "millrace/api/op_call.h"

#include "millrace/api/build_state.h"

namespace millrace {

namespace {

// The type that the op or its other inputs give to what argument `arg` takes.
DType known_dtype(const OpDef& op, const ArgDef& arg, const std::vector<InputList>& args,
                  const Attrs& attrs) {
  if (arg.type_attr.empty()) return arg.dtype;
  if (const AttrValue* given = attrs.find(arg.type_attr); given != nullptr && given->as_type())
    return *given->as_type();
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i].type_attr != arg.type_attr) continue;
    for (const Input& input : args[i]) {
      if (input.output() != nullptr) return input.output()->dtype();
      if (input.tensor() != nullptr) return input.tensor()->dtype();
    }
  }
  return DType::invalid;
}

}  // namespace

Operation call_op(const Scope& scope, std::string_view op, std::vector<InputList> args,
                  Attrs attrs) {
  if (scope.state() == nullptr || !scope.status().ok()) return {};
  const OpDef* def = scope.find_op(op);
  if (def == nullptr || def->inputs.size() != args.size()) {
    scope.fail(invalid(def == nullptr ? "there is no such op" : "wrong number of arguments"), op);
    return {};
  }
  std::vector<Output> inputs;
  for (size_t i = 0; i < args.size(); ++i) {
    for (const Input& input : args[i]) {
      const DType dtype = known_dtype(*def, def->inputs[i], args, attrs);
      inputs.push_back(constant(scope.for_constants(), input, dtype));
    }
    // A list may be empty, and its length is then known only here.
    const std::string& number = def->inputs[i].number_attr;
    if (!number.empty()) attrs.set(number, static_cast<int64_t>(args[i].size()));
  }
  return scope.add(op, std::move(inputs), std::move(attrs));
}

std::vector<Output> outputs_of(const Operation& op, int arg) {
  if (!op.has_value()) return {};
  const Node& node = op.state()->builder->graph()[op.id()];
  const auto offsets = arg_offsets(*node.op, node.op->outputs, node.attrs());
  if (!offsets.ok()) return {};
  std::vector<Output> outputs;
  for (int slot = (*offsets)[arg]; slot < (*offsets)[arg + 1]; ++slot)
    outputs.emplace_back(op, slot);
  return outputs;
}

Output output_of(const Operation& op, int arg) {
  const std::vector<Output> outputs = outputs_of(op, arg);
  return outputs.empty() ? Output() : outputs.front();
}

}  // namespace millrace
