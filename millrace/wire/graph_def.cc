#include "millrace/wire/graph_def.h"

#include <algorithm>

#include "millrace/base/str_cat.h"
#include "millrace/wire/attr_codec.h"
#include "millrace/wire/graph.pb.h"
#include "millrace/wire/wire_format.h"

namespace millrace::wire {
namespace {

enum GraphField : uint32_t { kNode = 1, kLibrary = 2, kVersion = 3, kVersions = 4 };
enum NodeField : uint32_t { kName = 1, kOp = 2, kInput = 3, kDevice = 4, kAttr = 5 };
enum VersionField : uint32_t { kProducer = 1, kMinConsumer = 2, kBadConsumers = 3 };
// FunctionDefLibrary, FunctionDef, OpDef.
constexpr int kFunction = 1;
constexpr int kSignature = 1;
constexpr int kOpName = 1;

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
    counts.attrs += field.number == kAttr;
  }
  return counts;
}

Status read_node(Reader reader, Budget& budget, NodeDef* node) {
  const Counts counts = count_fields(reader);
  node->inputs.reserve(counts.inputs);
  node->attrs.reserve(counts.attrs);
  Field field;
  while (reader.next(&field)) {
    if (field.type != WireType::bytes) continue;
    switch (field.number) {
      case kName: node->name.assign(field.bytes); break;
      case kOp: node->op.assign(field.bytes); break;
      case kInput: node->inputs.emplace_back(field.bytes); break;
      case kDevice: node->device.assign(field.bytes); break;
      case kAttr:
        if (Status status = read_attr_entry(reader.inside(field), budget, 0, &node->attrs); !status.ok())
          return status.with(str_cat("node '", node->name, "'"));
        break;
      default: break;
    }
  }
  keep_last_of_equal_names(&node->attrs);
  return reader.status();
}

Status read_versions(Reader reader, VersionDef* versions) {
  Field field;
  while (reader.next(&field)) {
    if (field.is(kProducer, WireType::varint)) {
      versions->producer = field.as_int32();
    } else if (field.is(kMinConsumer, WireType::varint)) {
      versions->min_consumer = field.as_int32();
    } else if (field.is(kBadConsumers, WireType::varint)) {
      versions->bad_consumers.push_back(field.as_int32());
    } else if (field.is(kBadConsumers, WireType::bytes)) {
      Reader packed = reader.inside(field);
      while (!packed.at_end()) {
        if (!packed.next_varint(&field.value)) return packed.status();
        versions->bad_consumers.push_back(field.as_int32());
      }
    }
  }
  return reader.status();
}

// The bytes of the last field `number`, empty if there is none.
Status find_bytes(Reader reader, int number, Reader* found) {
  Field field;
  while (reader.next(&field)) {
    if (field.is(static_cast<uint32_t>(number), WireType::bytes)) *found = reader.inside(field);
  }
  return reader.status();
}

Status read_function(Reader reader, FunctionDef* function) {
  Reader signature("");
  Reader name("");
  MR_TRY(find_bytes(reader, kSignature, &signature));
  MR_TRY(find_bytes(signature, kOpName, &name));
  function->name = name.remaining();
  function->bytes = reader.remaining();
  if (function->name.empty()) return reader.malformed(reader.remaining(), "a function without a name");
  return {};
}

Status read_library(Reader reader, std::vector<FunctionDef>* functions) {
  Field field;
  while (reader.next(&field)) {
    if (!field.is(kFunction, WireType::bytes)) continue;
    MR_TRY(read_function(reader.inside(field), &functions->emplace_back()));
  }
  return reader.status();
}

void put_node(std::string* out, const NodeDef& node) {
  size_t expected = node.name.size() + node.op.size() + node.device.size() + 6;
  for (const std::string& input : node.inputs) expected += input.size() + 2;
  for (const auto& [name, value] : node.attrs) expected += name.size() + expected_attr_bytes(value) + 8;
  const NestedField nested(out, kNode, expected);
  put_bytes_field(out, kName, node.name);
  put_bytes_field(out, kOp, node.op);
  for (const std::string& input : node.inputs) put_bytes_field(out, kInput, input);
  if (!node.device.empty()) put_bytes_field(out, kDevice, node.device);
  for (const auto& [name, value] : node.attrs) put_attr_entry(out, kAttr, name, value);
}

void put_version(std::string* out, int number, int version) {
  // Negative numbers are extended to 64 bits, as protobuf does.
  if (version != 0) put_varint_field(out, number, static_cast<uint64_t>(int64_t{version}));
}

void put_versions(std::string* out, const VersionDef& versions) {
  const NestedField nested(out, kVersions);
  put_version(out, kProducer, versions.producer);
  put_version(out, kMinConsumer, versions.min_consumer);
  if (versions.bad_consumers.empty()) return;
  const NestedField packed(out, kBadConsumers);
  for (const int version : versions.bad_consumers) put_varint(out, static_cast<uint64_t>(int64_t{version}));
}

}  // namespace

const AttrValue* NodeDef::attr(std::string_view attr_name) const {
  const auto found = std::find_if(attrs.begin(), attrs.end(), [&](const auto& attr) { return attr.first == attr_name; });
  return found == attrs.end() ? nullptr : &found->second;
}

Result<GraphDef> parse_graph_def(std::string_view bytes) {
  const Reader start(bytes);
  GraphDef graph;
  Budget budget{DecodeLimits()};
  Field field;

  size_t num_nodes = 0;
  for (Reader reader = start; reader.next(&field);) num_nodes += field.is(kNode, WireType::bytes);
  graph.nodes.reserve(num_nodes);

  Reader reader = start;
  while (reader.next(&field)) {
    if (field.is(kNode, WireType::bytes)) {
      MR_TRY(read_node(reader.inside(field), budget, &graph.nodes.emplace_back()));
    } else if (field.is(kLibrary, WireType::bytes)) {
      MR_TRY(read_library(reader.inside(field), &graph.functions));
    } else if (field.is(kVersions, WireType::bytes)) {
      MR_TRY(read_versions(reader.inside(field), &graph.versions));
    }
  }
  MR_TRY(reader.status());
  return graph;
}

void serialize_graph_def(const GraphDef& graph, std::string* out) {
  for (const NodeDef& node : graph.nodes) put_node(out, node);
  if (!graph.functions.empty()) {
    size_t expected = 0;
    for (const FunctionDef& function : graph.functions) expected += function.bytes.size() + 4;
    const NestedField library(out, kLibrary, expected);
    for (const FunctionDef& function : graph.functions) put_bytes_field(out, kFunction, function.bytes);
  }
  put_versions(out, graph.versions);
}

std::string serialize_graph_def(const GraphDef& graph) {
  std::string out;
  serialize_graph_def(graph, &out);
  return out;
}

Result<NodeDef> parse_node_def(std::string_view bytes) {
  NodeDef node;
  Budget budget{DecodeLimits()};
  MR_TRY(read_node(Reader(bytes), budget, &node));
  return node;
}

Result<GraphDef> from_message(const tensorflow::GraphDef& message) {
  return parse_graph_def(message.SerializeAsString());
}

void to_message(const GraphDef& graph, tensorflow::GraphDef* message) {
  message->ParseFromString(serialize_graph_def(graph));
}

}  // namespace millrace::wire
