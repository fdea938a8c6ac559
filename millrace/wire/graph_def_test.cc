#include "millrace/wire/graph_def.h"

#include <string>

#include <doctest/doctest.h>
#include <google/protobuf/text_format.h>

#include "millrace/base/str_cat.h"
#include "millrace/format/wire_format.h"
#include "millrace/wire/function_gradient.h"
#include "millrace/wire/graph.pb.h"
#include "millrace/wire/testing/hex.h"

namespace millrace::wire {
namespace {

// From protobuf's text form.
std::string bytes_of(const std::string& text) {
  tensorflow::GraphDef message;
  REQUIRE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message.SerializeAsString();
}

GraphDef parse_graph(const std::string& text) { return parse_graph_def(bytes_of(text)).value(); }

constexpr char kSmall[] = R"(
  node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
  node {
    name: "y" op: "AddN" input: "x" input: "x:1" input: "^init" device: "/job:ps"
    attr { key: "N" value { i: 2 } }
    attr { key: "_class" value { list { s: "loc:@x" } } }
    attr { key: "v" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } } int_val: 5 } } }
    experimental_debug_info { original_node_names: "y" }
  }
  library {
    function { signature { name: "f" input_arg { name: "a" type: DT_FLOAT } } ret { key: "b" value: "a" } }
    gradient { function_name: "f" gradient_func: "g" }
  }
  versions { producer: 2313 min_consumer: 12 bad_consumers: 5 bad_consumers: 6 }
  version: 3
)";

TEST_CASE("a graph is read with all that matters in it") {
  const GraphDef graph = parse_graph(kSmall);
  REQUIRE(graph.nodes.size() == 2);
  CHECK(graph.nodes[0].name == "x");
  CHECK(graph.nodes[0].op == "Placeholder");
  CHECK(*graph.nodes[0].attr("dtype") == AttrValue(DType::f32));
  CHECK(graph.nodes[0].attr("shape") == nullptr);
  const NodeDef& y = graph.nodes[1];
  CHECK(y.inputs == std::vector<std::string>{"x", "x:1", "^init"});
  CHECK(y.device == "/job:ps");
  CHECK(*y.attr("N") == AttrValue(2));
  CHECK(*y.attr("_class") == AttrValue(std::vector<std::string>{"loc:@x"}));
  CHECK(*y.attr("v") == AttrValue(Tensor::vector<int32_t>({5, 5})));
  CHECK(graph.versions.producer == 2313);
  CHECK(graph.versions.min_consumer == 12);
  CHECK(graph.versions.bad_consumers == std::vector<int>{5, 6});
  REQUIRE(graph.functions.size() == 1);
  CHECK(graph.functions[0].name == "f");
  CHECK(graph.functions[0].returns.at("b") == "a");
  REQUIRE(graph.functions[0].attrs.size() == 1);
  CHECK(graph.functions[0].attrs[0].first == kGradientAttr);
  CHECK(graph.functions[0].attrs[0].second.as_func()->name == "g");
}

TEST_CASE("what is written is read back the same, by us and by protobuf") {
  const GraphDef graph = parse_graph(kSmall);
  const std::string bytes = serialize_graph_def(graph);
  CHECK(serialize_graph_def(parse_graph_def(bytes).value()) == bytes);
  tensorflow::GraphDef message;
  REQUIRE(message.ParseFromString(bytes));
  CHECK(message.node(1).attr().at("N").i() == 2);
  CHECK(message.node(1).input_size() == 3);
  CHECK(message.library().function(0).signature().name() == "f");
  REQUIRE(message.library().gradient_size() == 1);
  CHECK(message.library().gradient(0).function_name() == "f");
  CHECK(message.library().gradient(0).gradient_func() == "g");
  CHECK(message.versions().bad_consumers_size() == 2);
}

TEST_CASE("an empty graph is empty bytes and back") {
  const GraphDef graph = parse_graph_def("").value();
  CHECK(graph.nodes.empty());
  CHECK(parse_graph_def(serialize_graph_def(graph)).value().nodes.empty());
}

TEST_CASE("large constants are written with the right lengths") {
  GraphDef graph;
  graph.nodes.push_back(
      {"big", "Const", "", {}, {{"value", testing::counting(100000)}, {"dtype", DType::f32}}});
  graph.nodes.push_back(
      {"list", "X", "", {}, {{"l", std::vector<Tensor>{testing::counting(20000)}}}});
  const GraphDef back = parse_graph_def(serialize_graph_def(graph)).value();
  CHECK(*back.nodes[0].attr("value")->as_tensor() == testing::counting(100000));
  CHECK(back.nodes[1].attr("l")->as_list_of<Tensor>()->at(0) == testing::counting(20000));
}

TEST_CASE("of several attributes with one name the last wins") {
  // Protobuf's own map can't write that: node 1 { name "n", attr {"k": 1}, attr {"j": 3}, attr
  // {"k": 2} }
  std::string bytes;
  {
    const NestedField node(&bytes, 1);
    put_bytes_field(&bytes, 1, "n");
    for (const auto& [key, value] : {std::pair("k", 1), std::pair("j", 3), std::pair("k", 2)}) {
      const NestedField entry(&bytes, 5);
      put_bytes_field(&bytes, 1, key);
      const NestedField attr(&bytes, 2);
      put_varint_field(&bytes, 3, static_cast<uint64_t>(value));
    }
  }
  const GraphDef graph = parse_graph_def(bytes).value();
  CHECK(graph.nodes[0].attrs.size() == 2);
  CHECK(*graph.nodes[0].attr("k") == AttrValue(2));
}

TEST_CASE("a remark that can't be read is left out, an attribute of the op is not") {
  constexpr char kNumbered[] = "value { list { shape { dim { size: -3 } } } }";
  constexpr char kNewType[] = "value { type: 77 }";
  for (const std::string value : {kNumbered, kNewType}) {
    const auto node = [&](std::string name) {
      return bytes_of(str_cat("node { name: 'x' op: 'Relu' attr { key: '", name, "' ", value,
                              " } attr { key: 'T' value { type: DT_FLOAT } } }"));
    };
    const auto read = parse_graph_def(node("_input_shapes"));
    REQUIRE_MESSAGE(read.ok(), read.status().to_string());
    CHECK(read->nodes[0].attr("_input_shapes") == nullptr);
    CHECK(*read->nodes[0].attr("T") == AttrValue(DType::f32));
    CHECK(parse_graph_def(node("shapes")).status().code() == Code::invalid_argument);
    CHECK(parse_graph_def(node("_class")).status().code() == Code::invalid_argument);
  }
}

TEST_CASE("a node with very many equal attributes is read in reasonable time") {
  std::string bytes;
  {
    const NestedField node(&bytes, 1);
    for (int i = 0; i < 50000; ++i) {
      const NestedField entry(&bytes, 5);
      put_bytes_field(&bytes, 1, "k" + std::to_string(i % 25000));
      const NestedField attr(&bytes, 2);
      put_varint_field(&bytes, 3, static_cast<uint64_t>(i));
    }
  }
  const GraphDef graph = parse_graph_def(bytes).value();
  CHECK(graph.nodes[0].attrs.size() == 25000);
  CHECK(*graph.nodes[0].attr("k7") == AttrValue(25007));
}

TEST_CASE("nodes share equal values of attributes") {
  const GraphDef graph = parse_graph(R"(
    node { name: "a" attr { key: "shape" value { shape { dim { size: 2 } } } } }
    node { name: "b" attr { key: "shape" value { shape { dim { size: 2 } } } } }
    node { name: "c" attr { key: "shape" value { shape { dim { size: 3 } } } } })");
  const PartialShape* const shape = graph.nodes[0].attr("shape")->as_shape();
  CHECK(graph.nodes[1].attr("shape")->as_shape() == shape);
  CHECK(*graph.nodes[2].attr("shape")->as_shape() == PartialShape{3});
}

TEST_CASE("malformed graphs are refused with the place and the names around it") {
  CHECK(parse_graph_def("\x0a\x7f").status().message() ==
        "malformed message at byte 2: a length that passes the end of its message");
  // node { name: "n" attr { key: "T" value { type: 99 } } }
  const std::string bytes = testing::from_hex("0a 0c 0a 01 6e 2a 07 0a 01 54 12 02 30 63");
  CHECK(parse_graph_def(bytes).status().message() ==
        "node 'n': attribute 'T': type number 99 is not known");
  // The value is cut: tag 30 without its number.
  const std::string cut = testing::from_hex("0a 0b 0a 01 6e 2a 06 0a 01 54 12 01 30");
  CHECK(parse_graph_def(cut).status().message() ==
        "node 'n': attribute 'T': malformed message at byte 13: it ends inside a number");
  CHECK_FALSE(parse_graph_def(bytes_of("library { function { } }")).ok());
}

TEST_CASE("a known field of an unexpected type is skipped like an unknown one") {
  // node { name as varint, then name "n" }
  CHECK(parse_graph_def(testing::from_hex("0a 05 08 07 0a 01 6e")).value().nodes[0].name == "n");
}

TEST_CASE("constants of all nodes share one limit") {
  std::string bytes;
  for (int i = 0; i < 3; ++i) {
    bytes += bytes_of(
        "node { name: 'c' op: 'Const' attr { key: 'value' value { tensor { "
        "dtype: DT_UINT8 tensor_shape { dim { size: " +
        std::to_string((1 << 30) - i) + " } } } } } }");
  }
  CHECK(parse_graph_def(bytes).status().code() == Code::resource_exhausted);
}

}  // namespace
}  // namespace millrace::wire
