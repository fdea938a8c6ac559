#include "millrace/autodiff/gradients.h"

#include <doctest/doctest.h>

#include "millrace/autodiff/testing/program.h"

namespace millrace {
namespace {

using testing::Program;

constexpr std::string_view kProduct = R"(
  x = Placeholder(dtype=float, shape=[2,3])
  w = Placeholder(dtype=float, shape=[3,4])
  b = Placeholder(dtype=float, shape=[4])
  m = MatMul(x, w)
  y = AddV2(m, b)
)";

TEST_CASE("gradients stand in scopes of TensorFlow's names, one per op that they go through") {
  Program program(kProduct);
  CHECK(program.names(program.by({"y"}, {"w", "b"})) ==
        "gradients/m_grad/MatMul, gradients/y_grad/Reshape");
  CHECK(program.added() == R"(gradients/Shape = Shape(y)
gradients/grad_ys_0 = Const(1.0)
gradients/Fill = Fill(gradients/Shape, gradients/grad_ys_0)
gradients/y_grad/Const = Const([0])
gradients/y_grad/Sum = Sum(gradients/Fill, gradients/y_grad/Const)
gradients/y_grad/Const_1 = Const([4])
gradients/y_grad/Reshape = Reshape(gradients/y_grad/Sum, gradients/y_grad/Const_1)
gradients/m_grad/MatMul = MatMul(x, gradients/Fill, transpose_a=true)
)");
}

TEST_CASE("a second call has a scope of its own, and what nobody asks for is not made") {
  Program program(kProduct);
  REQUIRE(program.by({"y"}, {"b"}).ok());
  CHECK(program.added().find("MatMul") == std::string::npos);
  CHECK(program.names(program.by({"y"}, {"x"})) == "gradients_1/m_grad/MatMul");
}

TEST_CASE("shapes that nobody knows are asked for when the step runs") {
  Program program(R"(
    x = Placeholder(dtype=float)
    b = Placeholder(dtype=float)
    y = Mul(x, b)
  )");
  CHECK(program.names(program.by({"y"}, {"x", "b"})) ==
        "gradients/y_grad/Reshape, gradients/y_grad/Reshape_1");
  CHECK(program.added().find("gradients/y_grad/BroadcastGradientArgs") != std::string::npos);
}

TEST_CASE("what arrives from several sides is added up, at once or two by two") {
  constexpr std::string_view text = R"(
    x = Placeholder(dtype=float, shape=[2])
    a = Neg(x)
    b = Exp(x)
    c = Neg(x)
    y = AddN(a, b, c)
  )";
  Program at_once(text);
  CHECK(at_once.names(at_once.by({"y"}, {"x"})) == "gradients/AddN");
  Program by_pairs(text);
  CHECK(by_pairs.names(by_pairs.by({"y"}, {"x"}, {.aggregation = Aggregation::tree})) ==
        "gradients/AddN_1");
}

TEST_CASE("an x on the way to another one has the gradient that goes through it") {
  Program program(R"(
    x = Placeholder(dtype=float, shape=[])
    m = Neg(x)
    y = Exp(m)
  )");
  CHECK(program.names(program.by({"y"}, {"x", "m", "y"})) ==
        "gradients/m_grad/Neg, gradients/y_grad/Mul, gradients/Fill");
}

TEST_CASE("a gradient that nothing connects is none, or zeros if they are wanted") {
  constexpr std::string_view text = R"(
    x = Placeholder(dtype=float, shape=[])
    n = Placeholder(dtype=int32, shape=[])
    y = Exp(x)
    f = Floor(x)
    s = StopGradient(y)
    i = Cast(x, DstT=int32)
    z = Cast(i, DstT=float)
  )";
  Program program(text);
  CHECK(program.names(program.by({"f"}, {"x"})) == "none");
  CHECK(program.names(program.by({"s"}, {"x"})) == "none");
  CHECK(program.names(program.by({"z"}, {"x"})) == "none");
  CHECK(program.names(program.by({"y"}, {"n"})) == "none");
  Program zeros(text);
  CHECK(zeros.names(zeros.by({"y"}, {"z"}, {.zeros_if_unconnected = true})) ==
        "gradients/ZerosLike");
}

TEST_CASE("for a handle that no y depends on no zeros are made up") {
  Program program(
      "x = Placeholder(dtype=float) y = Exp(x) h = VarHandleOp(dtype=float, shape=[2])");
  CHECK(program.names(program.by({"y"}, {"h"})) == "none");
  const auto zeros = program.by({"y"}, {"h"}, {.zeros_if_unconnected = true});
  CHECK(zeros.status().code() == Code::unimplemented);
  CHECK(zeros.status().message().find("no y depends on 'h'") != std::string::npos);
}

TEST_CASE("stop_gradients are constants") {
  Program program(R"(
    x = Placeholder(dtype=float, shape=[])
    a = Neg(x)
    y = Mul(a, x)
  )");
  CHECK(program.names(program.by({"y"}, {"x"}, {.stop_gradients = program.all_at({"a"})})) ==
        "gradients/y_grad/Mul");
}

TEST_CASE("grad_ys take the place of ones, and must be of the type of their y") {
  Program program(R"(
    x = Placeholder(dtype=float, shape=[])
    y = Neg(x)
    g = Placeholder(dtype=float, shape=[])
    d = Placeholder(dtype=double, shape=[])
  )");
  CHECK(program.names(program.by({"y"}, {"x"}, {.grad_ys = program.all_at({"d"})})) ==
        "INVALID_ARGUMENT: gradients: grad_ys[0] is double; its y, 'y', is float");
  Program given(R"(
    x = Placeholder(dtype=float, shape=[])
    y = Neg(x)
    g = Placeholder(dtype=float, shape=[])
  )");
  REQUIRE(given.by({"y"}, {"x"}, {.grad_ys = given.all_at({"g"})}).ok());
  CHECK(given.added() == R"(gradients/grad_ys_0 = Identity(g)
gradients/y_grad/Neg = Neg(gradients/grad_ys_0)
)");
}

TEST_CASE("a gather's gradient stays slices, those of two gathers go together") {
  Program program(R"(
    w = Placeholder(dtype=float, shape=[9,2])
    i = Placeholder(dtype=int32, shape=[3])
    j = Placeholder(dtype=int64, shape=[4])
    a = Gather(w, i)
    b = Gather(w, j)
  )");
  CHECK(program.names(program.by({"a"}, {"w"})) == "gradients/Fill at i");
  CHECK(program.names(program.by({"a", "b"}, {"w"})) ==
        "gradients_1/ConcatV2 at gradients_1/ConcatV2_1");
}

TEST_CASE("slices become a tensor where an op or a dense gradient meets them") {
  Program program(R"(
    w = Placeholder(dtype=float, shape=[9,2])
    i = Placeholder(dtype=int32, shape=[3])
    n = Neg(w)
    a = Gather(n, i)
  )");
  CHECK(program.names(program.by({"a"}, {"w"})) == "gradients/n_grad/Neg");
  CHECK(program.added().find("UnsortedSegmentSum") != std::string::npos);
  CHECK(program.names(program.by({"a", "n"}, {"n"})) == "gradients_1/AddN");
}

TEST_CASE("what arrives at a variable's value is the gradient by its handle or its reference") {
  Program program(R"(
    h = VarHandleOp(dtype=float, shape=[9,2])
    i = Placeholder(dtype=int32, shape=[3])
    r = ReadVariableOp(h, dtype=float)
    e = Exp(r)
    a = ResourceGather(h, i, dtype=float)
    v = VariableV2(dtype=float, shape=[2])
    s = Identity(v)
    t = Neg(s)
  )");
  CHECK(program.names(program.by({"e"}, {"h"})) == "gradients/e_grad/Mul");
  CHECK(program.names(program.by({"a"}, {"h"})) ==
        "gradients_1/a_grad/Reshape at gradients_1/a_grad/Reshape_1");
  CHECK(program.names(program.by({"t"}, {"v"})) == "gradients_2/t_grad/Neg");
}

TEST_CASE("gated gradients wait for each other, and colocated ones go with their op") {
  Program program(kProduct);
  CHECK(program.names(program.by({"m"}, {"x", "w"}, {.gate_gradients = true})) ==
        "gradients/m_grad/tuple/control_dependency, gradients/m_grad/tuple/control_dependency_1");
  Program colocated(kProduct);
  REQUIRE(colocated.by({"m"}, {"w"}, {.colocate_with_ops = true}).ok());
  const Node* node = colocated.builder.graph().find("gradients/m_grad/MatMul");
  REQUIRE(node != nullptr);
  CHECK(colocated.builder.colocation_groups(node->id) == std::vector<std::string>{"loc:@m"});
}

TEST_CASE("a gradient has a gradient") {
  Program program(R"(
    x = Placeholder(dtype=float, shape=[])
    y = Tanh(x)
  )");
  const auto first = program.by({"y"}, {"x"});
  REQUIRE(first.ok());
  const auto second =
      add_gradients(program.builder, std::vector{(*first)[0].dense}, program.all_at({"x"}));
  CHECK(program.names(second) == "gradients_1/y_grad/TanhGrad");
}

TEST_CASE("what has no gradient is refused by name, but only where one would go through") {
  Program program(R"(
    x = Placeholder(dtype=float, shape=[2])
    p = Placeholder(dtype=bool, shape=[])
    s = Switch(x, p)
    one = Const(1.0)
    m = Merge(s:0, one)
    a = PreventGradient(x, message="by hand")
    y = Neg(x)
  )");
  CHECK(program.names(program.by({"m"}, {"x"})) ==
        "UNIMPLEMENTED: the gradient of 'm' (op type: Merge) can't be made: its inputs are not "
        "the two branches of one predicate; use tf.cond");
  CHECK(program.names(program.by({"a"}, {"x"})) ==
        "NOT_FOUND: gradient of 'a' (op type: PreventGradient): Gradient explicitly disabled. "
        "Reason: by hand");
  CHECK(program.by({"y"}, {"x"}).ok());
}

// A program's gradient of one node: its own op of what arrives, by each input.
class OwnGradient final : public GradientSource {
 public:
  OwnGradient(Builder& builder, NodeId node, std::string_view op, size_t number = 1)
      : builder_(builder), node_(node), op_(op), number_(number) {}

  bool has(NodeId node) override { return node == node_; }
  Result<std::vector<Gradient>> gradients(NodeId, std::span<const Gradient> arriving) override {
    std::vector<Gradient> made(number_);
    const Surroundings& around = builder_.current();
    MR_ASSIGN(const NodeId added, builder_.add({.name = builder_.claim_name(around.inside("own")),
                                                .op = op_,
                                                .inputs = {arriving.front().dense},
                                                .attrs = {}},
                                               around));
    for (Gradient& each : made) each.dense = {added, 0};
    return made;
  }

 private:
  Builder& builder_;
  const NodeId node_;
  const std::string_view op_;
  const size_t number_;
};

TEST_CASE("a program's own gradient of a node stands in place of the op's, where that would be") {
  Program program(R"(
    x = Placeholder(dtype=float, shape=[2])
    zero = Const(0)
    p = Prod(x, zero)
    y = Neg(p)
  )");
  OwnGradient own(program.builder, program.at("y").node, "Sign");
  program.builder.current().name_scope = "here";
  CHECK(program.names(program.by({"y"}, {"p"}, {.source = &own})) == "here/gradients/y_grad/own");
  CHECK(program.builder.current().name_scope == "here");
  OwnGradient of_p(program.builder, program.at("p").node, "Neg", 2);
  CHECK(program.names(program.by({"p"}, {"x"}, {.source = &of_p}))
            .starts_with("INVALID_ARGUMENT: gradient of 'p' (op type: Prod): its gradient by input "
                         "0 has shape []"));
  OwnGradient too_few(program.builder, program.at("p").node, "Neg", 1);
  CHECK(program.names(program.by({"p"}, {"x"}, {.source = &too_few})) ==
        "INVALID_ARGUMENT: Num gradients 1 generated for op 'p' (op type: Prod) do not match num "
        "inputs 2");
  OwnGradient broken(program.builder, program.at("y").node, "NoSuchOp");
  CHECK(!program.by({"y"}, {"p"}, {.source = &broken}).ok());
  CHECK(program.builder.current().name_scope == "here");
}

TEST_CASE("endpoints that are not there are refused before anything is added") {
  Program program(kProduct);
  const std::vector<Endpoint> none = {{99, 0}}, y = program.all_at({"y"});
  CHECK(add_gradients(program.builder, none, y).status().code() == Code::invalid_argument);
  CHECK(add_gradients(program.builder, y, none).status().code() == Code::invalid_argument);
  CHECK(program.added().empty());
}

TEST_CASE("a graph deeper than any stack has its gradients") {
  Program program("x = Placeholder(dtype=float, shape=[])");
  Endpoint last = program.at("x");
  for (int i = 0; i < 20000; ++i) {
    const auto made = program.builder.add(
        {.name = program.builder.claim_name("n"), .op = "Neg", .inputs = {last}},
        program.builder.current());
    REQUIRE(made.ok());
    last = {*made, 0};
  }
  const auto made = add_gradients(program.builder, std::vector{last}, program.all_at({"x"}));
  CHECK(program.names(made) == "gradients/n_grad/Neg");
}

}  // namespace
}  // namespace millrace
