#include "millrace/wire/graph_def.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>

#include "millrace/base/str_cat.h"
#include "millrace/format/wire_format.h"
#include "millrace/wire/attr_codec.h"
#include "millrace/wire/field_numbers.h"
#include "millrace/wire/function_codec.h"
#include "millrace/wire/function_gradient.h"
#include "millrace/wire/node_codec.h"

namespace millrace::wire {
namespace {

using enum fields::graph_def::Number;
using enum fields::version_def::Number;
using enum fields::function_def_library::Number;

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
  while (sampled < kSample && reader.next(&field)) sampled += field.is(kGraphNode, WireType::bytes);
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

struct GradientDef {
  std::string_view function, gradient;
};

Status read_gradient(Reader reader, GradientDef* read) {
  using enum fields::gradient_def::Number;
  Field field;
  while (reader.next(&field)) {
    if (field.is(kFunctionName, WireType::bytes)) read->function = field.bytes;
    if (field.is(kGradientFunction, WireType::bytes)) read->gradient = field.bytes;
  }
  return reader.status();
}

// A gradient that the library declares becomes an attribute of the function, from where passes that
// have the function in hand take it. What was an attribute before keeps its place.
void declare_gradients(std::span<const GradientDef> gradients,
                       std::vector<FunctionDef>* functions) {
  if (gradients.empty()) return;
  std::map<std::string_view, std::string_view> declared;
  for (const GradientDef& each : gradients) declared[each.function] = each.gradient;
  for (FunctionDef& function : *functions) {
    const auto found = declared.find(function.name);
    if (found == declared.end()) continue;
    const auto at = std::ranges::lower_bound(function.attrs, kGradientAttr, {},
                                             &std::pair<std::string, AttrValue>::first);
    const bool is_there = at != function.attrs.end() && at->first == kGradientAttr;
    if (!is_there) {
      function.attrs.emplace(at, std::string(kGradientAttr),
                             FunctionRef{std::string(found->second), {}});
    }
  }
}

// So that TensorFlow is told of it, too.
void put_gradient(std::string* out, const FunctionDef& function) {
  for (const auto& [name, value] : function.attrs) {
    const FunctionRef* const gradient = value.as_func();
    if (name != kGradientAttr || gradient == nullptr) continue;
    const NestedField declared(out, kGradient);
    put_bytes_field(out, fields::gradient_def::kFunctionName, function.name);
    put_bytes_field(out, fields::gradient_def::kGradientFunction, gradient->name);
  }
}

Status read_library(Reader reader, AttrContext& context, std::vector<FunctionDef>* functions) {
  std::vector<GradientDef> gradients;
  Field field;
  while (reader.next(&field)) {
    if (field.is(kFunction, WireType::bytes)) {
      MR_TRY(read_function(reader.inside(field), context, &functions->emplace_back()));
    } else if (field.is(kGradient, WireType::bytes)) {
      MR_TRY(read_gradient(reader.inside(field), &gradients.emplace_back()));
    }
  }
  declare_gradients(gradients, functions);
  return reader.status();
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

Result<GraphDef> parse_graph_def(std::string_view bytes) {
  const Reader start(bytes);
  GraphDef graph;
  AttrContext context{DecodeLimits()};
  Field field;

  graph.nodes.reserve(estimate_nodes(start));
  prefer_huge_pages(graph.nodes.data(), graph.nodes.capacity() * sizeof(NodeDef));

  Reader reader = start;
  while (reader.next(&field)) {
    if (field.is(kGraphNode, WireType::bytes)) {
      MR_TRY(read_node(reader.inside(field), context, &graph.nodes.emplace_back()));
    } else if (field.is(kLibrary, WireType::bytes)) {
      MR_TRY(read_library(reader.inside(field), context, &graph.functions));
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
    put_node(out, kGraphNode, graph.nodes[i]);
  }
  if (!graph.functions.empty()) {
    const NestedField library(out, kLibrary);
    for (const FunctionDef& function : graph.functions) put_function(out, kFunction, function);
    for (const FunctionDef& function : graph.functions) put_gradient(out, function);
  }
  put_versions(out, graph.versions);
}

std::string serialize_graph_def(const GraphDef& graph) {
  std::string out;
  serialize_graph_def(graph, &out);
  return out;
}

}  // namespace millrace::wire
