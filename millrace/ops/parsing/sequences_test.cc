// Sequences of features into tensors, one message or many; values are TensorFlow's.
#include "doctest/doctest.h"

#include "millrace/ops/parsing/families.h"
#include "millrace/ops/parsing/testing/messages.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

const OpRegistry& sequence_ops() {
  static const OpRegistry* const kOps = [] {
    auto* made = new OpRegistry;
    REQUIRE(register_sequences(*made).ok());
    REQUIRE(register_sequence_batches(*made).ok());
    return made;
  }();
  return *kOps;
}

Tensor none() { return vector_of({}); }
Tensor flags(std::initializer_list<bool> values) { return Tensor::vector<bool>(values); }
Tensor ends(std::initializer_list<int64_t> values) { return Tensor::vector<int64_t>(values); }
Attrs::Entry of(std::string name, std::vector<DType> types) {
  return {std::move(name), AttrValue(std::move(types))};
}
Attrs::Entry of(std::string name, std::vector<PartialShape> shapes) {
  return {std::move(name), AttrValue(std::move(shapes))};
}

// --- one message ---

Result<std::vector<Tensor>> parse_single(const std::string& message, Tensor may_miss) {
  return run_op(sequence_ops(), "ParseSingleSequenceExample",
                {text(message), std::move(may_miss), text("s"), text("d"), text("in1")},
                {{"Ncontext_sparse", AttrValue(0)},
                 {"Ncontext_dense", AttrValue(0)},
                 of("Tcontext_dense", std::vector<DType>{}),
                 {"Nfeature_list_sparse", AttrValue(1)},
                 {"Nfeature_list_dense", AttrValue(1)},
                 of("feature_list_sparse_types", std::vector<DType>{DType::i64}),
                 of("feature_list_dense_types", std::vector<DType>{DType::f32}),
                 of("feature_list_dense_shapes", std::vector<PartialShape>{{2}})});
}

TEST_CASE("the lists of a sequence are steps") {
  const auto parsed =
      parse_single(sequence({}, {{"d", steps({floats({1, 2}), floats({3, 4})})},
                                 {"s", steps({ints({5}), ints({}), ints({6, 7})})}}),
                   none())
          .value();
  CHECK(parsed[0] == Tensor::of<int64_t>({3, 2}, {0, 0, 2, 0, 2, 1}));
  CHECK(parsed[1] == ends({5, 6, 7}));
  CHECK(parsed[2] == ends({3, 2}));
  CHECK(parsed[3] == Tensor::of<float>({2, 2}, {1, 2, 3, 4}));
  CHECK(parse_single("", vector_of({"d"})).value()[3].shape() == Shape{0, 2});
}

TEST_CASE("a step that does not fit is named by its message, its list and its place") {
  CHECK(parse_single("", none())
            .status()
            .message()
            .starts_with("Name: in1, Feature list 'd' is required but could not be found.  Did you "
                         "mean to include "
                         "it in feature_list_dense_missing_assumed_empty"));
  CHECK(parse_single(sequence({}, {{"d", steps({floats({1, 2}), floats({3})})}}), none())
            .status()
            .message() ==
        "Name: in1, Key: d, Index: 1.  Number of float values != expected.  values size: 1 but "
        "output shape: [2].  Feature list 'd' has an unexpected number of values.  Total values "
        "size: 3 is not consistent with output shape: [?,2]");
  CHECK(parse_single(sequence({}, {{"s", steps({floats({1})})}}), vector_of({"d"}))
            .status()
            .message() ==
        "Name: in1, Feature list: s, Index: 0.  Data types don't match. Expected type: int64  "
        "Feature is: float_list");
}

// --- many ---

struct Asked {
  std::vector<std::string> context_sparse = {}, context_dense = {}, context_ragged = {};
  std::vector<std::string> sparse = {}, dense = {}, ragged = {};
  DType type = DType::i64;  // of the lists; the context has floats where it is dense, else int64
  PartialShape shape = {};
  bool may_be_missing = false;
};

Result<std::vector<Tensor>> parse_many(Tensor messages, const Asked& asked, Tensor names = none()) {
  const auto types = [](const auto& keys, DType type) {
    return std::vector<DType>(keys.size(), type);
  };
  std::vector<Tensor> inputs = {std::move(messages),
                                std::move(names),
                                vector_of(asked.context_sparse),
                                vector_of(asked.context_dense),
                                vector_of(asked.context_ragged),
                                vector_of(asked.sparse),
                                vector_of(asked.dense),
                                vector_of(asked.ragged),
                                asked.dense.empty() ? flags({}) : flags({asked.may_be_missing})};
  for (size_t i = 0; i < asked.context_dense.size(); ++i)
    inputs.push_back(*Tensor::zeros(DType::f32, {0}));
  return run_op(
      sequence_ops(), "ParseSequenceExampleV2", std::move(inputs),
      {{"Ncontext_sparse", static_cast<int64_t>(asked.context_sparse.size())},
       {"Nfeature_list_sparse", static_cast<int64_t>(asked.sparse.size())},
       {"Nfeature_list_dense", static_cast<int64_t>(asked.dense.size())},
       of("context_sparse_types", types(asked.context_sparse, DType::i64)),
       of("Tcontext_dense", types(asked.context_dense, DType::f32)),
       of("context_dense_shapes",
          std::vector<PartialShape>(asked.context_dense.size(), PartialShape::scalar())),
       of("context_ragged_value_types", types(asked.context_ragged, DType::i64)),
       of("context_ragged_split_types", types(asked.context_ragged, DType::i32)),
       of("feature_list_sparse_types", types(asked.sparse, asked.type)),
       of("feature_list_dense_types", types(asked.dense, asked.type)),
       of("feature_list_dense_shapes", std::vector<PartialShape>(asked.dense.size(), asked.shape)),
       of("feature_list_ragged_value_types", types(asked.ragged, asked.type)),
       of("feature_list_ragged_split_types", types(asked.ragged, DType::i64))});
}

std::string first() {
  return sequence({{"c", ints({1, 2})}, {"d", floats({1.5})}},
                  {{"s", steps({ints({1}), ints({2, 3})})}, {"t", steps({texts({"x"})})}});
}
std::string second() {
  return sequence(
      {{"c", ints({})}, {"d", floats({2.5})}},
      {{"s", steps({ints({}), ints({4})})}, {"t", steps({texts({"y"}), texts({"z"})})}});
}
Tensor both() { return vector_of({first(), second()}); }

TEST_CASE("contexts of many messages are a batch") {
  const auto parsed =
      parse_many(both(), {.context_sparse = {"c"}, .context_dense = {"d"}, .context_ragged = {"e"}})
          .value();
  CHECK(parsed[0] == Tensor::of<int64_t>({2, 2}, {0, 0, 0, 1}));
  CHECK(parsed[1] == ends({1, 2}));
  CHECK(parsed[2] == ends({2, 2}));
  CHECK(parsed[3] == Tensor::vector<float>({1.5, 2.5}));
  CHECK(parsed[4].num_elements() == 0);
  CHECK(parsed[5] == Tensor::vector<int32_t>({0, 0, 0}));
}

TEST_CASE("lists of many messages are sparse, ragged, or padded to the longest") {
  const auto sparse = parse_many(both(), {.sparse = {"s"}}).value();
  CHECK(sparse[0] == Tensor::of<int64_t>({4, 3}, {0, 0, 0, 0, 1, 0, 0, 1, 1, 1, 1, 0}));
  CHECK(sparse[1] == ends({1, 2, 3, 4}));
  CHECK(sparse[2] == ends({2, 2, 2}));
  const auto ragged = parse_many(both(), {.ragged = {"s"}}).value();
  CHECK(ragged[0] == ends({1, 2, 3, 4}));
  CHECK(ragged[1] == ends({0, 2, 4}));
  CHECK(ragged[2] == ends({0, 1, 3, 3, 4}));
  const auto dense =
      parse_many(both(), {.dense = {"t"}, .type = DType::string, .shape = PartialShape::scalar()})
          .value();
  CHECK(dense[0] == Tensor::of<std::string>({2, 2}, {"x", "", "y", "z"}));
  CHECK(dense[1] == ends({1, 2}));
}

TEST_CASE("a single message has no axis for a batch") {
  const auto sparse = parse_many(text(first()), {.sparse = {"s"}}).value();
  CHECK(sparse[0] == Tensor::of<int64_t>({3, 2}, {0, 0, 1, 0, 1, 1}));
  CHECK(sparse[2] == ends({2, 2}));
  const auto dense =
      parse_many(text(first()),
                 {.dense = {"t"}, .type = DType::string, .shape = PartialShape::scalar()})
          .value();
  CHECK(dense[0] == vector_of({"x"}));
  CHECK(dense[1] == Tensor::scalar(int64_t{1}));
  CHECK(parse_many(text(first()), {.ragged = {"s"}}).value()[2] == ends({0, 1, 3}));
}

TEST_CASE("no message at all is an empty batch") {
  const auto dense = parse_many(none(), {.dense = {"s"}, .shape = {3}}).value();
  CHECK(dense[0].shape() == Shape{0, 0, 3});
  CHECK(parse_many(none(), {.ragged = {"s"}}).value()[2] == ends({0}));
}

TEST_CASE("a list that lacks is empty where that is said, and named elsewhere") {
  const Tensor messages = vector_of({"", first()});
  const auto dense = parse_many(messages, {.dense = {"t"},
                                           .type = DType::string,
                                           .shape = PartialShape::scalar(),
                                           .may_be_missing = true})
                         .value();
  CHECK(dense[0] == Tensor::of<std::string>({2, 1}, {"", "x"}));
  CHECK(dense[1] == ends({0, 1}));
  CHECK(parse_many(messages,
                   {.dense = {"t"}, .type = DType::string, .shape = PartialShape::scalar()},
                   vector_of({"in1", "in2"}))
            .status()
            .message()
            .starts_with("Name: in1, Feature list 't' is required but could not be found."));
}

TEST_CASE("what does not fit together is refused") {
  CHECK(parse_many(both(), {.sparse = {"s"}}, vector_of({"one"}))
            .status()
            .message()
            .starts_with("example_names must be empty or have the correct number of elements"));
  CHECK(parse_many(Tensor::of<std::string>({1, 1}, {""}), {}).status().message() ==
        "Expected serialized to be a scalar or vector, got shape: [1,1]");
  CHECK(parse_many(both(), {.sparse = {"s"}, .ragged = {"s"}}).status().message() ==
        "Sequence feature s cannot be both ragged and sparse");
  CHECK(parse_many(both(), {.dense = {"s"}, .shape = {kUnknownDim, 1}}).status().message() ==
        "Shape [?,1] is not fully defined");
  CHECK(parse_many(both(), {.dense = {"s"}, .shape = {2}}).status().code() ==
        Code::invalid_argument);
  CHECK(parse_many(both(), {.dense = {"s"}, .shape = {0}}).status().code() ==
        Code::invalid_argument);
}

TEST_CASE("sequences that are cut off anywhere are an error or shorter, never a crash") {
  const std::string whole = second();
  const Asked asked{.context_sparse = {"c"}, .sparse = {"s"}, .ragged = {"t"}};
  for (size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    (void)parse_many(vector_of({whole.substr(0, length)}), asked);
    std::string flipped = whole;
    for (int bit = 0; bit < 8; ++bit) {
      flipped[length] = static_cast<char>(whole[length] ^ (1 << bit));
      (void)parse_many(vector_of({flipped}), asked);
    }
  }
}

TEST_CASE("sequences that would be padded out of all bounds are refused before they are made") {
  std::vector<std::string> many(1 << 18, sequence({}, {{"s", ""}}));
  std::string long_list;
  for (int i = 0; i < 1 << 20; ++i) long_list += field_of(1, ints({1}));
  many.push_back(sequence({}, {{"s", long_list}}));
  CHECK(parse_many(vector_of(std::move(many)), {.dense = {"s"}, .shape = PartialShape::scalar()})
            .status()
            .code() == Code::resource_exhausted);
}

}  // namespace
}  // namespace millrace
