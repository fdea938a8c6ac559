#include "millrace/ops/state/tensor_array.h"

#include <doctest/doctest.h>

#include "millrace/ops/state/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

const Tensor kFlow = Tensor::scalar(0.0f);

struct Fixture {
  OpRegistry ops;
  std::unique_ptr<Bench> bench;
  Tensor handle;

  Fixture() {
    REQUIRE(register_state(ops).ok());
    bench = std::make_unique<Bench>(ops);
  }
  Result<Tensor> run(std::string_view op, std::vector<Value> inputs, Attrs attrs = {}) {
    MR_ASSIGN(auto outputs, bench->run(op, std::move(inputs), {.attrs = std::move(attrs)}));
    return outputs.empty() ? Tensor() : outputs[0].tensor;
  }
  void make(int32_t size, Attrs attrs = {}) {
    attrs.set("dtype", DType::f32);
    handle = *run("TensorArrayV3", {Tensor::scalar(size)}, std::move(attrs));
  }
  Status write(int32_t index, Tensor value) {
    return run("TensorArrayWriteV3", {handle, Tensor::scalar(index), std::move(value), kFlow})
        .status();
  }
  Result<Tensor> read(int32_t index) {
    return run("TensorArrayReadV3", {handle, Tensor::scalar(index), kFlow},
               {{"dtype", DType::f32}});
  }
};

TEST_CASE("an element is written once and, unless kept, read once") {
  Fixture f;
  f.make(2);
  REQUIRE(f.write(0, Tensor::scalar(1.0f)).ok());
  CHECK(f.write(0, Tensor::scalar(1.0f)).message().ends_with("already been written to."));
  CHECK(*f.read(0) == Tensor::scalar(1.0f));
  CHECK(f.read(0).status().message().find("cleared after a previous read") != std::string::npos);
  f.make(1, {{"clear_after_read", false}});
  REQUIRE(f.write(0, Tensor::scalar(1.0f)).ok());
  CHECK(f.read(0).ok());
  CHECK(f.read(0).ok());
}

TEST_CASE("an array grows only if it may") {
  Fixture f;
  f.make(1);
  CHECK(f.write(1, Tensor::scalar(1.0f)).message().ends_with("not resizeable and size is: 1"));
  f.make(1, {{"dynamic_size", true}});
  REQUIRE(f.write(4, Tensor::scalar(1.0f)).ok());
  CHECK(*f.run("TensorArraySizeV3", {f.handle, kFlow}) == Tensor::scalar<int32_t>(5));
  CHECK(f.write(INT32_MAX, Tensor::scalar(1.0f)).code() == Code::invalid_argument);
  CHECK(f.write(-1, Tensor::scalar(1.0f)).code() == Code::invalid_argument);
}

TEST_CASE("rows go in one by one and come out stacked or joined") {
  Fixture f;
  f.make(2, {{"clear_after_read", false}});
  const Tensor rows = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  const Tensor indices = Tensor::vector<int32_t>({1, 0});
  REQUIRE(f.run("TensorArrayScatterV3", {f.handle, indices, rows, kFlow}).ok());
  CHECK(*f.run("TensorArrayGatherV3", {f.handle, indices, kFlow}, {{"dtype", DType::f32}}) == rows);
  CHECK(*f.run("TensorArrayConcatV3", {f.handle, kFlow}, {{"dtype", DType::f32}}) ==
        Tensor::vector<float>({3, 4, 1, 2}));
}

TEST_CASE("pieces of several lengths go in and come out with their lengths") {
  Fixture f;
  f.make(2);
  const Tensor value = Tensor::vector<float>({1, 2, 3});
  CHECK(f.run("TensorArraySplitV3", {f.handle, value, Tensor::vector<int64_t>({1, 3}), kFlow})
            .status()
            .code() == Code::invalid_argument);
  f.make(2);
  const Tensor lengths = Tensor::vector<int64_t>({1, 2});
  REQUIRE(f.run("TensorArraySplitV3", {f.handle, value, lengths, kFlow}).ok());
  const auto outputs =
      f.bench->run("TensorArrayConcatV3", {f.handle, kFlow}, {.attrs = {{"dtype", DType::f32}}});
  CHECK((*outputs)[0].tensor == value);
  CHECK((*outputs)[1].tensor == lengths);
}

TEST_CASE("gradients that are written twice add up, and those never written are zeros") {
  Fixture f;
  f.make(2, {{"element_shape", PartialShape{2}}});
  const Attrs source = {{"source", "gradients"}};
  const Tensor again = *f.run("TensorArrayGradV3", {f.handle, kFlow}, source);
  f.handle = *f.run("TensorArrayGradV3", {f.handle, kFlow}, source);
  CHECK(again.item<ResourceHandle>() == f.handle.item<ResourceHandle>());
  const Tensor one = Tensor::vector<float>({1, 2});
  REQUIRE(f.write(0, one).ok());
  REQUIRE(f.write(0, one).ok());
  CHECK(*f.read(0) == Tensor::vector<float>({2, 4}));
  CHECK(*f.read(1) == Tensor::vector<float>({0, 0}));
}

TEST_CASE("past the end of an array of gradients there are zeros, with which it grows") {
  Fixture f;
  f.make(2, {{"element_shape", PartialShape{2}}});
  CHECK_FALSE(f.read(3).ok());
  f.handle = *f.run("TensorArrayGradV3", {f.handle, kFlow}, {{"source", "gradients"}});
  CHECK(*f.read(3) == Tensor::vector<float>({0, 0}));
  CHECK(*f.run("TensorArraySizeV3", {f.handle, kFlow}) == Tensor::scalar<int32_t>(4));
  CHECK(f.read(INT32_MAX).status().code() == Code::invalid_argument);
  CHECK(f.read(-1).status().code() == Code::invalid_argument);
}

TEST_CASE("what was never written reads as zeros if its shape is known") {
  Fixture f;
  f.make(2);
  CHECK(f.read(0).status().message().find("not fully defined") != std::string::npos);
  f.make(2, {{"element_shape", PartialShape{2}}});
  CHECK(*f.read(0) == Tensor::vector<float>({0, 0}));
  f.make(2, {{"identical_element_shapes", true}});
  REQUIRE(f.write(1, Tensor::scalar(1.0f)).ok());
  CHECK(*f.read(0) == Tensor::scalar(0.0f));
}

TEST_CASE(
    "the gradients of pieces are joined as the pieces were, whatever was written after them") {
  Fixture f;
  f.make(1, {{"dynamic_size", true}});
  const Tensor value = Tensor::vector<float>({1, 2, 3});
  const Tensor lengths = Tensor::vector<int64_t>({1, 2});
  REQUIRE(f.run("TensorArraySplitV3", {f.handle, value, lengths, kFlow}).ok());
  REQUIRE(f.write(2, Tensor::vector<float>({4})).ok());
  f.handle = *f.run("TensorArrayGradV3", {f.handle, kFlow}, {{"source", "gradients"}});
  REQUIRE(f.write(0, Tensor::vector<float>({5})).ok());
  CHECK(*f.run("TensorArrayConcatV3", {f.handle, kFlow}, {{"dtype", DType::f32}}) ==
        Tensor::vector<float>({5, 0, 0}));
}

TEST_CASE("nothing joined is empty if the shape of the elements is known") {
  Fixture f;
  f.make(0);
  CHECK(f.run("TensorArrayConcatV3", {f.handle, kFlow}, {{"dtype", DType::f32}}).status().code() ==
        Code::unimplemented);
  CHECK(f.run("TensorArrayConcatV3", {f.handle, kFlow},
              {{"dtype", DType::f32}, {"element_shape_except0", PartialShape{5}}})
            ->shape() == Shape{0, 5});
}

TEST_CASE("pieces that do not make up the value, or more than the array holds, are refused") {
  Fixture f;
  f.make(2);
  const auto split = [&](Tensor lengths) {
    return f
        .run("TensorArraySplitV3",
             {f.handle, Tensor::vector<float>({1, 2, 3}), std::move(lengths), kFlow})
        .status()
        .message();
  };
  CHECK(split(Tensor::scalar<int64_t>(3)) == "Expected lengths to be a vector, received shape: []");
  CHECK(split(Tensor::vector<int64_t>({-1, 4})) == "lengths[0] is -1, below 0");
  CHECK(split(Tensor::vector<int64_t>({INT64_MAX, 4})).find("overflows") != std::string::npos);
  CHECK(split(Tensor::vector<int64_t>({1})).find("sum of lengths is 1") != std::string::npos);
  CHECK(split(Tensor::vector<int64_t>({3})).find("(2 vs. 1)") != std::string::npos);
}

TEST_CASE("elements of another type or shape are refused, and so is a closed array") {
  Fixture f;
  f.make(2, {{"identical_element_shapes", true}});
  CHECK(f.write(0, Tensor::scalar<int32_t>(1)).code() == Code::invalid_argument);
  REQUIRE(f.write(0, Tensor::scalar(1.0f)).ok());
  CHECK(f.write(1, Tensor::vector<float>({1})).code() == Code::invalid_argument);
  REQUIRE(f.run("TensorArrayCloseV3", {f.handle}).ok());
  CHECK(f.read(0).status().message().ends_with("has already been closed."));
}

TEST_CASE("a stack gives back in the opposite order, up to its limit") {
  Fixture f;
  const Tensor stack = *f.run("StackV2", {Tensor::scalar<int32_t>(2)}, {{"elem_type", DType::f32}});
  for (const float value : {1.0f, 2.0f})
    CHECK(*f.run("StackPushV2", {stack, Tensor::scalar(value)}) == Tensor::scalar(value));
  CHECK(f.run("StackPushV2", {stack, kFlow}).status().message().ends_with("its max_size (2)"));
  const auto pop = [&] { return f.run("StackPopV2", {stack}, {{"elem_type", DType::f32}}); };
  CHECK(*pop() == Tensor::scalar(2.0f));
  CHECK(*pop() == Tensor::scalar(1.0f));
  CHECK(pop().status().message().ends_with("is empty when calling Pop()."));
  REQUIRE(f.run("StackCloseV2", {stack}).ok());
  CHECK(pop().status().message().ends_with("has already been closed."));
}

TEST_CASE("arrays of before TensorFlow 1.0 do the same behind strings and references") {
  for (const std::string version : {"", "V2"}) {
    CAPTURE(version);
    Fixture f;
    const auto op = [&](std::string_view name) { return str_cat("TensorArray", name, version); };
    const Attrs dtype{{"dtype", DType::f32}};
    const Value handle =
        f.bench->run(op(""), {Tensor::scalar<int32_t>(2)}, {.attrs = dtype}).value()[0];
    CHECK((handle.ref != nullptr) == version.empty());
    const Tensor rows = Tensor::of<float>({2, 1}, {1, 2});
    const Tensor both = Tensor::vector<int32_t>({1, 0});
    REQUIRE(f.run(op("Scatter"), {handle, both, rows, kFlow}).ok());
    CHECK(*f.run(op("Gather"), {handle, Tensor::vector<int32_t>({0}), kFlow}, dtype) ==
          Tensor::of<float>({1, 1}, {2}));
    CHECK(*f.run(op("Size"), {handle, kFlow}) == Tensor::scalar<int32_t>(2));
    const Value gradients =
        f.bench->run(op("Grad"), {handle, kFlow}, {.attrs = {{"source", AttrValue("g")}}})
            .value()[0];
    const Tensor first = Tensor::scalar<int32_t>(0), row = Tensor::vector<float>({3});
    CHECK(f.run(op("Write"), {gradients, first, rows, kFlow})
              .status()
              .message()
              .find("the existing shape is [1]") != std::string::npos);
    REQUIRE(f.run(op("Write"), {gradients, first, row, kFlow}).ok());
    CHECK(*f.run(op("Read"), {gradients, first, kFlow}, dtype) == row);
    REQUIRE(f.run(op("Close"), {handle}).ok());
    CHECK_FALSE(f.run(op("Gather"), {handle, both, kFlow}, dtype).ok());
  }
}

TEST_CASE("Pack takes all elements of an array, and Unpack fills them") {
  Fixture f;
  const Attrs dtype{{"dtype", DType::f32}};
  const Value handle = f.bench
                           ->run("TensorArray", {Tensor::scalar<int32_t>(2)},
                                 {.attrs = {{"dtype", DType::f32}, {"clear_after_read", false}}})
                           .value()[0];
  const Tensor rows = Tensor::of<float>({2, 1}, {1, 2});
  CHECK(f.run("TensorArrayUnpack", {handle, Tensor::vector<float>({1, 2, 3}), kFlow})
            .status()
            .code() == Code::invalid_argument);
  REQUIRE(f.run("TensorArrayUnpack", {handle, rows, kFlow}).ok());
  CHECK(*f.run("TensorArrayPack", {handle, kFlow}, dtype) == rows);
}

TEST_CASE("an array of gradients may have more dims than the array that it belongs to") {
  Fixture f;
  f.make(1);
  REQUIRE(f.write(0, Tensor::vector<float>({1, 2})).ok());
  const Tensor gradients =
      *f.run("TensorArrayGradWithShape", {f.handle, kFlow, Tensor::vector<int32_t>({3})},
             {{"source", AttrValue("g")}});
  f.handle = gradients;
  // What was never written is zeros of that shape.
  CHECK(*f.read(0) == *Tensor::zeros(DType::f32, {3, 2}));
}

}  // namespace
}  // namespace millrace
