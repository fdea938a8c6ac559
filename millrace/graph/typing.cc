#include "millrace/graph/typing.h"

#include <algorithm>

namespace millrace {
namespace {

// The attribute that says how many slots an argument takes; empty if it is one.
const std::string& count_attr(const ArgDef& arg) {
  return arg.number_attr.empty() ? arg.type_list_attr : arg.number_attr;
}

// How many slots an argument takes, if that is known.
std::optional<size_t> count_of(const OpDef& op, const ArgDef& arg, const Attrs& attrs) {
  const std::string& name = count_attr(arg);
  if (name.empty()) return 1;
  const AttrValue* value = attrs.find(name);
  if (value == nullptr) return std::nullopt;
  if (const int64_t* number = value->as_int())
    return *number < 0 ? 0 : static_cast<size_t>(*number);
  if (const auto* types = value->as_list_of<DType>()) return types->size();
  return AttrView(op, attrs).find(name) ? std::optional<size_t>(0) : std::nullopt;
}

// How many slots each argument takes. If one attribute alone decides all that is unknown, the rest
// of the inputs is shared out among its arguments; nullopt if that can't be told.
std::optional<std::vector<size_t>> slots_of_args(const OpDef& op, size_t num_inputs,
                                                 const Attrs& attrs) {
  std::vector<size_t> counts(op.inputs.size(), 0);
  std::vector<size_t> open;
  size_t known = 0;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (const auto count = count_of(op, op.inputs[i], attrs)) {
      known += counts[i] = *count;
    } else {
      open.push_back(i);
    }
  }
  if (known > num_inputs) return std::nullopt;
  if (open.empty()) return counts;
  for (size_t i : open) {
    if (count_attr(op.inputs[i]) != count_attr(op.inputs[open[0]])) return std::nullopt;
  }
  if ((num_inputs - known) % open.size() != 0) return std::nullopt;
  for (size_t i : open) counts[i] = (num_inputs - known) / open.size();
  return counts;
}

void infer_arg(const ArgDef& arg, std::span<const std::optional<ArgType>> inputs, Attrs& attrs) {
  if (!arg.number_attr.empty() && attrs.find(arg.number_attr) == nullptr) {
    attrs.set(arg.number_attr, static_cast<int64_t>(inputs.size()));
  }
  if (!arg.type_attr.empty() && attrs.find(arg.type_attr) == nullptr) {
    const auto given =
        std::ranges::find_if(inputs, [](const auto& type) { return type.has_value(); });
    if (given != inputs.end()) attrs.set(arg.type_attr, (*given)->dtype);
  }
  if (!arg.type_list_attr.empty() && attrs.find(arg.type_list_attr) == nullptr) {
    std::vector<DType> types;
    for (const auto& type : inputs) {
      if (!type) return;
      types.push_back(type->dtype);
    }
    attrs.set(arg.type_list_attr, std::move(types));
  }
}

}  // namespace

void infer_attrs(const OpDef& op, std::span<const std::optional<ArgType>> inputs, Attrs& attrs) {
  const auto is_single = [](const ArgDef& arg) { return count_attr(arg).empty(); };
  if (std::ranges::all_of(op.inputs, is_single)) {
    const size_t known = std::min(inputs.size(), op.inputs.size());
    for (size_t i = 0; i < known; ++i) infer_arg(op.inputs[i], inputs.subspan(i, 1), attrs);
    return;
  }
  const auto counts = slots_of_args(op, inputs.size(), attrs);
  if (!counts) return;  // the count of inputs will not fit either, and is reported then
  size_t begin = 0;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (begin + (*counts)[i] > inputs.size()) return;
    infer_arg(op.inputs[i], inputs.subspan(begin, (*counts)[i]), attrs);
    begin += (*counts)[i];
  }
}

Status resolve_types(const OpDef& op, const std::vector<ArgDef>& args, const Attrs& attrs,
                     TypeList* types) {
  types->clear();
  for (const ArgDef& arg : args) {
    DType dtype = arg.dtype;
    if (dtype == DType::invalid && count_attr(arg).empty()) {
      const AttrValue* value = AttrView(op, attrs).find(arg.type_attr);
      const DType* held = value ? value->as_type() : nullptr;
      if (held) dtype = *held;
    }
    if (dtype == DType::invalid || !count_attr(arg).empty()) {
      MR_ASSIGN(const std::vector<ArgType> all, resolve_args(op, args, attrs));
      types->assign(all.begin(), all.end());
      return {};
    }
    types->push_back({dtype, arg.is_ref});
  }
  return {};
}

std::string type_name(ArgType type) {
  return str_cat(dtype_name(type.dtype), type.is_ref ? "_ref" : "");
}

std::string type_list_name(std::span<const ArgType> types) {
  constexpr size_t kMost = 8;
  std::string text = "(";
  for (size_t i = 0; i < std::min(types.size(), kMost); ++i) {
    str_append(&text, i ? ", " : "", type_name(types[i]));
  }
  if (types.size() > kMost) str_append(&text, ", … ", types.size() - kMost, " more");
  return text + ")";
}

}  // namespace millrace
