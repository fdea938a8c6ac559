// Datasets of parsed Examples through their ops: which component each feature is, and what is
// refused.
#include <doctest/doctest.h>

#include "millrace/ops/data/testing/pipeline.h"
#include "millrace/ops/parsing/testing/messages.h"
#include "millrace/tensor/boxes.h"

namespace millrace::data {
namespace {

using testing::number;
using testing::Pipeline;

// Of a dense feature "b", a sparse one "c" and a ragged one "a".
struct Node {
  std::string op = "ParseExampleDatasetV2";
  int64_t calls = 2;
  Tensor fallback = Tensor::vector<int64_t>({7});
  std::string ragged = "a";
  std::vector<DType> types = {DType::variant, DType::i64, DType::variant};

  Attrs attrs() const {
    Attrs made = Pipeline::outputs(types);
    made.set("sparse_keys", AttrValue::List<std::string>({"c"}));
    made.set("dense_keys", AttrValue::List<std::string>({"b"}));
    made.set("sparse_types", AttrValue::List<DType>({DType::string}));
    made.set("dense_shapes", AttrValue::List<PartialShape>({PartialShape{1}}));
    made.set("ragged_keys", AttrValue::List<std::string>({ragged}));
    made.set("ragged_value_types", AttrValue::List<DType>({DType::f32}));
    made.set("ragged_split_types", AttrValue::List<DType>({DType::i32}));
    return made;
  }
};

class ParsingTest {
 public:
  // A dataset of batches of two of these.
  explicit ParsingTest(std::vector<std::string> examples) {
    const std::vector<DType> types = {DType::string};
    Attrs attrs = Pipeline::outputs(types);
    attrs.set("Toutput_types", AttrValue::List<DType>(types));
    const Tensor single =
        made.derive("TensorSliceDataset", {vector_of(std::move(examples))}, attrs);
    batches = made.derive("BatchDatasetV2", {single, number(2), Tensor::scalar(false)},
                          Pipeline::outputs(types));
  }
  Tensor parsed(const Node& node) {
    return made.derive(node.op, {batches, number(node.calls), node.fallback}, node.attrs());
  }
  std::string refused(const Node& node) {
    return std::string(
        made.status_of(node.op, {batches, number(node.calls), node.fallback}, node.attrs())
            .message());
  }
  std::vector<Tensor> first(const Node& node) {
    const auto running = made.next(made.iterator(parsed(node), node.types), node.types);
    made.pool.run_all();
    std::vector<Tensor> element;
    for (const Value& value : running->outputs().value()) element.push_back(value.tensor);
    return element;
  }

  Pipeline made;
  Tensor batches;
};

TEST_CASE("features are components in the order of their keys, lists of them in variants") {
  ParsingTest t({example({{"a", floats({1, 2})}, {"c", texts({"x"})}}),
                 example({{"b", ints({3})}, {"c", texts({"y", "z"})}})});
  for (const int64_t calls : {1, 2, -1}) {
    const std::vector<Tensor> element = t.first({.calls = calls});
    REQUIRE(element.size() == 3);
    const Variant ragged = element[0].item<Variant>();
    CHECK(ragged.type_name == kBoxedRagged);
    CHECK(ragged.tensors[0] == Tensor::vector<int32_t>({0, 2, 2}));
    CHECK(ragged.tensors[1] == Tensor::vector<float>({1, 2}));
    CHECK(element[1] == Tensor::of<int64_t>({2, 1}, {7, 3}));
    const auto sparse = element[2].flat<Variant>();
    REQUIRE(sparse.size() == 3);
    CHECK(sparse[0].tensors[0] == Tensor::of<int64_t>({3, 2}, {0, 0, 1, 0, 1, 1}));
    CHECK(sparse[1].tensors[0] == Tensor::vector<std::string>({"x", "y", "z"}));
    CHECK(sparse[2].tensors[0] == Tensor::vector<int64_t>({2, 2}));
  }
}

TEST_CASE("a batch with an error is left out, and the next ones are there, in their order") {
  ParsingTest t({"", "no Example", example({{"b", ints({1})}}), example({{"b", ints({2})}}), ""});
  Attrs attrs = Pipeline::outputs({DType::i64});
  for (const char* name : {"sparse_keys", "ragged_keys"})
    attrs.set(name, AttrValue::List<std::string>({}));
  for (const char* name : {"sparse_types", "ragged_value_types", "ragged_split_types"})
    attrs.set(name, AttrValue::List<DType>({}));
  attrs.set("dense_keys", AttrValue::List<std::string>({"b"}));
  attrs.set("dense_shapes", AttrValue::List<PartialShape>({PartialShape::scalar()}));
  for (const int64_t calls : {1, 3}) {
    const std::string all = t.made.all(
        t.made.derive("ParseExampleDataset", {t.batches, number(calls), number(7)}, attrs));
    CHECK(all.starts_with("Could not parse example input, example 1"));
    CHECK(all.ends_with(" [1 2] [7]"));
  }
}

TEST_CASE("there are as many elements as there were") {
  ParsingTest t({"", "", ""});
  const auto made = t.made.bench->run("DatasetCardinality", {t.parsed({})}, {.attrs = {}});
  REQUIRE(made.ok());
  CHECK((*made)[0].tensor.item<int64_t>() == 2);
}

TEST_CASE("a node that contradicts itself is refused when the dataset is made") {
  ParsingTest t({""});
  CHECK(t.refused({.calls = 0}) == "num_parallel_calls must be greater than zero.");
  CHECK(t.refused({.ragged = "c"}) == "Duplicate key not allowed: c");
  CHECK(t.refused({.types = {DType::variant, DType::f32, DType::variant}})
            .starts_with("Got wrong type for FastParseExample return value 1"));
  CHECK(t.refused({.types = {DType::variant, DType::i64}}) ==
        "there are 3 features and 2 output_types");
  CHECK(t.refused({.fallback = Tensor::vector<int64_t>({1, 2})}).find("'b'") != std::string::npos);
}

}  // namespace
}  // namespace millrace::data
