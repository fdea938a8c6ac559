#include "millrace/autodiff/conditionals.h"

#include <doctest/doctest.h>

#include "millrace/autodiff/testing/program.h"

namespace millrace {
namespace {

using testing::Program;

TEST_CASE(
    "what arrives at a merge goes to the branch that was taken, and zeros come from the other") {
  Program program(R"(
    x = Placeholder(dtype=float, shape=[2])
    p = Placeholder(dtype=bool, shape=[])
    s = Switch(x, p)
    no = Neg(s:0)
    yes = Identity(s:1)
    m = Merge(no, yes)
  )");
  CHECK(program.names(program.by({"m"}, {"x"})) == "gradients/s_grad/Merge");
  CHECK(program.added() == R"(gradients/Shape = Shape(m)
gradients/grad_ys_0 = Const(1.0)
gradients/Fill = Fill(gradients/Shape, gradients/grad_ys_0)
gradients/m_grad/Switch = Switch(gradients/Fill, p)
gradients/no_grad/Neg = Neg(gradients/m_grad/Switch)
gradients/s_grad/Merge = Merge(gradients/no_grad/Neg, gradients/m_grad/Switch:1)
)");
}

TEST_CASE("a branch that has no use for a value gives it zeros") {
  Program program(R"(
    x = Placeholder(dtype=float, shape=[2])
    p = Placeholder(dtype=bool, shape=[])
    pivot = Switch(p, p)
    no_pivot = Identity(pivot:0)
    id = Identity(p)
    s = Switch(x, id)
    yes = Neg(s:1)
    no = Const([1.0, 2.0]) ^no_pivot
    m = Merge(no, yes)
  )");
  CHECK(program.names(program.by({"m"}, {"x"})) == "gradients/s_grad/Merge");
  CHECK(program.added() == R"(gradients/Shape = Shape(m)
gradients/grad_ys_0 = Const(1.0)
gradients/Fill = Fill(gradients/Shape, gradients/grad_ys_0)
gradients/m_grad/Switch = Switch(gradients/Fill, p)
gradients/yes_grad/Neg = Neg(gradients/m_grad/Switch:1)
gradients/s_grad/ZerosLike = ZerosLike(x)
gradients/s_grad/Switch = Switch(gradients/s_grad/ZerosLike, id)
gradients/s_grad/Merge = Merge(gradients/s_grad/Switch, gradients/yes_grad/Neg)
)");
}

TEST_CASE("the gradient of a conditional in a branch runs in that branch") {
  Program program(R"(
    x = Placeholder(dtype=float, shape=[])
    p = Placeholder(dtype=bool, shape=[])
    q = Placeholder(dtype=bool, shape=[])
    outer = Switch(x, p)
    asked = Switch(q, p)
    inner = Switch(outer:1, asked:1)
    neg = Neg(inner:0)
    m = Merge(neg, inner:1)
    twice = Square(m)
    n = Merge(outer:0, twice)
  )");
  CHECK(program.names(program.by({"n"}, {"x"})) == "gradients/outer_grad/Merge");
  CHECK(program.added() == R"(gradients/Shape = Shape(n)
gradients/grad_ys_0 = Const(1.0)
gradients/Fill = Fill(gradients/Shape, gradients/grad_ys_0)
gradients/n_grad/Switch = Switch(gradients/Fill, p)
gradients/twice_grad/Const = Const(2.0)
gradients/twice_grad/Mul = Mul(m, gradients/twice_grad/Const)
gradients/twice_grad/Mul_1 = Mul(gradients/n_grad/Switch:1, gradients/twice_grad/Mul)
gradients/m_grad/Switch = Switch(gradients/twice_grad/Mul_1, asked:1)
gradients/neg_grad/Neg = Neg(gradients/m_grad/Switch)
gradients/inner_grad/Merge = Merge(gradients/neg_grad/Neg, gradients/m_grad/Switch:1)
gradients/outer_grad/Merge = Merge(gradients/n_grad/Switch, gradients/inner_grad/Merge)
)");
}

TEST_CASE("where an index chooses between several branches, it does so on the way back") {
  Program program(R"(
    x = Placeholder(dtype=float, shape=[2])
    y = Placeholder(dtype=float, shape=[2])
    i = Placeholder(dtype=int32, shape=[])
    s = _SwitchN(x, i, num_outs=3)
    t = _SwitchN(y, i, num_outs=3)
    a = Neg(s:0)
    b = Identity(s:1)
    m = Merge(a, b, t:2)
  )");
  CHECK(program.names(program.by({"m"}, {"x"})) == "gradients/s_grad/Merge");
  CHECK(program.added() == R"(gradients/Shape = Shape(m)
gradients/grad_ys_0 = Const(1.0)
gradients/Fill = Fill(gradients/Shape, gradients/grad_ys_0)
gradients/m_grad/Switch = _SwitchN(gradients/Fill, i, num_outs=3)
gradients/a_grad/Neg = Neg(gradients/m_grad/Switch)
gradients/s_grad/ZerosLike = ZerosLike(x)
gradients/s_grad/Switch = _SwitchN(gradients/s_grad/ZerosLike, i, num_outs=3)
gradients/s_grad/Merge = Merge(gradients/a_grad/Neg, gradients/m_grad/Switch:1, gradients/s_grad/Switch:2)
)");
}

TEST_CASE("a merge of some of the branches of an index, or of one twice, is refused") {
  Program program(R"(
    x = Placeholder(dtype=float, shape=[])
    i = Placeholder(dtype=int32, shape=[])
    s = _SwitchN(x, i, num_outs=3)
    some = Merge(s:0, s:2)
    twice = Merge(s:0, s:1, s:1)
  )");
  for (const char* name : {"some", "twice"})
    CHECK(program.names(program.by({name}, {"x"})).starts_with("UNIMPLEMENTED"));
}

TEST_CASE("a merge that ends no conditional is refused") {
  Program program(R"(
    x = Placeholder(dtype=float, shape=[])
    p = Placeholder(dtype=bool, shape=[])
    q = Placeholder(dtype=bool, shape=[])
    s = Switch(x, p)
    t = Switch(x, q)
    m = Merge(s:0, t:1)
  )");
  CHECK(program.names(program.by({"m"}, {"x"})) ==
        "UNIMPLEMENTED: the gradient of 'm' (op type: Merge) can't be made: its inputs are not the "
        "two branches of one predicate; use tf.cond");
}

TEST_CASE("what is no whole loop has no gradient") {
  Program program(R"(
    x = Placeholder(dtype=float, shape=[])
    enter = Enter(x, frame_name="f")
    merge = Merge(enter, enter)
    exit = Exit(merge)
  )");
  CHECK(program.names(program.by({"exit"}, {"x"})) ==
        "UNIMPLEMENTED: the gradient of 'exit' (op type: Exit) can't be made: what leaves the loop "
        "is no variable of it");
  CHECK(program.names(program.by({"merge"}, {"x"})) ==
        "UNIMPLEMENTED: the gradient of 'merge' (op type: Merge) can't be made: gradients that are "
        "asked for inside of a loop don't go through its iterations");
}

}  // namespace
}  // namespace millrace
