#include "millrace/python/wrapper_writer.h"

#include <vector>

#include <doctest/doctest.h>

namespace millrace::python {
namespace {

OpDef op_of(std::string name, std::string doc, std::string signature) {
  OpRegistry ops;
  REQUIRE(ops.add({.name = name, .doc = std::move(doc), .signature = std::move(signature)}).ok());
  return *ops.find(name);
}

TEST_CASE("wrappers have the names that TensorFlow gives its ops") {
  CHECK(function_name("MatMul") == "mat_mul");
  CHECK(function_name("FIFOQueueV2") == "fifo_queue_v2");
  CHECK(function_name("QueueDequeueUpToV2") == "queue_dequeue_up_to_v2");
  CHECK(function_name("Conv2D") == "conv2d");
  CHECK(function_name("L2Loss") == "l2_loss");
  CHECK(function_name("AddN") == "add_n");
  CHECK(function_name("Assert") == "assert_");
}

TEST_CASE("attribute defaults read back as the values they were") {
  CHECK(python_literal(AttrValue(int64_t{-1})) == "-1");
  CHECK(python_literal(AttrValue(0.1f)) == "0.1");
  CHECK(python_literal(AttrValue(2.0f)) == "2.0");
  CHECK(python_literal(AttrValue(1e-3f)) == "0.001");
  CHECK(python_literal(AttrValue(true)) == "True");
  CHECK(python_literal(AttrValue("a\"b\n")) == "\"a\\\"b\\x0a\"");
  CHECK(python_literal(AttrValue(DType::f32)) == "_types.float32");
  CHECK(python_literal(AttrValue(PartialShape({2, kUnknownDim}))) == "[2, None]");
  CHECK(python_literal(AttrValue(PartialShape::unknown())) == "None");
  CHECK(python_literal(AttrValue(AttrValue::List<int64_t>{1, 2})) == "[1, 2]");
}

TEST_CASE("a wrapper takes inputs, then attributes, those without a default first") {
  const OpDef op = op_of("AssignAdd", "Adds value to ref.",
                         "ref: ref(T), value: T -> output_ref: ref(T) | T: {float, int32}, "
                         "use_locking: bool = false, kind: string");
  CHECK(wrapper_source(op) ==
        R"(def assign_add(ref, value, kind, use_locking=False, name=None):
    """Adds value to ref.

    Args:
      ref: a mutable Tensor of type T (float32, int32).
      value: a Tensor of type T (float32, int32).
      kind: of kind string.
      use_locking: of kind bool.
      name: a name for the node.

    Returns:
      output_ref: a mutable Tensor of type T (float32, int32).
    """
    return _apply("AssignAdd", (ref, value), {"kind": kind, "use_locking": use_locking}, name)
)");
}

TEST_CASE("a wrapper of one input passes a tuple, one of none passes nothing") {
  const std::string one = wrapper_source(op_of("Neg", "", "x: T -> y: T | T: type"));
  CHECK(one.find("_apply(\"Neg\", (x,), {}, name)") != std::string::npos);
  const std::string none = wrapper_source(op_of("NoOp", "", "->"));
  CHECK(none.find("def no_op(name=None):") != std::string::npos);
  CHECK(none.find("_apply(\"NoOp\", (), {}, name)") != std::string::npos);
}

TEST_CASE("ops that are the runtime's own business get no wrapper") {
  OpRegistry ops;
  REQUIRE(ops.add({.name = "_Send", .doc = "", .signature = "x: T -> | T: type"}).ok());
  REQUIRE(ops.add({.name = "NoOp", .doc = "", .signature = "->"}).ok());
  const std::string module = wrapper_module(ops);
  CHECK(module.find("_Send") == std::string::npos);
  CHECK(module.find("\"NoOp\": no_op,") != std::string::npos);
}

TEST_CASE("an op whose TensorFlow name is another one has both, and its own in BY_OP") {
  OpRegistry ops;
  for (const char* name : {"Mod", "FloorMod"})
    REQUIRE(ops.add({.name = name, .doc = "", .signature = "x: T, y: T -> z: T | T: type"}).ok());
  const std::string module = wrapper_module(ops);
  CHECK(module.find("\nfloormod = floor_mod\n") != std::string::npos);
  // The name of one op may mean another: what BY_OP has under "Mod" is found before that.
  const size_t by_op = module.find("\"Mod\": mod,");
  const size_t other = module.find("\nmod = floor_mod\n");
  REQUIRE(by_op != std::string::npos);
  REQUIRE(other != std::string::npos);
  CHECK(by_op < other);
  CHECK(module.find("realdiv") == std::string::npos);
}

TEST_CASE("the index tells which module has a function, by any of its names, and which an op's") {
  OpRegistry math, text;
  for (const char* name : {"FloorDiv", "_Hidden"})
    REQUIRE(math.add({.name = name, .doc = "", .signature = "x: T, y: T -> z: T | T: type"}).ok());
  REQUIRE(text.add({.name = "StringJoin", .doc = "", .signature = "-> z: string"}).ok());
  const std::vector<WrapperRoom> rooms = {{"math", &math}, {"text", &text}};
  CHECK(wrapper_index(rooms) ==
        "\"\"\"Which of the modules beside has a function, and which has an op's.\"\"\"\n\n"
        "FUNCTIONS = {\n"
        "    \"floor_div\": \"math\",\n"
        "    \"floordiv\": \"math\",\n"
        "    \"string_join\": \"text\",\n"
        "}\n\n"
        "OPS = {\n"
        "    \"FloorDiv\": \"math\",\n"
        "    \"StringJoin\": \"text\",\n"
        "}\n");
}

}  // namespace
}  // namespace millrace::python
