#include "millrace/graph/foreign_nodes.h"

#include <algorithm>
#include <utility>

#include "millrace/graph/function.h"
#include "millrace/graph/typing.h"
#include "millrace/op/device_name.h"

namespace millrace {
namespace {

// An output with a greater number is a lie, or an op whose results nobody could count.
constexpr int kMostOutputs = 1000;

bool is_control(std::string_view input) { return input.starts_with('^'); }

// The types that attributes name as those of the results, by the habits of TensorFlow's ops.
std::vector<DType> declared(const wire::NodeDef& node) {
  for (const char* name : {"output_types", "Toutputs", "Tout", "dtypes", "component_types"}) {
    const AttrValue* value = node.attr(name);
    if (const auto* types = value ? value->as_list_of<DType>() : nullptr) return *types;
  }
  for (const char* name :
       {"Tout", "out_type", "output_dtype", "output_type", "dtype", "DstT", "T"}) {
    const AttrValue* value = node.attr(name);
    if (const DType* type = value ? value->as_type() : nullptr) return {*type};
  }
  std::vector<DType> all;
  for (const auto& [name, value] : node.attrs) {
    if (const DType* type = value.as_type(); type && !name.starts_with('_')) all.push_back(*type);
  }
  // Of several nobody can tell which it is.
  if (all.size() != 1) all.clear();
  return all;
}

std::vector<ArgDef> args_of(std::string_view prefix, std::span<const ArgType> types) {
  std::vector<ArgDef> args;
  for (const ArgType& type : types) {
    args.push_back({.name = str_cat(prefix, args.size()), .dtype = type.dtype});
    args.back().is_ref = type.is_ref;
  }
  return args;
}

std::optional<std::vector<ArgType>> resolved(const OpDef& op, const std::vector<ArgDef>& args,
                                             const wire::NodeDef& node) {
  TypeList types;
  if (!resolve_types(op, args, Attrs(node.attrs), &types).ok()) return std::nullopt;
  return std::vector<ArgType>(types.begin(), types.end());
}

}  // namespace

bool asks_for_task(const wire::NodeDef& node) {
  const Result<DeviceName> asked = DeviceName::parse(node.device);
  return asked.ok() && asked->job.has_value();
}

ForeignNodes::ForeignNodes(std::span<const wire::NodeDef> nodes, const Graph& there)
    : there_(there) {
  for (const wire::NodeDef& node : nodes) by_name_.emplace(to_absl(node.name), &node);
  for (const wire::NodeDef& node : nodes) {
    const OpDef* const op = there_.ops().find(node.op);
    std::optional<Types> taken;  // once a foreign node is read
    for (size_t slot = 0; slot < node.inputs.size() && !is_control(node.inputs[slot]); ++slot) {
      const TensorName input = parse_tensor_name(node.inputs[slot]);
      const auto producer = by_name_.find(to_absl(input.node));
      if (producer == by_name_.end() || there_.ops().find(producer->second->op) != nullptr)
        continue;
      auto& read = read_as_[producer->second];
      // One too many stands for all of them: nobody can tell what it is.
      const auto at = static_cast<size_t>(std::clamp(input.output, 0, kMostOutputs));
      if (read.size() <= at) read.resize(at + 1);
      if (op == nullptr || read[at]) continue;
      if (!taken) taken = resolved(*op, op->inputs, node).value_or(Types());
      if (slot < taken->size()) read[at] = (*taken)[slot];
    }
  }
}

std::optional<ArgType> ForeignNodes::type_of(std::string_view input) const {
  const TensorName name = parse_tensor_name(input);
  const auto at = static_cast<size_t>(name.output);
  const auto nth = [&](const auto& types) {
    return at < types.size() ? std::optional<ArgType>(types[at]) : std::nullopt;
  };
  const auto found = by_name_.find(to_absl(name.node));
  if (found != by_name_.end()) {
    const std::optional<Types>& types = outputs_of(*found->second);
    return types ? nth(*types) : std::nullopt;
  }
  const Node* const node = there_.find(name.node);
  return node ? nth(node->output_types()) : std::nullopt;
}

const std::optional<ForeignNodes::Types>& ForeignNodes::outputs_of(
    const wire::NodeDef& node) const {
  const auto [at, is_new] = outputs_.try_emplace(&node);
  if (!is_new) return at->second;
  if (const OpDef* const op = there_.ops().find(node.op)) {
    at->second = resolved(*op, op->outputs, node);
  } else if (find_function(there_.functions().get(), node.op) == nullptr) {
    at->second = told(node);
  }
  return at->second;
}

std::optional<ForeignNodes::Types> ForeignNodes::inputs_of(const wire::NodeDef& node) const {
  Types types;
  for (const std::string& input : node.inputs) {
    if (is_control(input)) break;
    const std::optional<ArgType> type = type_of(input);
    if (!type) return std::nullopt;
    // It may read the value of a variable or write to it: the one is enough to come there.
    types.push_back({type->dtype, false});
  }
  return types;
}

std::optional<ForeignNodes::Types> ForeignNodes::told(const wire::NodeDef& node) const {
  const std::vector<DType> said = declared(node);
  const auto found = read_as_.find(&node);
  std::vector<std::optional<ArgType>> read;
  if (found != read_as_.end()) read = found->second;
  const size_t count = std::max(read.size(), said.size());
  if (count > kMostOutputs) return std::nullopt;
  read.resize(count);
  Types types;
  for (size_t i = 0; i < count; ++i) {
    if (!read[i] && i >= said.size()) return std::nullopt;
    types.push_back(read[i] ? *read[i] : ArgType{said[i], false});
  }
  return types;
}

Result<const OpDef*> ForeignNodes::op_of(const wire::NodeDef& node) const {
  const std::optional<Types> inputs = inputs_of(node);
  const std::optional<Types>& outputs = outputs_of(node);
  if (!inputs || !outputs) return nullptr;
  OpDef op{.name = node.op, .doc = "Known by its use in a graph alone.", .stateful = true};
  op.not_differentiable = "nothing is known of it";
  op.inputs = args_of("input", *inputs);
  op.outputs = args_of("output", *outputs);
  return there_.ops().foreign(std::move(op));
}

}  // namespace millrace
