#include "millrace/wire/function_def.h"

#include <doctest/doctest.h>
#include <google/protobuf/text_format.h>

#include "millrace/wire/graph.pb.h"
#include "millrace/wire/graph_def.h"

namespace millrace::wire {
namespace {

constexpr char kScale[] = R"(
  signature {
    name: "scale" is_stateful: true control_output: "done"
    input_arg { name: "x" type_attr: "T" } input_arg { name: "v" type: DT_RESOURCE }
    input_arg { name: "more" type_attr: "T" number_attr: "N" }
    output_arg { name: "y" type_attr: "T" }
    attr { name: "T" type: "type" }
    attr { name: "N" type: "int" default_value { i: 2 } has_minimum: true minimum: 1 }
  }
  node_def {
    name: "read" op: "ReadVariableOp" input: "v" input: "^x"
    attr { key: "dtype" value { placeholder: "T" } }
    attr { key: "_hint" value { s: "h" } }
  }
  node_def { name: "mul" op: "Mul" input: "x" input: "read:value:0" }
  ret { key: "y" value: "mul:z:0" }
  control_ret { key: "done" value: "read" }
  attr { key: "_noinline" value { b: true } }
  arg_attr { key: 1 value { attr { key: "_user" value { s: "v" } } } }
)";

std::string library_of(const std::string& function) {
  tensorflow::GraphDef message;
  REQUIRE(google::protobuf::TextFormat::ParseFromString("library { function { " + function + " } }",
                                                        &message));
  return message.SerializeAsString();
}

FunctionDef parse_function(const std::string& function) {
  return parse_graph_def(library_of(function)).value().functions.at(0);
}

TEST_CASE("a function is read with its signature, its body and what it returns") {
  const FunctionDef scale = parse_function(kScale);
  CHECK(scale.name == "scale");
  CHECK(scale.is_stateful);
  REQUIRE(scale.inputs.size() == 3);
  CHECK(scale.inputs[0].type_attr == "T");
  CHECK(scale.inputs[1].dtype == DType::resource);
  CHECK(scale.inputs[2].number_attr == "N");
  REQUIRE(scale.signature_attrs.size() == 2);
  CHECK(scale.signature_attrs[0].kind == "type");
  CHECK(*scale.signature_attrs[1].default_value == AttrValue(2));
  CHECK(scale.signature_attrs[1].minimum == 1);
  REQUIRE(scale.nodes.size() == 2);
  CHECK(scale.nodes[0].inputs == std::vector<std::string>{"v", "^x"});
  CHECK(*scale.nodes[0].attr("dtype") == AttrValue(AttrPlaceholder{"T"}));
  CHECK(scale.nodes[0].attrs[0].first == "_hint");
  CHECK(scale.returns.at("y") == "mul:z:0");
  CHECK(scale.control_returns.at("done") == "read");
  CHECK(scale.attrs.at(0).first == "_noinline");
  CHECK(scale.arg_attrs.at(1).at(0).second == AttrValue("v"));
}

TEST_CASE("a function that is written is read back the same, by us and by protobuf") {
  GraphDef graph;
  graph.functions = {parse_function(kScale)};
  const std::string bytes = serialize_graph_def(graph);
  const GraphDef again = parse_graph_def(bytes).value();
  CHECK(serialize_graph_def(again) == bytes);
  CHECK(same_function(again.functions[0], graph.functions[0]));
  tensorflow::GraphDef message;
  REQUIRE(message.ParseFromString(bytes));
  const tensorflow::FunctionDef& function = message.library().function(0);
  CHECK(function.signature().attr(1).minimum() == 1);
  CHECK(function.control_ret().at("done") == "read");
  CHECK(function.arg_attr().at(1).attr().at("_user").s() == "v");
}

TEST_CASE("functions are the same whatever the order of their maps, and not if anything differs") {
  const std::string one = R"(signature { name: "f" } node_def { name: "a" op: "Const"
      attr { key: "p" value { f: nan } } attr { key: "q" value { func { name: "g"
      attr { key: "x" value { i: 1 } } attr { key: "y" value { i: 2 } } } } } })";
  const std::string other = R"(signature { name: "f" } node_def { name: "a" op: "Const"
      attr { key: "q" value { func { name: "g" attr { key: "y" value { i: 2 } }
      attr { key: "x" value { i: 1 } } } } } attr { key: "p" value { f: nan } } })";
  CHECK(same_function(parse_function(one), parse_function(other)));
  CHECK_FALSE(same_function(parse_function(one), parse_function(R"(signature { name: "f" })")));
}

TEST_CASE("an argument of a type that nobody knows is an error that names it") {
  std::string bytes =
      library_of(R"(signature { name: "f" input_arg { name: "x" type: DT_INT32 } })");
  bytes.back() = 99;  // the number of the type comes last
  const Status status = parse_graph_def(bytes).status();
  CHECK(status.message().find("argument 'x': type number 99") != std::string::npos);
}

}  // namespace
}  // namespace millrace::wire
