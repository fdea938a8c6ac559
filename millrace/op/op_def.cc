#include "millrace/op/op_def.h"

#include <algorithm>

namespace millrace {
namespace {

constexpr int64_t kMostArgs = 1'000'000;

// How many slots one argument takes.
Result<int64_t> slots_of(const ArgDef& arg, const AttrView& view) {
  if (!arg.type_list_attr.empty()) {
    MR_ASSIGN(const std::vector<DType> types, view.types(arg.type_list_attr));
    return static_cast<int64_t>(types.size());
  }
  if (arg.number_attr.empty()) return int64_t{1};
  MR_ASSIGN(const int64_t count, view.integer(arg.number_attr));
  if (count < 0 || count > kMostArgs) {
    return invalid("attribute '", arg.number_attr, "' of op ", view.op().name, " is ", count,
                   "; it counts '", arg.name, "' and must be between 0 and ", kMostArgs);
  }
  return count;
}

Status check_total(const OpDef& op, size_t slots) {
  if (slots <= static_cast<size_t>(kMostArgs)) return {};
  return invalid("a node of op ", op.name, " has ", slots, " inputs or outputs; at most ",
                 kMostArgs, " are supported");
}

Status wrong(const OpDef& op, const AttrDef& attr, const AttrValue& value,
             std::string_view expected) {
  return invalid("attribute '", attr.name, "' of op ", op.name, " is ", value.to_string(),
                 "; expected ", expected);
}

std::string type_names(const std::vector<DType>& types) {
  std::string names;
  for (const DType type : types) str_append(&names, names.empty() ? "" : ", ", dtype_name(type));
  return names;
}

Status check_type(const OpDef& op, const AttrDef& attr, const AttrValue& value, DType type) {
  if (type == DType::invalid) return wrong(op, attr, value, "a type");
  if (attr.allowed_types.empty()) return {};
  if (std::count(attr.allowed_types.begin(), attr.allowed_types.end(), type) != 0) return {};
  return wrong(op, attr, value, str_cat("one of ", type_names(attr.allowed_types)));
}

size_t list_size(const AttrValue::ListValue& list) {
  return std::visit([](const auto& items) { return items.size(); }, list);
}

Status check_value(const OpDef& op, const AttrDef& attr, const AttrValue& value) {
  const std::string kind = value.kind();
  const bool is_empty_list = value.as_list() != nullptr && list_size(*value.as_list()) == 0;
  const bool fits = kind == attr.kind || (is_empty_list && attr.kind.starts_with("list("));
  if (!fits) return wrong(op, attr, value, str_cat("a value of kind ", attr.kind, ", not ", kind));

  if (const DType* type = value.as_type()) MR_TRY(check_type(op, attr, value, *type));
  if (const auto* types = value.as_list_of<DType>()) {
    for (const DType type : *types) MR_TRY(check_type(op, attr, value, type));
  }
  if (const std::string* text = value.as_string();
      text != nullptr && !attr.allowed_strings.empty()) {
    const auto& allowed = attr.allowed_strings;
    if (std::count(allowed.begin(), allowed.end(), *text) == 0) {
      std::string names;
      for (const std::string& one : allowed)
        str_append(&names, names.empty() ? "" : ", ", "'", one, "'");
      return wrong(op, attr, value, str_cat("one of ", names));
    }
  }
  if (!attr.minimum) return {};
  if (const int64_t* number = value.as_int(); number != nullptr && *number < *attr.minimum)
    return wrong(op, attr, value, str_cat("at least ", *attr.minimum));
  if (const auto* list = value.as_list();
      list != nullptr && static_cast<int64_t>(list_size(*list)) < *attr.minimum)
    return wrong(op, attr, value, str_cat("a list of at least ", *attr.minimum));
  return {};
}

}  // namespace

const KernelFactory* OpDef::kernel_for(std::string_view device_type) const {
  if (device_type == "CPU") return cpu ? &cpu : nullptr;
  for (const DeviceKernel& kernel : kernels)
    if (kernel.device_type == device_type) return &kernel.make;
  return nullptr;
}

const AttrDef* OpDef::find_attr(std::string_view name) const {
  for (const AttrDef& attr : attrs) {
    if (attr.name == name) return &attr;
  }
  return nullptr;
}

Result<std::vector<ArgType>> resolve_args(const OpDef& op, const std::vector<ArgDef>& args,
                                          const Attrs& attrs) {
  const AttrView view(op, attrs);
  std::vector<ArgType> types;
  for (const ArgDef& arg : args) {
    MR_ASSIGN(const int64_t slots, slots_of(arg, view));
    MR_TRY(check_total(op, types.size() + static_cast<size_t>(slots)));
    if (!arg.type_list_attr.empty()) {
      MR_ASSIGN(const std::vector<DType> listed, view.types(arg.type_list_attr));
      for (const DType dtype : listed) types.push_back({dtype, arg.is_ref});
      continue;
    }
    DType dtype = arg.dtype;
    if (!arg.type_attr.empty()) {
      MR_ASSIGN(dtype, view.type(arg.type_attr));
    }
    types.insert(types.end(), static_cast<size_t>(slots), {dtype, arg.is_ref});
  }
  return types;
}

Result<std::vector<int>> arg_offsets(const OpDef& op, const std::vector<ArgDef>& args,
                                     const Attrs& attrs) {
  const AttrView view(op, attrs);
  std::vector<int> offsets = {0};
  for (const ArgDef& arg : args) {
    MR_ASSIGN(const int64_t slots, slots_of(arg, view));
    const int64_t end = offsets.back() + slots;
    MR_TRY(check_total(op, static_cast<size_t>(end)));
    offsets.push_back(static_cast<int>(end));
  }
  return offsets;
}

Status check_attrs(const OpDef& op, const Attrs& attrs) {
  for (const AttrDef& attr : op.attrs) {
    if (const AttrValue* value = attrs.find(attr.name)) {
      MR_TRY(check_value(op, attr, *value));
    } else if (!attr.default_value) {
      return invalid("attribute '", attr.name, "' (", attr.kind, ") of op ", op.name,
                     " is missing");
    }
  }
  return {};
}

}  // namespace millrace
