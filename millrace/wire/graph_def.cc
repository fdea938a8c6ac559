#include "millrace/wire/graph_def.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>

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

// What `total` comes to if the first `sampled` of it came to `measured`, and a little more: too
// much costs address space only, too little a reallocation.
size_t extrapolate(size_t total, size_t sampled, size_t measured) {
  if (sampled == 0) return 0;
  return static_cast<size_t>(1.1 * static_cast<double>(total) / static_cast<double>(sampled) *
                             static_cast<double>(measured)) +
         1;
}
constexpr size_t kSample = 1024;

size_t estimate_nodes(Reader reader) {
  const size_t total = reader.remaining().size();
  size_t sampled = 0;
  Field field;
  while (sampled < kSample && reader.next(&field)) sampled += field.is(kNode, WireType::bytes);
  if (reader.at_end() || !reader.ok()) return sampled;
  return extrapolate(total, total - reader.remaining().size(), sampled);
}

// A page fault for each 4 KiB of a vector of nodes takes longer than filling it.
void prefer_huge_pages(void* data, size_t size) {
  constexpr size_t kHugePage = size_t{2} << 20;
  const auto begin = (reinterpret_cast<uintptr_t>(data) + kHugePage - 1) / kHugePage * kHugePage;
  const auto end = (reinterpret_cast<uintptr_t>(data) + size) / kHugePage * kHugePage;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

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

Status read_node(Reader reader, AttrContext& context, NodeDef* node) {
  const Counts counts = count_fields(reader);
  node->inputs.reserve(counts.inputs);
  node->attrs.reserve(counts.attrs);
  Field field;
  while (reader.next(&field)) {
    if (field.type != WireType::bytes) continue;
    switch (field.number) {
      case kName:
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
      case kAttr:
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
  if (function->name.empty())
    return reader.malformed(reader.remaining(), "a function without a name");
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
  for (const auto& [name, value] : node.attrs)
    expected += name.size() + expected_attr_bytes(value) + 8;
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
  for (const int version : versions.bad_consumers)
    put_varint(out, static_cast<uint64_t>(int64_t{version}));
}

}  // namespace

const AttrValue* NodeDef::attr(std::string_view attr_name) const {
  const auto found = std::find_if(attrs.begin(), attrs.end(),
                                  [&](const auto& attr) { return attr.first == attr_name; });
  return found == attrs.end() ? nullptr : &found->second;
}

Result<GraphDef> parse_graph_def(std::string_view bytes) {
  const Reader start(bytes);
  GraphDef graph;
  AttrContext context{DecodeLimits()};
  Field field;

  graph.nodes.reserve(estimate_nodes(start));
  prefer_huge_pages(graph.nodes.data(), graph.nodes.capacity() * sizeof(NodeDef));

  Reader reader = start;
  while (reader.next(&field)) {
    if (field.is(kNode, WireType::bytes)) {
      MR_TRY(read_node(reader.inside(field), context, &graph.nodes.emplace_back()));
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
  const size_t start = out->size();
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (i == kSample)
      out->reserve(start + extrapolate(graph.nodes.size(), kSample, out->size() - start));
    put_node(out, graph.nodes[i]);
  }
  if (!graph.functions.empty()) {
    size_t expected = 0;
    for (const FunctionDef& function : graph.functions) expected += function.bytes.size() + 4;
    const NestedField library(out, kLibrary, expected);
    for (const FunctionDef& function : graph.functions)
      put_bytes_field(out, kFunction, function.bytes);
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
  AttrContext context{DecodeLimits()};
  MR_TRY(read_node(Reader(bytes), context, &node));
  return node;
}

Result<GraphDef> from_message(const tensorflow::GraphDef& message) {
  return parse_graph_def(message.SerializeAsString());
}

void to_message(const GraphDef& graph, tensorflow::GraphDef* message) {
  message->ParseFromString(serialize_graph_def(graph));
}

}  // namespace millrace::wire
