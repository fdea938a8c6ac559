#include "millrace/ops/lists/tensor_list.h"

#include <doctest/doctest.h>

#include "millrace/ops/lists/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

const Tensor kAnyShape = Tensor::scalar<int32_t>(-1);

struct Fixture {
  OpRegistry ops;
  std::unique_ptr<Bench> bench;
  Fixture() {
    REQUIRE(register_lists(ops).ok());
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
  CHECK(f.why("TensorListPopBack", {list, Tensor::vector<int32_t>({3})})
            .find("Incompatible shapes during merge: [3] vs. [2]") != std::string::npos);
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

TEST_CASE("a tensor is split into elements of given lengths, and concatenated again") {
  Fixture f;
  const Tensor rows = Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor lengths = Tensor::vector<int64_t>({2, 0, 1});
  const Tensor list = f.one("TensorListSplit", {rows, kAnyShape, lengths});
  CHECK(f.one("TensorListGetItem", {list, integer(2), kAnyShape}) ==
        Tensor::of<float>({1, 2}, {5, 6}));
  const Tensor none = Tensor::vector<int64_t>({});
  for (const auto& again :
       {f.run("TensorListConcatV2", {list, kAnyShape, none}), f.run("TensorListConcat", {list})}) {
    REQUIRE_MESSAGE(again.ok(), again.status().to_string());
    CHECK((*again)[0].tensor == rows);
    CHECK((*again)[1].tensor == lengths);
  }
  const auto why = [&](std::initializer_list<int64_t> wrong) {
    return f.why("TensorListSplit", {rows, kAnyShape, Tensor::vector<int64_t>(wrong)});
  };
  CHECK(why({-1}).find("Invalid value in lengths: -1") != std::string::npos);
  CHECK(why({1, 3}).find("Attempting to slice [1, 4] from tensor with length 3") !=
        std::string::npos);
  CHECK(why({1, INT64_MAX}).find("Attempting to slice") != std::string::npos);
  CHECK(why({2}).find("Unused values in tensor. Length of tensor: 3 Values used: 2") !=
        std::string::npos);
  CHECK(f.why("TensorListSplit", {rows, Tensor::vector<int32_t>({2, 3}), lengths})
            .find("tensor shape [3,2] is not compatible with element_shape [2,3]") !=
        std::string::npos);
}

TEST_CASE("what is not set is concatenated as zeros, as long as it is said to be") {
  Fixture f;
  const Tensor shape = Tensor::vector<int32_t>({-1, 2});
  Tensor list = f.one("TensorListReserve", {kAnyShape, integer(2)});
  list = f.one("TensorListSetItem", {list, integer(0), Tensor::of<float>({1, 2}, {1, 2})});
  const Tensor dims = Tensor::vector<int64_t>({7, 2}), none = Tensor::vector<int64_t>({});
  CHECK(f.one("TensorListConcatV2", {list, shape, dims}) ==
        Tensor::of<float>({3, 2}, {1, 2, 0, 0, 0, 0}));
  CHECK(f.one("TensorListConcatV2", {list, shape, none}) ==
        Tensor::of<float>({2, 2}, {1, 2, 0, 0}));  // the others tell
  const Tensor unset = f.one("TensorListReserve", {kAnyShape, integer(1)});
  const Tensor huge = Tensor::vector<int64_t>({INT64_MAX});
  CHECK(f.why("TensorListConcatV2", {unset, shape, none})
            .find("List contains uninitialized tensor at index 0 but leading_dims has only 0") !=
        std::string::npos);
  CHECK_FALSE(f.run("TensorListConcatV2", {unset, shape, huge}).ok());
  CHECK_FALSE(f.run("TensorListConcatV2", {unset, shape, Tensor::vector<int64_t>({-1})}).ok());
  CHECK(f.why("TensorListConcatV2", {unset, kAnyShape, dims})
            .find("concat list with only uninitialized tensors") != std::string::npos);
  const Tensor empty = f.one("TensorListReserve", {kAnyShape, integer(0)});
  CHECK(f.one("TensorListConcatV2", {empty, shape, none}).shape() == Shape{0, 2});
  CHECK(f.why("TensorListConcatV2", {empty, kAnyShape, none})
            .find("must be fully defined when concating an empty tensor list") !=
        std::string::npos);
  CHECK(f.why("TensorListConcatV2", {empty, Tensor::vector<int32_t>({}), none})
            .find("found scalars instead") != std::string::npos);
}

TEST_CASE("elements of different shapes are not stacked") {
  Fixture f;
  const Tensor empty = f.one("EmptyTensorList", {kAnyShape, integer(-1)});
  Tensor list = f.one("TensorListPushBack", {empty, Tensor::vector<float>({1})});
  list = f.one("TensorListPushBack", {list, Tensor::vector<float>({1, 2})});
  CHECK(f.why("TensorListStack", {list, kAnyShape})
            .find("Incompatible shapes during merge: [1] vs. [2]") != std::string::npos);
  list = f.one("TensorListSetItem", {list, integer(0), Tensor::scalar(0.0f)});
  CHECK(f.why("TensorListGather", {list, Tensor::vector<int32_t>({0, 1}), kAnyShape})
            .find("Incompatible ranks during merge: 0 vs. 1") != std::string::npos);
  CHECK(f.why("TensorListStack", {empty, kAnyShape}).find("elements of an empty list") !=
        std::string::npos);
  const Tensor unset = f.one("TensorListReserve", {kAnyShape, integer(1)});
  CHECK(f.why("TensorListStack", {unset, kAnyShape})
            .find("Tried to stack list which only contains uninitialized tensors and has a "
                  "non-fully-defined element_shape: <unknown>") != std::string::npos);
}

TEST_CASE("rows go to the places that indices say") {
  Fixture f;
  const Tensor rows = Tensor::vector<float>({1, 2});
  const Tensor places = Tensor::vector<int32_t>({3, 1});
  const Tensor scalar = Tensor::vector<int32_t>({});
  const Tensor made = f.one("TensorListScatter", {rows, places, scalar});
  CHECK(f.one("TensorListStack", {made, kAnyShape}) == Tensor::vector<float>({0, 2, 0, 1}));
  Tensor list = f.one("TensorListFromTensor", {Tensor::vector<float>({7, 8, 9}), scalar});
  list = f.one("TensorListScatterIntoExistingList", {list, rows, places});
  CHECK(f.one("TensorListStack", {list, kAnyShape}) == Tensor::vector<float>({7, 2, 9, 1}));
  const Tensor wrong = Tensor::vector<int32_t>({-1, 0});
  CHECK_FALSE(f.run("TensorListScatterIntoExistingList", {list, rows, wrong}).ok());
  CHECK(f.why("TensorListScatterIntoExistingList", {list, rows, integer(1)})
            .find("Expected indices to be a vector") != std::string::npos);
  const Tensor far = Tensor::vector<int32_t>({0, INT32_MAX});
  CHECK(f.run("TensorListScatterIntoExistingList", {list, rows, far}).status().code() ==
        Code::resource_exhausted);
  CHECK(f.run("TensorListScatter", {rows, far, scalar}).status().code() ==
        Code::resource_exhausted);
  CHECK(f.why("TensorListScatterV2", {rows, places, scalar, integer(-2)})
            .find("TensorListScatter expects num_elements >= -1, found: -2") != std::string::npos);
  CHECK(f.why("TensorListScatterV2", {rows, Tensor::vector<int32_t>({0}), scalar, integer(-1)})
            .find("Invalid number of rows in input tensor. Expected: 1 Actual: 2") !=
        std::string::npos);
}

TEST_CASE("several lists get a row each, or are joined with several others") {
  Fixture f;
  const auto vector_of = [](const Tensor& a, const Tensor& b) {
    Tensor made = Tensor::allocate(DType::variant, {2}).value();
    made.mutable_flat<Variant>()[0] = a.item<Variant>();
    made.mutable_flat<Variant>()[1] = b.item<Variant>();
    return made;
  };
  const auto at = [](const Tensor& handles, size_t i) {
    return Tensor::scalar(handles.flat<Variant>()[i]);
  };
  const Tensor any = f.one("EmptyTensorList", {kAnyShape, integer(-1)});
  const Tensor one = f.one("TensorListFromTensor", {Tensor::vector<float>({5}), kAnyShape});
  const Tensor lists = vector_of(any, one);
  const Tensor longer = f.one("TensorListPushBackBatch", {lists, Tensor::vector<float>({1, 2})});
  CHECK(f.one("TensorListStack", {at(longer, 0), kAnyShape}) == Tensor::vector<float>({1}));
  CHECK(f.one("TensorListStack", {at(longer, 1), kAnyShape}) == Tensor::vector<float>({5, 2}));
  const Tensor both = f.one("TensorListConcatLists", {longer, vector_of(one, one)});
  CHECK(f.one("TensorListStack", {at(both, 1), kAnyShape}) == Tensor::vector<float>({5, 2, 5}));
  CHECK(f.why("TensorListPushBackBatch", {any, Tensor::vector<float>({1})})
            .find("Expected input_handles to be a vector") != std::string::npos);
  CHECK(f.why("TensorListPushBackBatch", {lists, Tensor::vector<float>({1})})
            .find("Expected tensor.shape[0] == input_handles.size, but saw 1 vs. 2") !=
        std::string::npos);
  CHECK(f.why("TensorListConcatLists", {lists, any}).find("tensor shapes: [2] vs. []") !=
        std::string::npos);
  const Tensor scalars = f.one("EmptyTensorList", {Tensor::vector<int32_t>({}), integer(-1)});
  CHECK(f.why("TensorListConcatLists", {any, scalars}).find("are not identical at index 0") !=
        std::string::npos);
  CHECK(
      f.why("TensorListPushBackBatch", {vector_of(any, scalars), Tensor::of<float>({2, 1}, {1, 2})})
          .find("incompatible shape to a list at index 1") != std::string::npos);
}

TEST_CASE("a list has the bytes that TensorFlow gives it") {
  TensorList list{
      .dtype = DType::f32, .element_shape = {2, kUnknownDim}, .most = -1, .elements = {}};
  list.elements = {Tensor(), Tensor::scalar(1.0f), Tensor()};
  const Variant variant = std::move(list).to_variant().value();
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

TEST_CASE("a list whose elements are all set moves as it is, until one is added that is not") {
  Fixture f;
  const Tensor rows = Tensor::vector<float>({1, 2, 3});
  const Tensor list = f.one("TensorListFromTensor", {rows, kAnyShape});
  const Tensor* const elements = list.item<Variant>().tensors.data();
  Variant moved = list.item<Variant>();
  const Tensor* const copied = moved.tensors.data();
  REQUIRE(copied != elements);
  auto read = TensorList::from(std::move(moved));
  REQUIRE(read.ok());
  CHECK(read->is_all_set);
  const Variant again = (*std::move(read)).to_variant().value();
  CHECK(again.tensors.data() == copied);
  CHECK(again.metadata == list.item<Variant>().metadata);
  const Tensor longer = f.one("TensorListResize", {Tensor::scalar(again), integer(4)});
  CHECK(f.one("TensorListStack", {longer, kAnyShape}) == Tensor::vector<float>({1, 2, 3, 0}));
  CHECK(f.one("TensorListGetItem", {longer, integer(3), kAnyShape}) == Tensor::scalar(0.0f));
  const Tensor both = f.one("TensorListConcatLists", {list, longer});
  CHECK(f.one("TensorListStack", {both, kAnyShape}) ==
        Tensor::vector<float>({1, 2, 3, 1, 2, 3, 0}));
  const Tensor shorter = f.one("TensorListResize", {longer, integer(2)});
  CHECK(f.one("TensorListStack", {shorter, kAnyShape}) == Tensor::vector<float>({1, 2}));
}

// Metadata that says one thing and tensors that are another, as a program can make them by hand.
Tensor list_that_lies(DType says, PartialShape element_shape, std::vector<Tensor> holds) {
  TensorList list{.dtype = says,
                  .element_shape = std::move(element_shape),
                  .most = -1,
                  .elements = std::move(holds),
                  .is_all_set = true};
  return Tensor::scalar(std::move(list).to_variant().value());
}

TEST_CASE("no op takes an element of a list for what it is not") {
  Fixture f;
  const Tensor ints = Tensor::vector<int32_t>({0}), longs = Tensor::vector<int64_t>({1});
  const auto refused = [&](DType says, PartialShape element_shape, Tensor element) {
    const Tensor list = list_that_lies(says, std::move(element_shape), {std::move(element)});
    const std::vector<std::pair<std::string_view, std::vector<Value>>> uses = {
        {"TensorListStack", {list, kAnyShape}},
        {"TensorListGather", {list, ints, kAnyShape}},
        {"TensorListConcat", {list}},
        {"TensorListConcatV2", {list, kAnyShape, longs}},
        {"TensorListGetItem", {list, integer(0), kAnyShape}},
        {"TensorListPopBack", {list, kAnyShape}}};
    for (const auto& use : uses) {
      CAPTURE(use.first);
      const Status status =
          f.bench
              ->run(use.first, use.second,
                    {.attrs = {{"element_dtype", says}, {"shape_type", DType::i32}}})
              .status();
      CHECK(status.code() == Code::invalid_argument);
      CHECK_MESSAGE(status.message().find(str_cat("says that its elements are ", dtype_name(says),
                                                  " of shape ")) != std::string::npos,
                    status.to_string());
    }
  };
  const Tensor text = Tensor::vector<std::string>({"a text of which a reader would get bytes"});
  const PartialShape any = PartialShape::unknown();
  refused(DType::f32, any, text);
  refused(DType::f32, any, Tensor::vector<Variant>({Variant()}));
  refused(DType::string, any, Tensor::vector<float>({1}));
  refused(DType::string, any, Tensor::vector<int64_t>({1}));
  refused(DType::f64, any, Tensor::zeros(DType::i8, {1}).value());
}

TEST_CASE("broken variants are refused") {
  Fixture f;
  const auto fault = [](std::string metadata, std::vector<Tensor> tensors = {}) {
    return TensorList::from({"tensorflow::TensorList", std::move(metadata), std::move(tensors)});
  };
  TensorList list{.dtype = DType::f32, .element_shape = {}, .most = 3, .elements = {}};
  list.elements.resize(2);
  const Variant good = std::move(list).to_variant().value();
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
