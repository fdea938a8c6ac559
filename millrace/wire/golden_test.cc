#include "millrace/wire/testing/golden.h"

#include <doctest/doctest.h>

#include "millrace/wire/error_details.h"
#include "millrace/wire/graph_def.h"
#include "millrace/wire/known_variants.h"
#include "millrace/wire/tensor_codec.h"
#include "millrace/wire/tensor_response.h"

namespace millrace::wire {
namespace {

using testing::GoldenMessage;

// ---- Tensors ------------------------------------------------------------------------------------

// Two elements whose bytes count up, so that each stands where it can be seen.
Tensor two_of(DType dtype) {
  Tensor made = Tensor::allocate(dtype, {2}).value();
  char* data = static_cast<char*>(made.mutable_data());
  for (size_t i = 0; i < made.num_bytes(); ++i)
    data[i] = static_cast<char>(dtype == DType::boolean ? i : i + 1);
  return made;
}

ResourceHandle variable_handle() {
  return {.device = "/job:ps/replica:0/task:0/device:CPU:0",
          .container = "localhost",
          .name = "weights",
          .hash_code = 0x0123456789abcdef,
          .type_name = "N10tensorflow3VarE",
          .dtypes_and_shapes = {{DType::f32, PartialShape{2, 3}}, {DType::i64, {}}}};
}

Variant list_with_a_gap() {
  return {std::string(kTensorListType),
          list_metadata({.unset = {1}, .dtype = DType::i32, .most = 5, .element_shape = {2}}),
          {Tensor::vector<int32_t>({1, 2}), Tensor::vector<int32_t>({3, 4})}};
}

struct NamedValue {
  std::string what;
  Tensor tensor;
};

std::vector<NamedValue> values() {
  std::vector<NamedValue> all;
  for (int number = 1; number <= kMaxDType; ++number) {
    const auto dtype = dtype_from_number(number);
    if (dtype && is_plain(*dtype))
      all.push_back({str_cat("two elements of type ", dtype_name(*dtype)), two_of(*dtype)});
  }
  all.push_back({"a scalar has no shape", Tensor::scalar(1.5)});
  all.push_back({"no element, of shape [0, 3]", Tensor::allocate(DType::f32, {0, 3}).value()});
  all.push_back({"strings: their lengths, then their bytes",
                 Tensor::vector<std::string>({"", "one", std::string("\0\xff", 2)})});
  all.push_back({"a resource handle", Tensor::scalar(variable_handle())});
  all.push_back({"an empty resource handle", Tensor::scalar(ResourceHandle{})});
  all.push_back({"a list of three elements, the second of which is not set",
                 Tensor::scalar(list_with_a_gap())});
  all.push_back({"an optional that holds a string",
                 Tensor::scalar(Variant{std::string(kOptionalType),
                                        std::string("\1", 1),
                                        {Tensor::scalar(std::string("inside"))}})});
  all.push_back({"an optional that holds nothing",
                 Tensor::scalar(Variant{std::string(kOptionalType), std::string("\0", 1), {}})});
  all.push_back({"a variant that nobody here knows",
                 Tensor::scalar(Variant{"acme::Secret", "any bytes", {Tensor::scalar(true)}})});
  return all;
}

TEST_CASE("tensors of every type are written as they always were") {
  std::vector<GoldenMessage> messages;
  for (const auto& [what, tensor] : values())
    messages.push_back({"TensorProto", what, encode_tensor_bytes(tensor)});
  testing::check_golden("testdata/tensors.txt", messages);
}

TEST_CASE("tensors are read from the bytes that we always wrote") {
  const std::vector<NamedValue> expected = values();
  const std::vector<GoldenMessage> messages = testing::read_golden("testdata/tensors.txt");
  REQUIRE(messages.size() == expected.size());
  for (size_t i = 0; i < messages.size(); ++i) {
    CAPTURE(messages[i].what);
    const Result<Tensor> read = decode_tensor_bytes(messages[i].bytes);
    REQUIRE_MESSAGE(read.ok(), read.status().to_string());
    CHECK(read->dtype() == expected[i].tensor.dtype());
    CHECK(read->shape() == expected[i].tensor.shape());
    CHECK(encode_tensor_bytes(*read) == messages[i].bytes);
  }
}

// ---- Graphs -------------------------------------------------------------------------------------

NodeDef node_with_every_kind_of_attr() {
  NodeDef node{.name = "scope/node", .op = "Everything", .device = "/job:worker/task:1"};
  node.inputs = {"a", "b:1", "^c"};
  node.attrs = {
      {"nothing", AttrValue()},
      {"text", "words"},
      {"int", -1},
      {"float", 0.5f},
      {"bool", true},
      {"no", false},
      {"type", DType::f32},
      {"shape", PartialShape{2, -1}},
      {"unknown_rank", PartialShape::unknown()},
      {"scalar_shape", PartialShape::scalar()},
      {"tensor", Tensor::vector<int32_t>({1, 2})},
      {"func", FunctionRef{"scale", {{"T", DType::f64}}}},
      {"empty_list", AttrValue::List<int64_t>{}},
      {"texts", AttrValue::List<std::string>{"a", "b"}},
      {"ints", AttrValue::List<int64_t>{1, 300, -1}},
      {"floats", AttrValue::List<float>{0.5f, 2.0f}},
      {"bools", AttrValue::List<bool>{true, false}},
      {"types", AttrValue::List<DType>{DType::f32, DType::string}},
      {"shapes", AttrValue::List<PartialShape>{{1}, PartialShape::unknown()}},
      {"tensors", AttrValue::List<Tensor>{Tensor::scalar(1.0f)}},
      {"funcs", AttrValue::List<FunctionRef>{{"scale", {}}, {"other", {{"N", 3}}}}},
  };
  return node;
}

FunctionDef function_with_all_parts() {
  FunctionDef function;
  function.name = "scale";
  function.inputs = {{.name = "x", .type_attr = "T"},
                     {.name = "v", .dtype = DType::resource},
                     {.name = "more", .type_attr = "T", .number_attr = "N"},
                     {.name = "any", .type_list_attr = "L"},
                     {.name = "old", .dtype = DType::f32, .is_ref = true}};
  function.outputs = {{.name = "y", .type_attr = "T"}};
  function.signature_attrs = {{.name = "T", .kind = "type"},
                              {.name = "N", .kind = "int", .default_value = 2, .minimum = 1}};
  function.control_outputs = {"done"};
  function.is_stateful = true;
  NodeDef& read = function.nodes.emplace_back();
  read.name = "read";
  read.op = "ReadVariableOp";
  read.inputs = {"v", "^x"};
  read.attrs = {{"dtype", AttrPlaceholder{"T"}}};
  function.returns = {{"y", "read:value:0"}};
  function.control_returns = {{"done", "read"}};
  function.attrs = {{"_noinline", true}};
  function.arg_attrs = {{1, {{"_user_specified_name", "v"}}}};
  return function;
}

GraphDef graph_with_all_parts() {
  GraphDef graph;
  graph.nodes = {node_with_every_kind_of_attr(), {.name = "plain", .op = "NoOp"}};
  graph.versions = {.producer = 1882, .min_consumer = 12, .bad_consumers = {3, 200}};
  graph.functions = {function_with_all_parts()};
  return graph;
}

TEST_CASE("graphs are written as they always were, and read from what was written") {
  testing::check_golden("testdata/graphs.txt",
                        {{"GraphDef", "no node", serialize_graph_def({})},
                         {"GraphDef", "a node with every kind of attribute, a function, versions",
                          serialize_graph_def(graph_with_all_parts())}});
  for (const GoldenMessage& message : testing::read_golden("testdata/graphs.txt")) {
    const Result<GraphDef> read = parse_graph_def(message.bytes);
    REQUIRE_MESSAGE(read.ok(), read.status().to_string());
    CHECK(serialize_graph_def(*read) == message.bytes);
  }
}

// ---- Answers of RecvTensor, details of errors ---------------------------------------------------

TEST_CASE("answers of RecvTensor are written as TensorFlow's fast decoder wants them") {
  const auto bytes = [](const TensorResponse& response) {
    return encode_tensor_response(response).value().join();
  };
  testing::check_golden(
      "testdata/tensor_responses.txt",
      {{"RecvTensorResponse", "a value", bytes({.tensor = Tensor::of<int16_t>({2, 1}, {1, 2})})},
       {"RecvTensorResponse", "a value, its time, and a wish to hear that it came",
        bytes({.tensor = Tensor::scalar(std::string("text")),
               .send_start_micros = 1700000000000000,
               .require_ack = true})},
       {"RecvTensorResponse", "a dead value", bytes({.is_dead = true})}});
  for (const GoldenMessage& message : testing::read_golden("testdata/tensor_responses.txt")) {
    TensorResponseParser parser(message.bytes.size());
    REQUIRE(parser.add(message.bytes).ok());
    const Result<TensorResponse> read = parser.finish();
    REQUIRE_MESSAGE(read.ok(), read.status().to_string());
    CHECK(bytes(*read) == message.bytes);
  }
}

TEST_CASE("what travels beside an error is written as it always was") {
  const Status cause = aborted("stop").with_payload("type.googleapis.com/x.Where", "here");
  testing::check_golden(
      "testdata/error_details.txt",
      {{"tensorflow.distributed_runtime.GrpcPayloadContainer", "a cause with a payload",
        encode_error_details(cause)},
       {"tensorflow.distributed_runtime.GrpcPayloadContainer", "a consequence",
        encode_error_details(aborted("stop").as_consequence())},
       {"tensorflow.distributed_runtime.GrpcPayloadContainer", "a consequence with a payload",
        encode_error_details(cause.as_consequence())}});
  for (const GoldenMessage& message : testing::read_golden("testdata/error_details.txt"))
    CHECK(encode_error_details(with_error_details(aborted("stop"), message.bytes)) ==
          message.bytes);
}

}  // namespace
}  // namespace millrace::wire
