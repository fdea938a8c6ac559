#include "millrace/ops/tensor_list.h"

#include <doctest/doctest.h>

#include "millrace/ops/all.h"
#include "millrace/ops/testing.h"

namespace millrace {
namespace {

const Tensor kAnyShape = Tensor::scalar<int32_t>(-1);

struct Fixture {
  OpRegistry ops;
  std::unique_ptr<Bench> bench;
  Fixture() {
    REQUIRE(register_all_ops(ops).ok());
    bench = std::make_unique<Bench>(ops);
  }

  Result<std::vector<Value>> run(std::string_view op, std::vector<Value> inputs) {
    return bench->run(op, std::move(inputs),
                      {.attrs = {{"element_dtype", DType::f32}, {"shape_type", DType::i32}}});
  }
  Tensor one(std::string_view op, std::vector<Value> inputs) {
    auto outputs = run(op, std::move(inputs));
    REQUIRE_MESSAGE(outputs.ok(), outputs.status().to_string());
    return (*outputs)[0].tensor;
  }
  std::string why(std::string_view op, std::vector<Value> inputs) {
    return std::string(run(op, std::move(inputs)).status().message());
  }
};

Tensor integer(int32_t value) { return Tensor::scalar(value); }

TEST_CASE("what is pushed is popped in the other order") {
  Fixture f;
  Tensor list = f.one("EmptyTensorList", {kAnyShape, integer(2)});
  list = f.one("TensorListPushBack", {list, Tensor::scalar(1.0f)});
  const Tensor longer = f.one("TensorListPushBack", {list, Tensor::vector<float>({2, 3})});
  CHECK(f.one("TensorListLength", {longer}) == integer(2));
  CHECK(f.why("TensorListPushBack", {longer, Tensor::scalar(1.0f)})
            .find("Tried to push item into a full list") != std::string::npos);
  const auto popped = f.run("TensorListPopBack", {longer, kAnyShape});
  CHECK((*popped)[1].tensor == Tensor::vector<float>({2, 3}));
  CHECK(f.one("TensorListLength", {(*popped)[0].tensor}) == integer(1));
  CHECK(f.one("TensorListLength", {longer}) == integer(2));  // lists are values
  const Tensor empty = f.one("EmptyTensorList", {kAnyShape, integer(-1)});
  CHECK(f.why("TensorListPopBack", {empty, kAnyShape}).find("Trying to pop from an empty list") !=
        std::string::npos);
}

TEST_CASE("elements that are not set are zeros of the shape that is known") {
  Fixture f;
  const Tensor two = Tensor::vector<int32_t>({2});
  Tensor list = f.one("TensorListReserve", {two, integer(3)});
  list = f.one("TensorListSetItem", {list, integer(1), Tensor::vector<float>({5, 6})});
  CHECK(f.one("TensorListStack", {list, kAnyShape}) ==
        Tensor::of<float>({3, 2}, {0, 0, 5, 6, 0, 0}));
  CHECK(f.one("TensorListGetItem", {list, integer(0), kAnyShape}) == Tensor::vector<float>({0, 0}));
  CHECK(f.one("TensorListGather", {list, Tensor::vector<int32_t>({1, 1}), kAnyShape}) ==
        Tensor::of<float>({2, 2}, {5, 6, 5, 6}));
  CHECK(f.one("TensorListElementShape", {list}) == two);
  CHECK(f.why("TensorListGetItem", {list, integer(3), kAnyShape})
            .find("Trying to access element 3 in a list with 3 elements.") != std::string::npos);
  CHECK(f.why("TensorListSetItem", {list, integer(-1), Tensor::vector<float>({5, 6})})
            .find("Trying to modify element -1 in a list with 3 elements.") != std::string::npos);
  CHECK(f.why("TensorListSetItem", {list, integer(0), Tensor::scalar(1.0f)})
            .find("incompatible shape") != std::string::npos);
  const Tensor unknown = f.one("TensorListReserve", {kAnyShape, integer(1)});
  CHECK(f.why("TensorListGetItem", {unknown, integer(0), kAnyShape})
            .find("element_shape is not fully defined") != std::string::npos);
}

TEST_CASE("a tensor becomes the list of its rows, and back") {
  Fixture f;
  const Tensor rows = Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor list = f.one("TensorListFromTensor", {rows, kAnyShape});
  CHECK(f.one("TensorListStack", {list, kAnyShape}) == rows);
  CHECK(f.one("TensorListGetItem", {list, integer(2), kAnyShape}) == Tensor::vector<float>({5, 6}));
  const Tensor scattered = f.one(
      "TensorListScatterV2", {rows, Tensor::vector<int32_t>({2, 0, 1}), kAnyShape, integer(-1)});
  CHECK(f.one("TensorListStack", {scattered, kAnyShape}) ==
        Tensor::of<float>({3, 2}, {3, 4, 5, 6, 1, 2}));
  CHECK(f.one("TensorListLength", {f.one("TensorListResize", {list, integer(5)})}) == integer(5));
}

TEST_CASE("a list has the bytes that TensorFlow gives it") {
  TensorList list{
      .dtype = DType::f32, .element_shape = {2, kUnknownDim}, .most = -1, .elements = {}};
  list.elements = {Tensor(), Tensor::scalar(1.0f), Tensor()};
  const Variant variant = std::move(list).to_variant();
  CHECK(variant.type_name == "tensorflow::TensorList");
  CHECK(variant.tensors.size() == 1);
  // two unset: 0 and 2; float; -1; dims 2 and -1
  const std::string minus_one = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
  CHECK(variant.metadata == std::string("\x02\x00\x02\x01", 4) + minus_one +
                                "\x12\x02\x08\x02\x12\x0b\x08" + minus_one);
  const auto again = TensorList::from(variant);
  REQUIRE(again.ok());
  CHECK(again->elements.size() == 3);
  CHECK(again->elements[1] == Tensor::scalar(1.0f));
  CHECK(again->element_shape == PartialShape{2, kUnknownDim});
  CHECK(again->most == -1);
}

TEST_CASE("an optional holds what it was made from, or nothing") {
  Fixture f;
  const auto run = [&](std::string_view op, std::vector<Value> inputs) {
    return f.bench->run(op, std::move(inputs),
                        {.attrs = {{"output_types", std::vector<DType>{DType::f32, DType::i32}},
                                   {"output_shapes", std::vector<PartialShape>{{}, {}}}}});
  };
  const auto some = run("OptionalFromValue", {Tensor::scalar(1.5f), integer(2)});
  REQUIRE_MESSAGE(some.ok(), some.status().to_string());
  const auto nothing = run("OptionalNone", {});
  CHECK((*run("OptionalHasValue", {(*some)[0]}))[0].tensor == Tensor::scalar(true));
  CHECK((*run("OptionalHasValue", {(*nothing)[0]}))[0].tensor == Tensor::scalar(false));
  const auto got = run("OptionalGetValue", {(*some)[0]});
  CHECK((*got)[0].tensor == Tensor::scalar(1.5f));
  CHECK((*got)[1].tensor == integer(2));
  CHECK(run("OptionalGetValue", {(*nothing)[0]}).status().message().find("does not have a value") !=
        std::string::npos);
  CHECK_FALSE(run("OptionalGetValue", {Tensor::scalar(Variant{"x", "", {}})}).ok());
  CHECK_FALSE(run("OptionalGetValue", {(*run("OptionalFromValue", {integer(2)}))[0]}).ok());
}

TEST_CASE("broken variants are refused") {
  Fixture f;
  const auto fault = [](std::string metadata, std::vector<Tensor> tensors = {}) {
    return TensorList::from({"tensorflow::TensorList", std::move(metadata), std::move(tensors)});
  };
  TensorList list{.dtype = DType::f32, .element_shape = {}, .most = 3, .elements = {}};
  list.elements.resize(2);
  const Variant good = std::move(list).to_variant();
  REQUIRE(TensorList::from(good).ok());
  for (size_t length = 0; length + 2 < good.metadata.size(); ++length) {
    CHECK_FALSE(fault(good.metadata.substr(0, length)).ok());
  }
  CHECK_FALSE(fault("\xff\xff\xff\xff\x0f").ok());
  CHECK_FALSE(fault(std::string("\x01\x05\x01\x00", 4)).ok());
  CHECK_FALSE(TensorList::from({"other", "", {}}).ok());
  CHECK(f.run("TensorListReserve", {kAnyShape, integer(INT32_MAX)}).status().code() ==
        Code::resource_exhausted);
  CHECK(f.run("TensorListReserve", {kAnyShape, integer(-1)}).status().code() ==
        Code::invalid_argument);
  CHECK_FALSE(f.run("TensorListLength", {Tensor::scalar(Variant{"x", "", {}})}).ok());
}

}  // namespace
}  // namespace millrace
