// Part of families.h: register_comparisons.
#include "millrace/op/infer.h"
#include "millrace/ops/loops/elementwise.h"
#include "millrace/ops/loops/quantized.h"
#include "millrace/ops/math/families.h"

namespace millrace {
namespace {

using Comparable = cpu::Join<cpu::Number, cpu::Types<bool, std::string>>;

// Equal and NotEqual may be asked to answer for shapes that don't broadcast, too.
template <class F>
KernelFactory equality(F f, cpu::Mismatch mismatch) {
  return [f, mismatch](const KernelSpec& spec) -> Result<std::unique_ptr<Kernel>> {
    MR_ASSIGN(const bool is_error, spec.attrs.boolean("incompatible_shape_error"));
    cpu::BinaryOptions options;
    options.mismatch = is_error ? cpu::Mismatch::is_error : mismatch;
    return cpu::make_binary(
        spec, cpu::binary_loop_for<Comparable>(kept_as(spec.inputs[0].dtype), f), options);
  };
}

Status infer_equality(InferContext& context) {
  MR_ASSIGN(const bool is_error, context.attrs().boolean("incompatible_shape_error"));
  const PartialShape &x = context.input(0), &y = context.input(1);
  const auto shape = broadcast_shapes(x, y);
  if (is_error) MR_TRY(shape);
  if (!shape.ok()) {
    context.set_output(0, PartialShape::scalar());
  } else if (is_error || (x.is_fully_known() && y.is_fully_known())) {
    // An unknown size may turn out not to fit.
    context.set_output(0, *shape);
  }
  return {};
}

template <class F>
Status add_order(OpRegistry& ops, std::string name, std::string doc, F f, std::string example) {
  return ops.add({.name = std::move(name),
                  .doc = std::move(doc),
                  .signature = "x: T, y: T -> z: bool | T: real",
                  .infer = infer::broadcast,
                  .cpu = cpu::binary<cpu::Real>(f),
                  .not_differentiable = "its result is true or false",
                  .examples = {std::move(example)}});
}

template <class F>
Status add_equality(OpRegistry& ops, std::string name, std::string doc, F f, cpu::Mismatch mismatch,
                    std::vector<std::string> examples) {
  return ops.add(
      {.name = std::move(name),
       .doc = std::move(doc),
       .signature = "x: T, y: T -> z: bool | T: type, incompatible_shape_error: bool = true",
       .infer = infer_equality,
       .cpu = equality(f, mismatch),
       .not_differentiable = "its result is true or false",
       .commutative = true,
       .examples = std::move(examples)});
}

template <class F>
Status add_logic(OpRegistry& ops, std::string name, std::string doc, F f, std::string example) {
  return ops.add({.name = std::move(name),
                  .doc = std::move(doc),
                  .signature = "x: bool, y: bool -> z: bool",
                  .infer = infer::broadcast,
                  .cpu = cpu::binary<cpu::Types<bool>>(f),
                  .not_differentiable = "its result is true or false",
                  .commutative = true,
                  .examples = {std::move(example)}});
}

}  // namespace

Status register_comparisons(OpRegistry& ops) {
  MR_TRY(add_order(
      ops, "Less", "True where x < y.", [](auto x, auto y) { return x < y; },
      "[1 2 3], 2 -> [true false false]"));
  MR_TRY(add_order(
      ops, "LessEqual", "True where x <= y.", [](auto x, auto y) { return x <= y; },
      "[1 2 3], 2 -> [true true false]"));
  MR_TRY(add_order(
      ops, "Greater", "True where x > y.", [](auto x, auto y) { return x > y; },
      "[1 2 3], 2 -> [false false true]"));
  MR_TRY(add_order(
      ops, "GreaterEqual", "True where x >= y.", [](auto x, auto y) { return x >= y; },
      "[1 2 3], 2 -> [false true true]"));
  MR_TRY(add_equality(
      ops, "Equal", "True where x and y are equal.",
      [](const auto& x, const auto& y) { return x == y; }, cpu::Mismatch::is_false,
      {"[1 0], 1 -> [true false]", "[1 2], [1 2 3] -> false | incompatible_shape_error = false"}));
  MR_TRY(add_equality(
      ops, "NotEqual", "True where x and y differ.",
      [](const auto& x, const auto& y) { return !(x == y); }, cpu::Mismatch::is_true,
      {"[1 0], 1 -> [false true]", "[1 2], [1 2 3] -> true | incompatible_shape_error = false"}));
  MR_TRY(add_logic(
      ops, "LogicalAnd", "True where x and y are.", [](bool x, bool y) { return x && y; },
      "[true true false false], [true false true false] -> [true false false false]"));
  return add_logic(
      ops, "LogicalOr", "True where x or y is.", [](bool x, bool y) { return x || y; },
      "[true true false false], [true false true false] -> [true true true false]");
}

}  // namespace millrace
