// Strings: hashes beside their definitions, and what is refused. Values of the ops are in their
// examples.
#include "doctest/doctest.h"

#include "millrace/ops/loops/hashes.h"
#include "millrace/ops/testing/op_bench.h"
#include "millrace/ops/text/families.h"

namespace millrace {
namespace {

const OpRegistry& text_ops() {
  static const OpRegistry* const kOps = [] {
    auto* made = new OpRegistry;
    REQUIRE(register_text(*made).ok());
    return made;
  }();
  return *kOps;
}

std::string refusal(std::string_view op, std::vector<Tensor> inputs, Attrs attrs = {}) {
  return run_op(text_ops(), op, std::move(inputs), std::move(attrs)).status().message();
}
Tensor words(std::initializer_list<std::string> values) {
  return Tensor::vector<std::string>(values);
}
Tensor word(std::string value) { return Tensor::scalar(std::move(value)); }
Tensor places(std::initializer_list<int32_t> values) { return Tensor::vector<int32_t>(values); }

TEST_CASE("SipHash is what its authors say") {
  // The key 00 01 … 0f and the message 00 01 … 0e of the paper's appendix.
  std::string message;
  for (char c = 0; c < 15; ++c) message.push_back(c);
  CHECK(sip_hash64({0x0706050403020100u, 0x0f0e0d0c0b0a0908u}, message) == 0xa129ca6149be45e5u);
}

TEST_CASE("patterns that are none, and what would grow out of all bounds, are refused") {
  CHECK(refusal("RegexReplace", {words({"a"}), word("a("), word("b")}) ==
        "Invalid pattern: a(, error: missing ): a(");
  CHECK(refusal("StaticRegexFullMatch", {words({"a"})}, {{"pattern", AttrValue("(")}})
            .starts_with("Invalid pattern: ("));
  CHECK(refusal("RegexReplace", {words({"a"}), words({"a"}), word("b")}) ==
        "Pattern must be scalar, but received [1]");
  const std::string long_text(1 << 20, 'a'), rewrite(1 << 20, 'b');
  CHECK(run_op(text_ops(), "RegexReplace", {word(long_text), word("a"), word(rewrite)})
            .status()
            .code() == Code::resource_exhausted);
  std::string groups;
  for (int i = 0; i < 2048; ++i) groups += "\\0";
  CHECK(run_op(text_ops(), "RegexReplace", {word(long_text), word("a+"), word(groups)},
               {{"replace_global", AttrValue(false)}})
            .status()
            .code() == Code::resource_exhausted);
}

TEST_CASE("places outside of a string are named, with the string") {
  CHECK(refusal("Substr", {word("hello"), Tensor::scalar(6), Tensor::scalar(1)}) ==
        "pos 6 out of range for string b'hello' at index 0");
  CHECK(refusal("Substr", {word("hello"), Tensor::scalar(-6), Tensor::scalar(1)}) ==
        "pos -6 out of range for string b'hello' at index 0");
  CHECK(refusal("Substr", {word("hello"), places({1, 2}), places({1})}).starts_with("pos and len"));
}

TEST_CASE("axes that are none, or named twice, are refused") {
  const Tensor matrix = Tensor::of<std::string>({2, 2}, {"a", "b", "c", "d"});
  CHECK(refusal("ReduceJoin", {matrix, places({2})}) ==
        "Invalid reduction dimension 2 for input with 2 dimension(s)");
  CHECK(refusal("ReduceJoin", {matrix, places({0, -2})}) == "Duplicate reduction dimension -2");
}

TEST_CASE("along an axis without elements nothing is joined") {
  const Tensor empty = *Tensor::zeros(DType::string, {0, 2});
  CHECK(run_op(text_ops(), "ReduceJoin", {empty, places({0})}).value()[0] == words({"", ""}));
  CHECK(run_op(text_ops(), "ReduceJoin", {empty, places({1})}).value()[0].num_elements() == 0);
}

TEST_CASE("segments that are none, and ids that don't fit the strings, are refused") {
  const auto join = [](std::initializer_list<int32_t> ids, int32_t count) {
    return refusal("UnsortedSegmentJoin", {words({"a", "b"}), places(ids), Tensor::scalar(count)});
  };
  CHECK(join({0, 2}, 2) ==
        "segment_ids are not allowed to exceed num_segments or to have negative values.");
  CHECK(join({0}, 2) == "Segment dimension is 1 while input dimension is 2 in rank 0");
  CHECK(join({0, 0}, -1) == "Number of segments must be non-negative but got -1");
}

TEST_CASE("what is no base64 is refused") {
  CHECK(refusal("DecodeBase64", {word("Y")}) == "Base64 string length cannot be 1 modulo 4.");
  CHECK(refusal("DecodeBase64", {word("YW+/")}) == "Invalid character found in base64.");
  CHECK(refusal("DecodeBase64", {word("YQ=")}) == "Invalid character found in base64.");
}

TEST_CASE("n-grams of rows that are none are refused") {
  const auto grams = [](std::vector<int64_t> splits, int64_t width) {
    return refusal("StringNGrams",
                   {words({"a", "b"}), Tensor::vector<int64_t>(std::span<const int64_t>(splits))},
                   {{"separator", AttrValue("|")},
                    {"ngram_widths", AttrValue(std::vector<int64_t>{width})},
                    {"left_pad", AttrValue("")},
                    {"right_pad", AttrValue("")},
                    {"pad_width", AttrValue(0)},
                    {"preserve_short_sequences", AttrValue(false)}});
  };
  CHECK(grams({0, 3}, 2) == "Invalid split value 3, must be in [0, 2]");
  CHECK(grams({1, 2}, 2) == "First split value must be 0, got 1");
  CHECK(grams({0, 2}, 0) == "ngram_widths must contain positive values");
}

TEST_CASE("a text has as many placeholders as there are inputs") {
  CHECK(refusal("StringFormat", {word("a")}, {{"template", AttrValue("%s %s")}}) ==
        "num placeholders in template and num inputs must match: 2 vs. 1");
}

TEST_CASE("letters of UTF-8 stay what they are in a text, and what is no letter is spelled out") {
  CHECK(
      run_op(text_ops(), "StringFormat", {word("\u00e9\"\n\x01")}).value()[0].item<std::string>() ==
      "\"\u00e9\\\"\\n\\001\"");
}

}  // namespace
}  // namespace millrace
