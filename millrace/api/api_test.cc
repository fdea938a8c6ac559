#include <doctest/doctest.h>

#include "millrace/api/durable.h"
#include "millrace/api/input.h"
#include "millrace/api/ops.h"
#include "millrace/api/scope.h"
#include "millrace/graph/text.h"
#include "millrace/ops/all.h"

namespace millrace {
namespace {

const OpRegistry& all_ops() {
  static const OpRegistry* const kOps = [] {
    auto* made = new OpRegistry;
    CHECK(register_all_ops(*made).ok());
    return made;
  }();
  return *kOps;
}

std::string text_of(const GraphBuilder& builder) {
  REQUIRE(builder.status().to_string() == "OK");
  return to_text(builder.graph(), {.defaults = PrintOptions::Defaults::hidden});
}

TEST_CASE("scopes give names, devices and control dependencies to the nodes made in them") {
  GraphBuilder builder(all_ops());
  const Scope root = builder.root();
  const Output one = constant(root.with_name("one"), 1);
  const Scope inner = root.named("layer").device("/job:ps/task:1").after({one.op()});
  const Output two = constant(inner.device("/device:CPU:0"), 2.5f);
  CHECK(two.name() == "layer/Const:0");
  CHECK(text_of(builder) ==
        "one = Const(1)\n"
        "layer/Const = Const(2.5) ^one @ /job:ps/task:1/device:CPU:0\n");
}

TEST_CASE("a variable or a queue asks its task to be kept, and nothing else can") {
  GraphBuilder builder(all_ops());
  const Scope root = builder.root();
  const Output total =
      durable(ops::variable_v2(root.with_name("total"), PartialShape::scalar(), DType::i64));
  CHECK(total.name() == "total:0");
  durable(ops::fifo_queue_v2(root.with_name("names"), {DType::string}, {.shared_name = "n"}));
  const std::string text = text_of(builder);
  CHECK(text.find("total = VariableV2(") == 0);
  size_t asking = 0;
  for (size_t at = 0; (at = text.find("_durable=true", at)) != std::string::npos; ++at) ++asking;
  CHECK(asking == 2);
  durable(constant(root.with_name("one"), 1));
  CHECK(builder.status() ==
        invalid("one: a Const can't be durable; variables and queues can, where they are made"));
}

TEST_CASE("equal names get numbers, also those of scopes") {
  GraphBuilder builder(all_ops());
  const Scope root = builder.root();
  CHECK(constant(root.with_name("x"), 1).name() == "x:0");
  CHECK(constant(root.with_name("x"), 1).name() == "x_1:0");
  CHECK(constant(root.with_name("x_1"), 1).name() == "x_1_1:0");
  CHECK(constant(root.with_name("X"), 1).name() == "X_2:0");
  CHECK(constant(root.named("a").with_name("y"), 1).name() == "a/y:0");
  CHECK(constant(root.named("a").with_name("y"), 1).name() == "a_1/y:0");
}

TEST_CASE("a literal takes the type of what it is combined with") {
  GraphBuilder builder(all_ops());
  const Scope root = builder.root();
  const Output x = ops::placeholder(root.with_name("x"), DType::f64);
  const Output y = -(x * 2 + 1.5);
  CHECK(y.dtype() == DType::f64);
  CHECK(builder.status().ok());
  CHECK(constant(root, 3).dtype() == DType::i32);
  CHECK(constant(root, int64_t{1} << 40).dtype() == DType::i64);
  CHECK(constant(root, 0.5).dtype() == DType::f32);
  CHECK(constant(root, {"a", "b"}).dtype() == DType::string);
  CHECK(constant(root, true).dtype() == DType::boolean);
  CHECK(constant(root, {1, 2, 3}, DType::bf16).dtype() == DType::bf16);
}

TEST_CASE("a literal that its type can't hold is an error of building") {
  GraphBuilder builder(all_ops());
  const Scope root = builder.root();
  const Output x = ops::placeholder(root, DType::i8);
  const Output y = x + 300;
  CHECK(!y.has_value());
  CHECK(builder.status().message().find("literal 300 can't be a int8") != std::string::npos);
}

TEST_CASE("the first error stays, with the name of its node, and later nodes are left out") {
  GraphBuilder builder(all_ops());
  const Scope root = builder.root();
  const Output x = ops::placeholder(root, DType::f32);
  const Output text = constant(root, "words");
  const Output bad = ops::add_v2(root.with_name("sum"), x, text);
  const Output after = bad + 1;
  CHECK(!after.has_value());
  CHECK(after.name().empty());
  CHECK(builder.status().code() == Code::invalid_argument);
  CHECK(builder.status().message().starts_with("node 'sum': "));
  CHECK(builder.graph().size() == 2);
}

TEST_CASE("values of two graphs don't mix") {
  GraphBuilder a(all_ops()), b(all_ops());
  const Output x = constant(a.root(), 1);
  const Output y = ops::identity(b.root(), x);
  CHECK(!y.has_value());
  CHECK(b.status().message().find("another graph") != std::string::npos);
}

TEST_CASE("generated functions set attributes, required ones by place and others by name") {
  GraphBuilder builder(all_ops());
  const Scope root = builder.root();
  ops::placeholder(root.with_name("x"), DType::f32, {.shape = PartialShape{2, kUnknownDim}});
  const Output merged =
      ops::identity(root.with_name("y").colocated_with(constant(root, 1).op()), 7);
  CHECK(merged.dtype() == DType::i32);
  CHECK(text_of(builder) ==
        "x = Placeholder(dtype=float, shape=[2,?])\n"
        "Const = Const(1)\n"
        "Const_1 = Const(7)\n"
        "y = Identity(Const_1, _class={\"loc:@Const\"})\n");
}

}  // namespace
}  // namespace millrace
