#include "millrace/wire/known_variants.h"

#include <doctest/doctest.h>

#include "millrace/wire/tensor_codec.h"

namespace millrace::wire {
namespace {

// What a peer's bytes give, for a scalar of this variant.
Status sent(Variant variant) {
  return decode_tensor_bytes(encode_tensor_bytes(Tensor::scalar(std::move(variant)))).status();
}

Variant list_of(DType dtype, PartialShape element_shape, std::vector<Tensor> elements,
                std::vector<size_t> unset = {}) {
  return {std::string(kTensorListType),
          list_metadata({.unset = std::move(unset),
                         .dtype = dtype,
                         .most = -1,
                         .element_shape = std::move(element_shape)}),
          std::move(elements)};
}

Variant optional_of(std::string metadata, std::vector<Tensor> components) {
  return {std::string(kOptionalType), std::move(metadata), std::move(components)};
}

const Tensor kFloats = Tensor::vector<float>({1, 2});
const Tensor kText = Tensor::vector<std::string>({"a text of which a reader would get bytes", "b"});

TEST_CASE("a list is decoded if its elements are what it says of them, and refused if not") {
  const PartialShape any = PartialShape::unknown();
  CHECK(sent(list_of(DType::f32, any, {kFloats, Tensor::scalar(1.0f)}, {1})).ok());
  CHECK(sent(list_of(DType::f32, {kUnknownDim}, {kFloats})).ok());
  CHECK(sent(list_of(DType::string, {2}, {kText})).ok());
  CHECK(sent(list_of(DType::f32, any, {})).ok());
  const auto refused = [](Variant variant, std::string_view says, std::string_view is) {
    const Status status = sent(std::move(variant));
    CHECK(status.code() == Code::invalid_argument);
    CHECK_MESSAGE(status.message().find(says) != std::string::npos, status.to_string());
    CHECK_MESSAGE(status.message().find(is) != std::string::npos, status.to_string());
  };
  const Tensor small = Tensor::zeros(DType::i8, {2}).value();
  refused(list_of(DType::f32, any, {kText}), "elements are float", "number 0 of");
  refused(list_of(DType::f32, any, {kFloats, kText}), "elements are float", "number 1 of");
  refused(list_of(DType::f32, any, {Tensor::vector<Variant>({Variant()})}), "are float",
          "is variant");
  refused(list_of(DType::string, any, {kFloats}), "elements are string", "is float");
  refused(list_of(DType::f64, any, {small}, {0}), "elements are double", "is int8");
  refused(list_of(DType::f32, {3}, {kFloats}), "of shape [3]", "of shape [2]");
  // A list in a list.
  const Tensor inner = Tensor::scalar(list_of(DType::f32, any, {kText}));
  refused(list_of(DType::variant, any, {inner}), "elements are float", "is string");
}

TEST_CASE("a list whose metadata is cut or impossible is refused") {
  const Variant good = list_of(DType::f32, {2}, {kFloats}, {0});
  REQUIRE(sent(good).ok());
  for (size_t length = 0; length + 4 < good.metadata.size(); ++length)
    CHECK_FALSE(sent({good.type_name, good.metadata.substr(0, length), good.tensors}).ok());
  CHECK_FALSE(sent({good.type_name, "\xff\xff\xff\xff\x0f", {}}).ok());
  CHECK_FALSE(sent(list_of(DType::f32, {2}, {kFloats}, {7})).ok());     // of two
  CHECK_FALSE(sent(list_of(DType::f32, {2}, {kFloats}, {1, 0})).ok());  // not ascending
}

TEST_CASE("an optional is decoded if it says whether it holds something, and does") {
  CHECK(sent(optional_of("\1", {kFloats, kText})).ok());
  CHECK(sent(optional_of("\1", {})).ok());
  CHECK(sent(optional_of(std::string(1, '\0'), {})).ok());
  const auto why = [](std::string metadata, std::vector<Tensor> components) {
    const Status status = sent(optional_of(std::move(metadata), std::move(components)));
    CHECK(status.code() == Code::invalid_argument);
    return status.to_string();
  };
  CHECK(why("", {}).find("has 0 bytes") != std::string::npos);
  CHECK(why("\2", {kFloats}).find("it must be one byte") != std::string::npos);
  CHECK(why(std::string(1, '\0'), {kFloats})
            .find("holds nothing, and has 1 components, the first "
                  "of them float") != std::string::npos);
}

TEST_CASE("variants of other types are passed on as they are") {
  CHECK(sent({"somebody's own", "\2", {kText}}).ok());
}

}  // namespace
}  // namespace millrace::wire
