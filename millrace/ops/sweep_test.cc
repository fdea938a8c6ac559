// One sweep that every op joins: whoever adds an op to the registry adds it here.
#include <cmath>
#include <complex>

#include <doctest/doctest.h>

#include "millrace/base/str_cat.h"
#include "millrace/op/infer.h"
#include "millrace/op/testing/example.h"
#include "millrace/ops/all.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

// What an attribute of kind "type" that allows everything is tried with.
const std::vector<DType> kTypical = {DType::f32, DType::i64,     DType::string, DType::u8,
                                     DType::f16, DType::boolean, DType::c64};

const OpRegistry& registry() {
  static const OpRegistry* ops = [] {
    auto* made = new OpRegistry;
    const Status status = register_all_ops(*made);
    REQUIRE_MESSAGE(status.ok(), status.to_string());
    return made;
  }();
  return *ops;
}

bool needs_surroundings(const OpDef& op) {
  if (op.role != Role::ordinary || op.stateful || !op.foldable || op.inputs.empty()) return true;
  for (const auto* args : {&op.inputs, &op.outputs}) {
    for (const ArgDef& arg : *args) {
      if (arg.is_ref || arg.dtype == DType::resource || arg.dtype == DType::variant) return true;
    }
  }
  return false;
}

std::vector<DType> allowed(const AttrDef& attr) {
  return attr.allowed_types.empty() ? kTypical : attr.allowed_types;
}

DType usual(const AttrDef& attr) {
  if (attr.default_value) return *attr.default_value->as_type();
  const std::vector<DType> types = allowed(attr);
  return std::count(types.begin(), types.end(), DType::f32) != 0 ? DType::f32 : types[0];
}

// Each type that each attribute allows, the other attributes being as usual. Examples have no
// values of type variant.
std::vector<Attrs> variants(const OpDef& op, const Attrs& pinned) {
  Attrs base = pinned;
  std::vector<const AttrDef*> open;
  for (const AttrDef& attr : op.attrs) {
    if (attr.kind != "type" || pinned.find(attr.name) != nullptr) continue;
    base.set(attr.name, usual(attr));
    open.push_back(&attr);
  }
  std::vector<Attrs> all = {base};
  for (const AttrDef* attr : open) {
    for (const DType type : allowed(*attr)) {
      if (type == usual(*attr) || type == DType::variant) continue;
      all.push_back(base);
      all.back().set(attr->name, type);
    }
  }
  return all;
}

double tolerance(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return 3e-2;
    case DType::f16:
      return 3e-3;
    case DType::f32:
    case DType::c64:
      return 1e-5;
    case DType::f64:
    case DType::c128:
      return 1e-8;
    default:
      return 0;
  }
}

template <class T>
bool all_near(const Tensor& a, const Tensor& b, double tolerance) {
  const auto x = a.flat<T>(), y = b.flat<T>();
  for (size_t i = 0; i < x.size(); ++i) {
    std::complex<double> p, q;
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      p = static_cast<float>(x[i]);
      q = static_cast<float>(y[i]);
    } else {
      p = x[i];
      q = y[i];
    }
    const bool both_nan = std::isnan(p.real()) && std::isnan(q.real());
    if (p != q && !both_nan && !(std::abs(p - q) <= tolerance * (1 + std::abs(q)))) return false;
  }
  return true;
}

bool near(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  const double tolerated = tolerance(a.dtype());
  switch (a.dtype()) {
    case DType::bf16:
      return all_near<BFloat16>(a, b, tolerated);
    case DType::f16:
      return all_near<Half>(a, b, tolerated);
    case DType::f32:
      return all_near<float>(a, b, tolerated);
    case DType::f64:
      return all_near<double>(a, b, tolerated);
    case DType::c64:
      return all_near<std::complex<float>>(a, b, tolerated);
    case DType::c128:
      return all_near<std::complex<double>>(a, b, tolerated);
    default:
      return a == b;
  }
}

enum class Known { values, shapes, nothing };

// The shape rule may leave things open, but must not contradict what the kernel made.
void check_rule(const OpDef& op, const Attrs& attrs, const std::vector<Tensor>& inputs,
                const std::vector<Value>& outputs, Known known) {
  std::vector<PartialShape> shapes;
  std::vector<const Tensor*> constants;
  for (const Tensor& input : inputs) {
    shapes.push_back(known == Known::nothing ? PartialShape() : PartialShape(input.shape()));
    constants.push_back(known == Known::values ? &input : nullptr);
  }
  InferContext context({op, attrs}, shapes, constants, static_cast<int>(outputs.size()));
  const Status status = op.infer(context);
  REQUIRE_MESSAGE(status.ok(), status.to_string());
  for (size_t slot = 0; slot < outputs.size(); ++slot) {
    CAPTURE(slot);
    CAPTURE(context.output(slot).to_string());
    CAPTURE(outputs[slot].tensor.shape().to_string());
    CHECK(context.output(slot).allows(outputs[slot].tensor.shape()));
  }
}

void check_example(const OpDef& op, const Example& example, Attrs attrs) {
  // List attributes and counts come from the number of inputs.
  std::vector<DType> untyped(example.inputs.size(), DType::f32);
  const auto completed = complete_attrs(op, untyped, std::move(attrs));
  REQUIRE_MESSAGE(completed.ok(), completed.status().to_string());
  std::string text;
  for (const auto& [name, value] : *completed) text += name + "=" + value.to_string() + " ";
  CAPTURE(text);

  const auto input_types = resolve_args(op, op.inputs, *completed);
  const auto output_types = resolve_args(op, op.outputs, *completed);
  REQUIRE(input_types.ok());
  REQUIRE(output_types.ok());
  std::vector<Tensor> inputs;
  for (size_t slot = 0; slot < example.inputs.size(); ++slot) {
    const auto input = example.inputs[slot].as((*input_types)[slot].dtype);
    REQUIRE_MESSAGE(input.ok(), input.status().to_string());
    inputs.push_back(*input);
  }
  Bench bench(registry());
  const auto outputs = bench.run(op.name, {inputs.begin(), inputs.end()}, {.attrs = *completed});
  REQUIRE_MESSAGE(outputs.ok(), outputs.status().to_string());
  for (size_t slot = 0; slot < outputs->size(); ++slot)
    CHECK((*outputs)[slot].tensor.dtype() == (*output_types)[slot].dtype);
  for (const Known known : {Known::values, Known::shapes, Known::nothing})
    check_rule(op, *completed, inputs, *outputs, known);

  if (!example.has_outputs) return;
  REQUIRE(example.outputs.size() == outputs->size());
  for (size_t slot = 0; slot < outputs->size(); ++slot) {
    const auto expected = example.outputs[slot].as((*output_types)[slot].dtype);
    REQUIRE_MESSAGE(expected.ok(), expected.status().to_string());
    CAPTURE(slot);
    CHECK_MESSAGE(near((*outputs)[slot].tensor, *expected), (*outputs)[slot].tensor.to_string(),
                  " instead of ", expected->to_string());
  }
}

TEST_CASE("the signature of every op can be read, though none is until its op is asked for") {
  const Status status = registry().check();
  CHECK_MESSAGE(status.ok(), status.to_string());
  CHECK(registry().all().size() == registry().size());
}

TEST_CASE("every op says what it does and has a kernel and a shape rule") {
  for (const OpDef* op : registry().all()) {
    CAPTURE(op->name);
    CHECK(op->doc.size() > 10);
    CHECK(op->doc.ends_with("."));
    CHECK((op->cpu != nullptr) == !calls_functions(op->role));
    CHECK(op->infer != nullptr);
  }
}

// Ops of control flow and calls pass on what they get, or run bodies: their gradients are made by
// whoever sees all of a loop or a conditional (autodiff/), not by the op.
bool is_walked_as_a_whole(const OpDef& op) {
  const bool is_list = op.name == "EmptyTensorList" || op.name.starts_with("TensorArray") ||
                       op.name.starts_with("TensorList") || op.name.starts_with("Stack") ||
                       op.name.starts_with("Optional");
  return op.role != Role::ordinary || is_list || op.name == "RefMerge";
}

TEST_CASE("an op has a gradient, or the words why not, and never both") {
  std::string silent;
  for (const OpDef* op : registry().all()) {
    CAPTURE(op->name);
    CHECK((op->grad == nullptr || op->not_differentiable.empty()));
    if (op->grad != nullptr || !op->not_differentiable.empty()) continue;
    if (!is_walked_as_a_whole(*op)) str_append(&silent, " ", op->name);
  }
  CHECK(silent == "");
}

TEST_CASE("every op that only needs tensors has an example") {
  for (const OpDef* op : registry().all()) {
    CAPTURE(op->name);
    CHECK((needs_surroundings(*op) || !op->examples.empty()));
  }
}

TEST_CASE("examples of every op come out as written for every type that the op allows") {
  for (const OpDef* op : registry().all()) {
    for (const std::string& text : op->examples) {
      CAPTURE(op->name);
      CAPTURE(text);
      const auto example = parse_example(*op, text);
      REQUIRE_MESSAGE(example.ok(), example.status().to_string());
      for (const Attrs& attrs : variants(*op, example->attrs)) check_example(*op, *example, attrs);
    }
  }
}

TEST_CASE("commutative ops give the same with their inputs swapped") {
  for (const OpDef* op : registry().all()) {
    if (!op->commutative) continue;
    for (const std::string& text : op->examples) {
      CAPTURE(op->name);
      CAPTURE(text);
      auto example = parse_example(*op, text);
      REQUIRE(example.ok());
      if (example->inputs.size() < 2) continue;
      std::swap(example->inputs[0], example->inputs[1]);
      check_example(*op, *example, variants(*op, example->attrs)[0]);
    }
  }
}

}  // namespace
}  // namespace millrace
