#include "millrace/graph/function.h"

namespace millrace {
namespace {

std::vector<ArgDef> args_of(const std::vector<wire::ArgDef>& written) {
  std::vector<ArgDef> args;
  for (const wire::ArgDef& arg : written) {
    args.push_back({.name = arg.name,
                    .dtype = arg.dtype,
                    .type_attr = arg.type_attr,
                    .type_list_attr = arg.type_list_attr,
                    .number_attr = arg.number_attr,
                    .is_ref = arg.is_ref});
  }
  return args;
}

std::vector<DType> dtypes_of(const std::vector<ArgType>& types) {
  std::vector<DType> dtypes;
  for (const ArgType& type : types) dtypes.push_back(type.dtype);
  return dtypes;
}

}  // namespace

Status add_function(FunctionLibrary& library, wire::FunctionDef def, const OpRegistry& ops) {
  const auto found = library.find(def.name);
  if (found != library.end()) {
    if (wire::same_function(*found->second, def)) return {};
    return invalid("Cannot add function '", def.name,
                   "' because a different function with the same name already exists.");
  }
  if (ops.find(def.name) != nullptr) {
    return invalid("Cannot add function '", def.name,
                   "' because an op with the same name already exists.");
  }
  std::string name = def.name;
  library.emplace(std::move(name), std::make_shared<const wire::FunctionDef>(std::move(def)));
  return {};
}

const wire::FunctionDef* find_function(const FunctionLibrary* library, std::string_view name) {
  if (library == nullptr) return nullptr;
  const auto found = library->find(name);
  return found == library->end() ? nullptr : found->second.get();
}

OpDef signature_of(const wire::FunctionDef& function) {
  OpDef op{.name = function.name,
           .doc = {},
           .signature = {},
           .stateful = function.is_stateful,
           .inputs = args_of(function.inputs),
           .outputs = args_of(function.outputs)};
  for (const wire::AttrDef& attr : function.signature_attrs) {
    op.attrs.push_back({.name = attr.name,
                        .kind = attr.kind,
                        .default_value = attr.default_value,
                        .minimum = attr.minimum,
                        .allowed_types = {},
                        .allowed_strings = {}});
  }
  return op;
}

Result<FunctionCall> call_of(const wire::FunctionDef& function, const Attrs& attrs) {
  const OpDef signature = signature_of(function);
  MR_ASSIGN(const std::vector<ArgType> inputs, resolve_args(signature, signature.inputs, attrs));
  MR_ASSIGN(const std::vector<ArgType> outputs, resolve_args(signature, signature.outputs, attrs));
  FunctionCall call{signature.stateful ? "StatefulPartitionedCall" : "PartitionedCall", {}};
  FunctionRef callee{function.name, {}};
  for (const Attrs::Entry& entry : attrs) {
    // Those that begin with "_" are the node's, the others the function's.
    if (entry.first.starts_with('_')) {
      call.attrs.set(entry.first, entry.second);
    } else {
      callee.attrs.push_back(entry);
    }
  }
  call.attrs.set("Tin", dtypes_of(inputs));
  call.attrs.set("Tout", dtypes_of(outputs));
  call.attrs.set("f", std::move(callee));
  return call;
}

}  // namespace millrace
