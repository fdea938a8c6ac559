// Zeros like variants and sums of them, by ops that know no type of variants.
#include <doctest/doctest.h>

#include "millrace/ops/all.h"
#include "millrace/ops/lists/tensor_list.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

Tensor list_of(std::vector<Tensor> elements, DType dtype = DType::f32) {
  return Tensor::scalar(
      TensorList{.dtype = dtype, .element_shape = {}, .most = 9, .elements = std::move(elements)}
          .to_variant()
          .value());
}

TensorList read(const Tensor& handle) {
  auto list = TensorList::from(handle.item<Variant>());
  REQUIRE_MESSAGE(list.ok(), list.status().to_string());
  return *std::move(list);
}

Tensor optional_of(std::vector<Tensor> components) {
  return Tensor::scalar(Variant{"tensorflow::data::Optional", "\1", std::move(components)});
}
const Tensor kNothing =
    Tensor::scalar(Variant{"tensorflow::data::Optional", std::string(1, '\0'), {}});

struct VariantOps {
  OpRegistry ops;
  VariantOps() { REQUIRE(register_all_ops(ops).ok()); }
  Tensor one(std::string_view op, std::vector<Tensor> inputs) {
    auto outputs = run_op(ops, op, std::move(inputs));
    REQUIRE_MESSAGE(outputs.ok(), outputs.status().to_string());
    return (*outputs)[0];
  }
  std::string sum_fails(Tensor a, Tensor b) {
    const auto outputs = run_op(ops, "AddN", {std::move(a), std::move(b)});
    REQUIRE_FALSE(outputs.ok());
    CHECK(outputs.status().code() == Code::invalid_argument);
    return std::string(outputs.status().message());
  }
};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("zeros like a list are a list of zeros, and what is not set stays so") {
  VariantOps f;
  const TensorList zeros =
      read(f.one("ZerosLike", {list_of({Tensor::vector<float>({1, 2}), Tensor()})}));
  CHECK(zeros.dtype == DType::f32);
  REQUIRE(zeros.elements.size() == 2);
  CHECK(zeros.elements[0] == Tensor::vector<float>({0, 0}));
  CHECK_FALSE(zeros.elements[1].has_value());
  const Tensor outer = list_of({list_of({Tensor::scalar(3.0f)})}, DType::variant);
  const TensorList nested = read(f.one("ZerosLike", {outer}));
  CHECK(read(nested.elements[0]).elements[0] == Tensor::scalar(0.0f));
  CHECK(read(read(outer).elements[0]).elements[0] == Tensor::scalar(3.0f));
}

TEST_CASE("lists are added element by element, and one that is not set counts for nothing") {
  VariantOps f;
  const Tensor a = list_of({Tensor::scalar(1.0f), Tensor(), Tensor()});
  const Tensor b = list_of({Tensor::scalar(2.0f), Tensor::scalar(5.0f), Tensor()});
  const TensorList sum = read(f.one("AddN", {a, b, a}));
  REQUIRE(sum.elements.size() == 3);
  CHECK(sum.elements[0] == Tensor::scalar(4.0f));
  CHECK(sum.elements[1] == Tensor::scalar(5.0f));
  CHECK_FALSE(sum.elements[2].has_value());
  const TensorList nested =
      read(f.one("AddN", {list_of({a}, DType::variant), list_of({b}, DType::variant)}));
  CHECK(read(nested.elements[0]).elements[0] == Tensor::scalar(3.0f));
}

TEST_CASE("lists that are not alike have no sum") {
  VariantOps f;
  const Tensor one = list_of({Tensor::scalar(1.0f)});
  CHECK(has(
      f.sum_fails(one, list_of({})),
      "Trying to add two lists of tensors with different lengths. One is 1 and the other is 0"));
  CHECK(has(f.sum_fails(one, list_of({}, DType::i32)), "of different dtypes"));
  CHECK(
      has(f.sum_fails(one, list_of({Tensor::vector<float>({1})})),
          "Trying to add two tensors with incompatible element shapes. One is [] and the other is "
          "[1]"));
  TensorList vectors{
      .dtype = DType::f32, .element_shape = PartialShape::of_rank(1), .most = -1, .elements = {}};
  TensorList scalars{
      .dtype = DType::f32, .element_shape = PartialShape::scalar(), .most = -1, .elements = {}};
  CHECK(has(f.sum_fails(Tensor::scalar(std::move(vectors).to_variant().value()),
                        Tensor::scalar(std::move(scalars).to_variant().value())),
            "Trying to add two lists of tensors with incompatible element shapes"));
  CHECK(has(f.sum_fails(one, optional_of({Tensor::scalar(1.0f)})), "of different types"));
}

TEST_CASE("optionals have zeros and sums if they hold alike things") {
  VariantOps f;
  const Tensor some = optional_of({Tensor::scalar(2), Tensor::vector<float>({1, 2})});
  const Tensor zeros = f.one("ZerosLike", {some});
  CHECK(zeros.item<Variant>().tensors[1] == Tensor::vector<float>({0, 0}));
  CHECK(f.one("ZerosLike", {kNothing}) == kNothing);
  const Tensor sum = f.one("AddN", {some, some});
  CHECK(sum.item<Variant>().tensors[0] == Tensor::scalar(4));
  CHECK(f.one("AddN", {kNothing, kNothing}) == kNothing);
  CHECK(has(f.sum_fails(some, kNothing), "one has a value and the other doesn't"));
  CHECK(has(f.sum_fails(some, optional_of({})), "different numbers of components (2 vs. 0)"));
}

TEST_CASE("variants of unknown types are refused") {
  VariantOps f;
  const Tensor other = Tensor::scalar(Variant{"other", "", {}});
  const std::string known =
      ", only for tensor lists, optionals, composite tensors, tensor maps, ragged tensors";
  CHECK(f.sum_fails(other, other) == "there is no sum for a variant of type 'other'" + known);
  CHECK(run_op(f.ops, "ZerosLike", {other}).status().message() ==
        "there is no ZerosLike for a variant of type 'other'" + known);
  CHECK_FALSE(run_op(f.ops, "ZerosLike", {Tensor::scalar(Variant())}).ok());
}

TEST_CASE("a type of variants brings its arithmetic along, and lists of it have it too") {
  VariantOps f;
  const auto box = [](float value) {
    return Tensor::scalar(Variant{"box", "", {Tensor::scalar(value)}});
  };
  REQUIRE(f.ops
              .add_variant({.type_name = "box",
                            .plural = "boxes",
                            .sum = [](const Variant& a, const Variant& b,
                                      TensorArithmetic& tensors) -> Result<Variant> {
                              Variant made = a;
                              MR_ASSIGN(made.tensors[0], tensors.sum(a.tensors[0], b.tensors[0]));
                              return made;
                            }})
              .ok());
  const auto value_of = [](const Tensor& handle) { return handle.item<Variant>().tensors[0]; };
  CHECK(value_of(f.one("AddN", {box(1), box(2)})) == Tensor::scalar(3.0f));
  const TensorList sum = read(f.one("AddN", {list_of({box(1), box(2)}, DType::variant),
                                             list_of({box(10), box(20)}, DType::variant)}));
  CHECK(value_of(sum.elements[1]) == Tensor::scalar(22.0f));
  CHECK(has(std::string(run_op(f.ops, "ZerosLike", {box(1)}).status().message()), "'box'"));
}

TEST_CASE("arithmetic on lists that hold each other a million times over ends with its step") {
  VariantOps f;
  Tensor wide = list_of({});
  for (int i = 0; i < 20; ++i) wide = list_of({wide, wide}, DType::variant);
  Bench bench(f.ops);
  bench.cancellation().cancel(aborted("enough"));
  for (const auto& [op, inputs] :
       {std::pair{"ZerosLike", std::vector<Value>{wide}}, {"AddN", {wide, wide}}}) {
    const auto outcome = bench.run(op, inputs);
    CHECK(outcome.status().code() == Code::cancelled);
    CHECK(outcome.status().is_consequence());
  }
}

TEST_CASE("lists and optionals do not lie in each other without bound") {
  VariantOps f;
  const Tensor any = Tensor::scalar(-1);
  const Attrs of_lists = {{"element_dtype", DType::variant}, {"shape_type", DType::i32}};
  const Tensor empty = (*run_op(f.ops, "EmptyTensorList", {any, any}, of_lists))[0];
  for (const bool in_optionals : {false, true}) {
    Tensor deep = list_of({});
    Result<std::vector<Tensor>> deeper = std::vector<Tensor>();
    for (int i = 0; i <= Variant::kMostNested; ++i) {
      deeper = in_optionals ? run_op(f.ops, "OptionalFromValue", {deep},
                                     {{"Toutput_types", std::vector<DType>{DType::variant}}})
                            : run_op(f.ops, "TensorListPushBack", {empty, deep}, of_lists);
      if (i == Variant::kMostNested) break;
      REQUIRE_MESSAGE(deeper.ok(), deeper.status().to_string());
      deep = (*deeper)[0];
    }
    CHECK(deeper.status().code() == Code::invalid_argument);
    CHECK(has(std::string(deeper.status().message()), "deep in each other"));
  }
}

}  // namespace
}  // namespace millrace
