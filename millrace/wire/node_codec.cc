#include "millrace/wire/node_codec.h"

#include <algorithm>

#include "millrace/base/str_cat.h"
#include "millrace/wire/field_numbers.h"

namespace millrace::wire {
namespace {

using enum fields::node_def::Number;

struct Counts {
  size_t inputs = 0;
  size_t attrs = 0;
};

// Only tags and lengths: reading twice is cheaper than letting vectors grow.
Counts count_fields(Reader reader) {
  Counts counts;
  Field field;
  while (reader.next(&field)) {
    counts.inputs += field.number == kInput;
    counts.attrs += field.number == kNodeAttr;
  }
  return counts;
}

}  // namespace

Status read_node(Reader reader, AttrContext& context, NodeDef* node) {
  const Counts counts = count_fields(reader);
  node->inputs.reserve(counts.inputs);
  node->attrs.reserve(counts.attrs);
  Field field;
  while (reader.next(&field)) {
    if (field.type != WireType::bytes) continue;
    switch (field.number) {
      case kNodeName:
        node->name.assign(field.bytes);
        break;
      case kOp:
        node->op.assign(field.bytes);
        break;
      case kInput:
        node->inputs.emplace_back(field.bytes);
        break;
      case kDevice:
        node->device.assign(field.bytes);
        break;
      case kNodeAttr:
        if (Status status = read_attr_entry(reader.inside(field), context, 0, &node->attrs);
            !status.ok())
          return status.with(str_cat("node '", node->name, "'"));
        break;
      default:
        break;
    }
  }
  keep_last_of_equal_names(&node->attrs);
  return reader.status();
}

void put_node(std::string* out, int number, const NodeDef& node) {
  size_t expected = node.name.size() + node.op.size() + node.device.size() + 6;
  for (const std::string& input : node.inputs) expected += input.size() + 2;
  for (const auto& [name, value] : node.attrs)
    expected += name.size() + expected_attr_bytes(value) + 8;
  const NestedField nested(out, number, expected);
  put_bytes_field(out, kNodeName, node.name);
  put_bytes_field(out, kOp, node.op);
  for (const std::string& input : node.inputs) put_bytes_field(out, kInput, input);
  if (!node.device.empty()) put_bytes_field(out, kDevice, node.device);
  for (const auto& [name, value] : node.attrs) put_attr_entry(out, kNodeAttr, name, value);
}

const AttrValue* NodeDef::attr(std::string_view attr_name) const {
  const auto found = std::find_if(attrs.begin(), attrs.end(),
                                  [&](const auto& attr) { return attr.first == attr_name; });
  return found == attrs.end() ? nullptr : &found->second;
}

}  // namespace millrace::wire
