#include "millrace/wire/function_codec.h"

#include <algorithm>

#include "millrace/base/str_cat.h"
#include "millrace/format/shape_codec.h"
#include "millrace/wire/field_numbers.h"
#include "millrace/wire/node_codec.h"

namespace millrace::wire {
namespace {

using enum fields::map_entry::Number;
using enum fields::function_def::Number;
using enum fields::op_def::Number;
using enum fields::arg_def::Number;
using enum fields::attr_def::Number;
using enum fields::arg_attrs::Number;

Status read_arg(Reader reader, ArgDef* arg) {
  Field field;
  while (reader.next(&field)) {
    if (field.is(kArgType, WireType::varint)) {
      const auto dtype = dtype_or_ref_from_number(field.value);
      if (!dtype)
        return invalid("argument '", arg->name, "': type number ", field.value, " is not known");
      arg->dtype = *dtype;
    } else if (field.is(kIsRef, WireType::varint)) {
      arg->is_ref = field.value != 0;
    } else if (field.type == WireType::bytes) {
      if (field.number == kArgName) arg->name = field.bytes;
      if (field.number == kTypeAttr) arg->type_attr = field.bytes;
      if (field.number == kNumberAttr) arg->number_attr = field.bytes;
      if (field.number == kTypeListAttr) arg->type_list_attr = field.bytes;
    }
  }
  return reader.status();
}

Status read_signature_attr(Reader reader, AttrContext& context, AttrDef* attr) {
  bool has_minimum = false;
  int64_t minimum = 0;
  Field field;
  while (reader.next(&field)) {
    if (field.is(kAttrName, WireType::bytes)) {
      attr->name = field.bytes;
    } else if (field.is(kAttrKind, WireType::bytes)) {
      attr->kind = field.bytes;
    } else if (field.is(kDefault, WireType::bytes)) {
      MR_TRY(read_attr_value(reader.inside(field), context, 0, &attr->default_value.emplace()));
    } else if (field.is(kHasMinimum, WireType::varint)) {
      has_minimum = field.value != 0;
    } else if (field.is(kMinimum, WireType::varint)) {
      minimum = static_cast<int64_t>(field.value);
    }
  }
  if (has_minimum) attr->minimum = minimum;
  return reader.status();
}

Status read_signature(Reader reader, AttrContext& context, FunctionDef* function) {
  Field field;
  while (reader.next(&field)) {
    if (field.is(kOpName, WireType::bytes)) {
      function->name = field.bytes;
    } else if (field.is(kInputArg, WireType::bytes)) {
      MR_TRY(read_arg(reader.inside(field), &function->inputs.emplace_back()));
    } else if (field.is(kOutputArg, WireType::bytes)) {
      MR_TRY(read_arg(reader.inside(field), &function->outputs.emplace_back()));
    } else if (field.is(kSignatureAttr, WireType::bytes)) {
      MR_TRY(read_signature_attr(reader.inside(field), context,
                                 &function->signature_attrs.emplace_back()));
    } else if (field.is(kIsStateful, WireType::varint)) {
      function->is_stateful = field.value != 0;
    } else if (field.is(kControlOutput, WireType::bytes)) {
      function->control_outputs.emplace_back(field.bytes);
    }
  }
  return reader.status();
}

Status read_text_entry(Reader reader, std::map<std::string, std::string>* out) {
  std::string_view key, value;
  Field field;
  while (reader.next(&field)) {
    if (field.is(kEntryKey, WireType::bytes)) key = field.bytes;
    if (field.is(kEntryValue, WireType::bytes)) value = field.bytes;
  }
  (*out)[std::string(key)] = value;
  return reader.status();
}

Status read_arg_attrs(Reader reader, AttrContext& context,
                      std::map<uint32_t, FunctionDef::AttrList>* out) {
  uint32_t index = 0;
  FunctionDef::AttrList attrs;
  Field field;
  while (reader.next(&field)) {
    if (field.is(kEntryKey, WireType::varint)) index = static_cast<uint32_t>(field.value);
    if (!field.is(kEntryValue, WireType::bytes)) continue;
    Reader entries = reader.inside(field);
    Field entry;
    while (entries.next(&entry)) {
      if (!entry.is(kArgAttrsAttr, WireType::bytes)) continue;
      MR_TRY(read_attr_entry(entries.inside(entry), context, 0, &attrs));
    }
    MR_TRY(entries.status());
  }
  (*out)[index] = std::move(attrs);
  return reader.status();
}

void put_in_order(FunctionDef::AttrList* attrs) {
  keep_last_of_equal_names(attrs);
  std::ranges::sort(
      *attrs, {}, [](const auto& attr) -> const auto& { return attr.first; });
}

void put_arg(std::string* out, int number, const ArgDef& arg) {
  const NestedField nested(out, number);
  put_bytes_field(out, kArgName, arg.name);
  if (arg.dtype != DType::invalid)
    put_varint_field(out, kArgType, static_cast<uint64_t>(arg.dtype));
  if (!arg.type_attr.empty()) put_bytes_field(out, kTypeAttr, arg.type_attr);
  if (!arg.number_attr.empty()) put_bytes_field(out, kNumberAttr, arg.number_attr);
  if (!arg.type_list_attr.empty()) put_bytes_field(out, kTypeListAttr, arg.type_list_attr);
  if (arg.is_ref) put_varint_field(out, kIsRef, 1);
}

void put_signature(std::string* out, const FunctionDef& function) {
  const NestedField signature(out, kSignature);
  put_bytes_field(out, kOpName, function.name);
  for (const ArgDef& arg : function.inputs) put_arg(out, kInputArg, arg);
  for (const ArgDef& arg : function.outputs) put_arg(out, kOutputArg, arg);
  for (const AttrDef& attr : function.signature_attrs) {
    const NestedField nested(out, kSignatureAttr);
    put_bytes_field(out, kAttrName, attr.name);
    put_bytes_field(out, kAttrKind, attr.kind);
    if (attr.default_value) put_attr_value(out, kDefault, *attr.default_value);
    if (!attr.minimum) continue;
    put_varint_field(out, kHasMinimum, 1);
    put_varint_field(out, kMinimum, static_cast<uint64_t>(*attr.minimum));
  }
  if (function.is_stateful) put_varint_field(out, kIsStateful, 1);
  for (const std::string& name : function.control_outputs)
    put_bytes_field(out, kControlOutput, name);
}

void put_text_entry(std::string* out, int number, const std::string& key,
                    const std::string& value) {
  const NestedField entry(out, number);
  put_bytes_field(out, kEntryKey, key);
  put_bytes_field(out, kEntryValue, value);
}

}  // namespace

Status read_function(Reader reader, AttrContext& context, FunctionDef* function) {
  Field field;
  while (reader.next(&field)) {
    if (field.type != WireType::bytes) continue;
    const Reader inside = reader.inside(field);
    switch (field.number) {
      case kSignature:
        MR_TRY(read_signature(inside, context, function));
        break;
      case kFunctionNode:
        MR_TRY(read_node(inside, context, &function->nodes.emplace_back())
                   .with(str_cat("function '", function->name, "'")));
        put_in_order(&function->nodes.back().attrs);
        break;
      case kReturn:
        MR_TRY(read_text_entry(inside, &function->returns));
        break;
      case kFunctionAttr:
        MR_TRY(read_attr_entry(inside, context, 0, &function->attrs));
        break;
      case kControlReturn:
        MR_TRY(read_text_entry(inside, &function->control_returns));
        break;
      case kArgAttr:
        MR_TRY(read_arg_attrs(inside, context, &function->arg_attrs));
        break;
      default:
        break;
    }
  }
  MR_TRY(reader.status());
  if (function->name.empty())
    return reader.malformed(reader.remaining(), "a function without a name");
  put_in_order(&function->attrs);
  for (auto& [index, attrs] : function->arg_attrs) put_in_order(&attrs);
  return {};
}

void put_function(std::string* out, int number, const FunctionDef& function) {
  const NestedField nested(out, number);
  put_signature(out, function);
  for (const NodeDef& node : function.nodes) put_node(out, kFunctionNode, node);
  for (const auto& [key, value] : function.returns) put_text_entry(out, kReturn, key, value);
  for (const auto& [name, value] : function.attrs) put_attr_entry(out, kFunctionAttr, name, value);
  for (const auto& [key, value] : function.control_returns)
    put_text_entry(out, kControlReturn, key, value);
  for (const auto& [index, attrs] : function.arg_attrs) {
    const NestedField entry(out, kArgAttr);
    put_varint_field(out, kEntryKey, index);
    const NestedField value(out, kEntryValue);
    for (const auto& [name, attr] : attrs) put_attr_entry(out, kArgAttrsAttr, name, attr);
  }
}

bool same_function(const FunctionDef& a, const FunctionDef& b) {
  std::string left, right;
  put_function(&left, kSignature, a);
  put_function(&right, kSignature, b);
  return left == right;
}

}  // namespace millrace::wire
