// Messages into tensors: what features become, and bytes that nobody should have sent.
#include <algorithm>

#include "doctest/doctest.h"

#include "millrace/base/str_cat.h"
#include "millrace/format/wire_format.h"
#include "millrace/ops/parsing/families.h"
#include "millrace/ops/parsing/testing/messages.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

const OpRegistry& parsing_ops() {
  static const OpRegistry* const kOps = [] {
    auto* made = new OpRegistry;
    REQUIRE(register_parsing(*made).ok());
    return made;
  }();
  return *kOps;
}

Tensor nothing(DType dtype) { return *Tensor::zeros(dtype, {0}); }

// Parses a dense "a" of two floats (or of a varying number), and a sparse "b" of integers.
Result<std::vector<Tensor>> parse(std::vector<std::string> messages,
                                  Tensor fallback = nothing(DType::f32), PartialShape shape = {2}) {
  return run_op(
      parsing_ops(), "ParseExample",
      {vector_of(std::move(messages)), vector_of({}), text("b"), text("a"), std::move(fallback)},
      {{"Nsparse", AttrValue(1)},
       {"Ndense", AttrValue(1)},
       {"sparse_types", AttrValue(std::vector<DType>{DType::i64})},
       {"Tdense", AttrValue(std::vector<DType>{DType::f32})},
       {"dense_shapes", AttrValue(std::vector<PartialShape>{std::move(shape)})}});
}

TEST_CASE("dense features become rows, sparse ones places and values") {
  const auto parsed =
      parse({example({{"a", floats({1, 2})}, {"b", ints({5, -6})}, {"c", ints({1})}}),
             example({{"a", floats({3, 4})}}), example({{"b", ints({7})}, {"a", floats({5, 6})}})})
          .value();
  CHECK(parsed[0] == Tensor::of<int64_t>({3, 2}, {0, 0, 0, 1, 2, 0}));
  CHECK(parsed[1] == Tensor::vector<int64_t>({5, -6, 7}));
  CHECK(parsed[2] == Tensor::vector<int64_t>({3, 2}));
  CHECK(parsed[3] == Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6}));
}

TEST_CASE("many examples are parsed as few are, and the first error is told") {
  constexpr int kMany = 2000;
  std::vector<std::string> messages;
  std::vector<float> dense;
  std::vector<int64_t> places, values;
  for (int i = 0; i < kMany; ++i) {
    const auto number = static_cast<float>(i);
    Entries entries{{"a", floats({number, -number})}, {"c", texts({std::string(400, 'x')})}};
    if (i % 3 > 0) entries.emplace_back("b", i % 3 == 1 ? ints({i}) : ints({i, i}));
    messages.push_back(example(entries));
    dense.insert(dense.end(), {number, -number});
    for (int k = 0; k < i % 3; ++k) {
      places.insert(places.end(), {i, k});
      values.push_back(i);
    }
  }
  const auto parsed = parse(messages).value();
  CHECK(parsed[0].shape() == Shape{std::ssize(values), 2});
  CHECK(std::ranges::equal(parsed[0].flat<int64_t>(), places));
  CHECK(std::ranges::equal(parsed[1].flat<int64_t>(), values));
  CHECK(parsed[2] == Tensor::vector<int64_t>({kMany, 2}));
  CHECK(parsed[3].shape() == Shape{kMany, 2});
  CHECK(std::ranges::equal(parsed[3].flat<float>(), dense));
  for (const int bad : {1999, 1500, 700, 3}) {
    messages[static_cast<size_t>(bad)] = example({{"a", floats({1})}});
    CHECK(parse(messages).status().message().find(str_cat("Index: ", bad, ".")) !=
          std::string::npos);
  }
}

TEST_CASE("what is missing has its default, or is named") {
  const std::string without = example({{"b", ints({1})}});
  CHECK(parse({without}, Tensor::vector<float>({8, 9})).value()[3] ==
        Tensor::of<float>({1, 2}, {8, 9}));
  CHECK(parse({without}).status().message() ==
        "Name: <unknown>, Feature: a (data type: float) is required but could not be found.");
  // A feature that holds nothing is missing as well.
  CHECK_FALSE(parse({example({{"a", ""}})}).ok());
}

TEST_CASE("the last of two features of one key counts") {
  CHECK(parse({example({{"a", floats({1, 2})}, {"a", floats({3, 4})}})}).value()[3] ==
        Tensor::of<float>({1, 2}, {3, 4}));
}

TEST_CASE("features of varying length are padded to the longest") {
  const auto parsed =
      parse({example({{"a", floats({1, 2, 3, 4})}}), example({}), example({{"a", floats({5, 6})}})},
            Tensor::vector<float>({-1}), {kUnknownDim, 2})
          .value();
  CHECK(parsed[3] == Tensor::of<float>({3, 2, 2}, {1, 2, 3, 4, -1, -1, -1, -1, 5, 6, -1, -1}));
}

TEST_CASE("numbers that are not packed are the same numbers") {
  std::string list;
  wire::put_float_field(&list, 1, 1);
  wire::put_float_field(&list, 1, 2);
  CHECK(parse({example({{"a", field_of(2, list)}})}).value()[3] ==
        Tensor::of<float>({1, 2}, {1, 2}));
}

TEST_CASE("features of another type or size are refused with the example and the key") {
  CHECK(parse({example({{"a", ints({1, 2})}})}).status().message() ==
        "Name: <unknown>, Key: a, Index: 0.  Data types don't match. Data type: int64 but expected "
        "type: float");
  CHECK(parse({example({{"a", floats({1})}})}).status().message() ==
        "Name: <unknown>, Key: a, Index: 0.  Number of float values != expected.  values size: 1 "
        "but output shape: [2]");
  CHECK(parse({example({{"a", floats({1, 2, 3})}})}, Tensor::vector<float>({-1}), {kUnknownDim, 2})
            .status()
            .message()
            .find("Number of float values is not a multiple of stride length. Saw 3") !=
        std::string::npos);
  CHECK(parse({example({{"a", floats({1, 2, 3})}})})
            .status()
            .message()
            .find("Can't parse serialized Example: Number of float values != expected.") !=
        std::string::npos);
}

TEST_CASE("bytes that are cut off anywhere are an error or a shorter message, never a crash") {
  const std::string whole =
      example({{"a", floats({1, 2})}, {"b", ints({1, 300, -1})}, {"c", texts({"x", "yz"})}});
  for (size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    (void)parse({whole.substr(0, length)}, Tensor::vector<float>({0, 0}));
    std::string flipped = whole;
    for (int bit = 0; bit < 8; ++bit) {
      flipped[length] = static_cast<char>(whole[length] ^ (1 << bit));
      (void)parse({flipped}, Tensor::vector<float>({0, 0}));
    }
  }
  CHECK_FALSE(parse({"\xff\xff\xff\xff"}).ok());
  CHECK_FALSE(parse({field_of(1, "\x0a\x7f")}).ok());
}

TEST_CASE("a batch that would be padded out of all bounds is refused before it is made") {
  std::vector<std::string> many(1 << 18, example({}));
  std::string numbers;
  for (int i = 0; i < 1 << 20; ++i) wire::put_float_field(&numbers, 1, 1);
  many.push_back(example({{"a", field_of(2, numbers)}}));
  const Status status = parse(std::move(many), Tensor::vector<float>({-1}), {kUnknownDim}).status();
  CHECK(status.code() == Code::resource_exhausted);
}

TEST_CASE("one example has no axis for a batch") {
  const auto parsed = run_op(parsing_ops(), "ParseSingleExample",
                             {text(example({{"a", floats({1, 2})}, {"b", texts({"x", "y"})}})),
                              nothing(DType::f32)},
                             {{"num_sparse", AttrValue(1)},
                              {"sparse_keys", AttrValue(std::vector<std::string>{"b"})},
                              {"dense_keys", AttrValue(std::vector<std::string>{"a"})},
                              {"sparse_types", AttrValue(std::vector<DType>{DType::string})},
                              {"Tdense", AttrValue(std::vector<DType>{DType::f32})},
                              {"dense_shapes", AttrValue(std::vector<PartialShape>{{2}})}})
                          .value();
  CHECK(parsed[0] == Tensor::of<int64_t>({2, 1}, {0, 1}));
  CHECK(parsed[1] == vector_of({"x", "y"}));
  CHECK(parsed[2] == Tensor::vector<int64_t>({2}));
  CHECK(parsed[3] == Tensor::vector<float>({1, 2}));
}

TEST_CASE("raw bytes of a length that makes no numbers are refused") {
  const auto raw = [](std::vector<std::string> values) {
    return run_op(parsing_ops(), "DecodeRaw", {vector_of(std::move(values))},
                  {{"out_type", DType::i32}})
        .status()
        .message();
  };
  CHECK(raw({"abcde"}) ==
        "Input to DecodeRaw has length 5 that is not a multiple of 4, the size of int32");
  CHECK(raw({"abcd", "abcdefgh"}) ==
        "DecodeRaw requires input strings to all be the same size, but element 1 has size 8 != 4");
}

TEST_CASE("records that are none are refused with the record and the field") {
  const auto csv = [](std::string record) {
    return run_op(parsing_ops(), "DecodeCSV",
                  {vector_of({std::move(record)}), nothing(DType::i32), Tensor::vector<float>({0})},
                  {{"OUT_TYPE", AttrValue(std::vector<DType>{DType::i32, DType::f32})}})
        .status()
        .message();
  };
  CHECK(csv("1,2").empty());
  CHECK(csv("1") == "Expect 2 fields but have 1 in record 0");
  CHECK(csv(",2") == "Field 0 is required but missing in record 0!");
  CHECK(csv("x,2") == "Field 0 in record 0 is not a valid int32: x");
  CHECK(csv("1,\"2") == "Quoted field has to end with quote followed by delim or end");
}

TEST_CASE("a column that a record lacks is told with how many of those wanted were there") {
  CHECK(run_op(parsing_ops(), "DecodeCSV",
               {vector_of({"1,2,3"}), Tensor::vector<float>({0}), Tensor::vector<float>({0})},
               {{"OUT_TYPE", AttrValue(std::vector<DType>{DType::f32, DType::f32})},
                {"select_cols", std::vector<int64_t>{0, 3}}})
            .status()
            .message() == "Expect 2 fields but have 1 in record 0: there is no column 3");
}

TEST_CASE("a tensor comes back from its bytes, as the type that it was") {
  const Tensor tensor = Tensor::of<float>({2, 1}, {1, 2});
  const Tensor bytes = run_op(parsing_ops(), "SerializeTensor", {tensor}).value()[0];
  CHECK(run_op(parsing_ops(), "ParseTensor", {bytes}, {{"out_type", DType::f32}}).value()[0] ==
        tensor);
  CHECK(run_op(parsing_ops(), "ParseTensor", {bytes}, {{"out_type", DType::i32}})
            .status()
            .message() == "Type mismatch between parsed tensor (float) and dtype (int32)");
  CHECK(run_op(parsing_ops(), "ParseTensor", {text("bogus")}, {{"out_type", DType::f32}})
            .status()
            .message()
            .starts_with("Could not parse `serialized` as TensorProto, base64: Ym9ndXM=: "));
}

}  // namespace
}  // namespace millrace
