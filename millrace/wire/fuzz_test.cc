// Hostile input: every decoder answers every truncation and many mutations of valid messages with a
// value or a status. Under the sanitizers this also shows that nothing is read out of bounds.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/wire/error_details.h"
#include "millrace/wire/graph_def.h"
#include "millrace/wire/master.pb.h"
#include "millrace/wire/tensor_pieces.h"
#include "millrace/wire/tensor_response.h"
#include "millrace/wire/testing/hex.h"

namespace millrace::wire {
namespace {

constexpr DecodeLimits kSmallLimits{.max_expanded_bytes = 1 << 20};

Tensor sample_tensor(int which) {
  switch (which) {
    case 0:
      return testing::counting(40);
    case 1:
      return Tensor::scalar<int64_t>(-1);
    case 2:
      return Tensor::vector<bool>({true, false, true});
    case 3:
      return Tensor::vector<std::string>({"abc", "", std::string(200, 'x')});
    case 4:
      return Tensor::scalar(
          ResourceHandle{"d", "c", "n", 9, "t", {{DType::f32, PartialShape{2, -1}}}});
    default:
      return Tensor::scalar(
          Variant{"type", "meta", {Tensor::scalar(1), Tensor::vector<std::string>({"y"})}});
  }
}
constexpr int kSampleTensors = 6;

std::string typed_list_tensor() {
  return testing::from_hex("08 03 12 06 12 02 08 02 12 00 3a 03 01 02 03 38 07");
}

std::string sample_graph() {
  GraphDef graph;
  graph.versions = {2313, 12, {7}};
  FunctionDef function;
  function.name = "f";
  function.inputs = {{.name = "x", .dtype = DType::f32}, {.name = "y", .type_attr = "T"}};
  function.outputs = {{.name = "z", .dtype = DType::f32, .is_ref = true}};
  function.signature_attrs = {{"T", "type", DType::i32, 1}};
  function.nodes = {{"n", "Op", "", {"x", "y:1", "m:out:0", "^n"}, {{"a", AttrPlaceholder{"T"}}}}};
  function.returns = {{"z", "n:out:0"}};
  function.control_returns = {{"done", "n"}};
  function.attrs = {{"_noinline", true}};
  function.arg_attrs = {{0, {{"hint", "text"}}}};
  graph.functions.push_back(function);
  NodeDef node{"node", "Op", "/job:ps", {"a", "b:1", "^c"}, {}};
  node.attrs = {{"s", "text"},
                {"i", -1},
                {"shape", PartialShape{2, kUnknownDim}},
                {"func", FunctionRef{"f", {{"T", DType::f32}}}},
                {"types", std::vector<DType>{DType::f32, DType::i64}},
                {"floats", std::vector<float>{1, 2}},
                {"flags", std::vector<bool>{true}},
                {"shapes", std::vector<PartialShape>{PartialShape{3}}}};
  for (int i = 0; i < kSampleTensors; ++i)
    node.attrs.emplace_back("t" + std::to_string(i), sample_tensor(i));
  graph.nodes = {node, NodeDef{"last", "NoOp", "", {}, {}}};
  return serialize_graph_def(graph);
}

std::string sample_request() {
  Pieces message;
  for (int i = 0; i < kSampleTensors; ++i)
    append_named_tensor(message, 2, "x:" + std::to_string(i), sample_tensor(i));
  tensorflow::RunStepRequest request;
  request.set_session_handle("handle");
  request.add_fetch("y:0");
  message.append(request.SerializeAsString());
  return message.join();
}

template <class Decode>
void try_truncations(const std::string& valid, Decode decode) {
  for (size_t size = 0; size <= valid.size(); ++size) decode(valid.substr(0, size));
}

template <class Decode>
void try_mutations(const std::string& valid, int rounds, Decode decode) {
  std::mt19937 random(12345);
  const auto below = [&](size_t bound) {
    return std::uniform_int_distribution<size_t>(0, bound - 1)(random);
  };
  constexpr unsigned char kNasty[] = {0x00, 0x01, 0x7f, 0x80, 0xff, 0x0a, 0x12, 0x22};
  for (int round = 0; round < rounds; ++round) {
    std::string bytes = valid;
    for (size_t edits = 1 + below(4); edits > 0 && !bytes.empty(); --edits) {
      const size_t at = below(bytes.size());
      switch (below(4)) {
        case 0:
          bytes[at] = static_cast<char>(kNasty[below(sizeof(kNasty))]);
          break;
        case 1:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
          break;
        case 2:
          bytes.erase(at, 1 + below(3));
          break;
        default:
          bytes.insert(at, 1 + below(3), static_cast<char>(kNasty[below(sizeof(kNasty))]));
          break;
      }
    }
    decode(bytes);
  }
}

// Everything that decoding gives back must be usable, not only there.
void use(const Tensor& tensor) { CHECK(tensor.to_string().size() > 0); }

void decode_as_tensor(const std::string& bytes) {
  const Result<Tensor> tensor = decode_tensor_bytes(bytes, kSmallLimits);
  if (tensor.ok()) use(*tensor);
}

void decode_as_graph(const std::string& bytes) {
  const Result<GraphDef> graph = parse_graph_def(bytes);
  if (graph.ok()) CHECK(parse_graph_def(serialize_graph_def(*graph)).ok());
}

Result<TensorResponse> decode_response(const std::string& bytes, size_t chunk_size) {
  TensorResponseParser parser(bytes.size(), kSmallLimits);
  for (size_t at = 0; at < bytes.size(); at += chunk_size)
    MR_TRY(parser.add(bytes.substr(at, chunk_size)));
  return parser.finish();
}

void decode_as_response(const std::string& bytes) {
  const Result<TensorResponse> whole = decode_response(bytes, bytes.size() + 1);
  const Result<TensorResponse> bytewise = decode_response(bytes, 1);
  CHECK(whole.status() == bytewise.status());
  if (whole.ok()) use(whole->tensor);
}

void decode_as_request(const std::string& bytes) {
  TensorExtractor extractor(2, TensorField::named, bytes.size(), kSmallLimits);
  if (!extractor.add(bytes).ok()) return;
  const auto extracted = extractor.finish();
  if (!extracted.ok()) return;
  for (const NamedTensor& named : extracted->tensors) use(named.tensor);
}

TEST_CASE("tensors") {
  std::vector<std::string> valid = {typed_list_tensor()};
  for (int i = 0; i < kSampleTensors; ++i) valid.push_back(encode_tensor_bytes(sample_tensor(i)));
  for (const std::string& bytes : valid) {
    try_truncations(bytes, decode_as_tensor);
    try_mutations(bytes, 1000, decode_as_tensor);
  }
}

TEST_CASE("graphs") {
  const std::string bytes = sample_graph();
  REQUIRE(parse_graph_def(bytes).ok());
  try_truncations(bytes, decode_as_graph);
  try_mutations(bytes, 2000, decode_as_graph);
}

TEST_CASE("received tensors, whole or byte by byte") {
  for (int i = 0; i < kSampleTensors; ++i) {
    const std::string bytes =
        encode_tensor_response({sample_tensor(i), false, 77, true}).value().join();
    try_truncations(bytes, decode_as_response);
    try_mutations(bytes, 500, decode_as_response);
  }
}

TEST_CASE("requests with tensors in them") {
  const std::string bytes = sample_request();
  try_truncations(bytes, decode_as_request);
  try_mutations(bytes, 2000, decode_as_request);
}

TEST_CASE("error details") {
  const std::string bytes =
      encode_error_details(aborted("x").as_consequence().with_payload("url", "bytes"));
  const auto decode = [](const std::string& details) {
    CHECK_FALSE(with_error_details(aborted("x"), details).ok());
  };
  try_truncations(bytes, decode);
  try_mutations(bytes, 500, decode);
}

}  // namespace
}  // namespace millrace::wire
