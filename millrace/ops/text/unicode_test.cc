// Texts of encodings: what is malformed, and what is refused; values are TensorFlow's.
#include "doctest/doctest.h"

#include "millrace/ops/testing/op_bench.h"
#include "millrace/ops/text/families.h"

namespace millrace {
namespace {

const OpRegistry& unicode_ops() {
  static const OpRegistry* const kOps = [] {
    auto* made = new OpRegistry;
    REQUIRE(register_unicode(*made).ok());
    return made;
  }();
  return *kOps;
}

using Texts = std::vector<std::string>;

Result<Tensor> transcoded(Texts given, std::string_view to = "UTF-8", Attrs more = {},
                          std::string_view from = "UTF-8") {
  more.set("input_encoding", from);
  more.set("output_encoding", to);
  MR_ASSIGN(auto made, run_op(unicode_ops(), "UnicodeTranscode",
                              {Tensor::vector<std::string>(std::span<const std::string>(given))},
                              std::move(more)));
  return made[0];
}
Texts texts_of(const Tensor& tensor) {
  const auto all = tensor.flat<std::string>();
  return {all.begin(), all.end()};
}

const Texts kBad = {
    "a\xff"
    "b\xc3",
    "\xe2\x82", "x\x01y", "\xed\xa0\x80", ""};
const std::string kMark = "\xef\xbf\xbd";

TEST_CASE("what is malformed is replaced, left out or refused") {
  CHECK(texts_of(*transcoded(kBad)) ==
        Texts{"a" + kMark + "b" + kMark, kMark, "x\x01y", kMark + kMark + kMark, ""});
  CHECK(texts_of(*transcoded(kBad, "UTF-8", {{"errors", "ignore"}})) ==
        Texts{"ab", "", "x\x01y", "", ""});
  CHECK(texts_of(*transcoded(kBad, "UTF-8",
                             {{"errors", "ignore"}, {"replace_control_characters", true}})) ==
        Texts{"ab", "", "xy", "", ""});
  CHECK(texts_of(*transcoded({"a\xff"}, "UTF-8", {{"replacement_char", 63}})) == Texts{"a?"});
  CHECK(transcoded(kBad, "UTF-8", {{"errors", "strict"}}).status().message() ==
        "Invalid formatting on input string");
}

TEST_CASE("texts go from any encoding that ICU knows to those of Unicode") {
  const std::string text = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
  CHECK(texts_of(*transcoded({text}, "UTF-16-BE")) ==
        Texts{std::string("\0a\0\xe9 \xac\xd8=\xde\0", 10)});
  CHECK(texts_of(*transcoded({text}, "UTF-32-BE")) ==
        Texts{std::string("\0\0\0a\0\0\0\xe9\0\0 \xac\0\1\xf6\0", 16)});
  // Where the order of bytes is marked; in the next text it is another one.
  CHECK(texts_of(*transcoded({std::string("\xff\xfe"
                                          "a\0",
                                          4),
                              std::string("\xfe\xff\0a", 4)},
                             "UTF-8", {}, "UTF-16")) == Texts{"a", "a"});
  CHECK(texts_of(*transcoded({"\xe9"}, "UTF-8", {}, "latin1")) == Texts{"\xc3\xa9"});
  for (const std::string_view unknown : {"nonsense", ""}) {
    CHECK(transcoded({"a"}, "UTF-8", {}, unknown).status().message() ==
          "Could not create converter for input encoding: " + std::string(unknown));
  }
  CHECK(transcoded({"a"}, "UTF-8", {{"replacement_char", 0x110000}})
            .status()
            .message()
            .starts_with("replacement_char out of unicode codepoint range"));
}

TEST_CASE("characters begin where their bytes do, also behind what is malformed") {
  const auto decoded = [](std::string_view errors) {
    return run_op(unicode_ops(), "UnicodeDecodeWithOffsets",
                  {Tensor::vector<std::string>(std::span<const std::string>(kBad))},
                  {{"input_encoding", "UTF-8"}, {"errors", errors}});
  };
  const auto kept = decoded("replace").value();
  CHECK(kept[0] == Tensor::vector<int64_t>({0, 4, 5, 8, 11, 11}));
  CHECK(kept[2] == Tensor::vector<int64_t>({0, 1, 2, 3, 0, 0, 1, 2, 0, 1, 2}));
  const auto left_out = decoded("ignore").value();
  CHECK(left_out[0] == Tensor::vector<int64_t>({0, 2, 2, 5, 5, 5}));
  CHECK(left_out[1] == Tensor::vector<int32_t>({97, 98, 120, 1, 121}));
  CHECK(left_out[2] == Tensor::vector<int64_t>({0, 2, 0, 1, 2}));
  CHECK(decoded("strict").status().code() == Code::invalid_argument);
}

Result<Tensor> encoded(std::initializer_list<int32_t> characters,
                       std::initializer_list<int64_t> splits, std::string_view errors) {
  MR_ASSIGN(auto made,
            run_op(unicode_ops(), "UnicodeEncode",
                   {Tensor::vector<int32_t>(characters), Tensor::vector<int64_t>(splits)},
                   {{"output_encoding", "UTF-8"}, {"errors", errors}}));
  return made[0];
}

TEST_CASE("numbers that are no characters are replaced, left out or refused") {
  const auto made = [](std::string_view errors) {
    return encoded({97, 0x20ac, 0x110000, -1, 98, 0xD800}, {0, 2, 2, 6}, errors);
  };
  CHECK(texts_of(*made("replace")) == Texts{"a\xe2\x82\xac", "", kMark + kMark + "b" + kMark});
  CHECK(texts_of(*made("ignore")) == Texts{"a\xe2\x82\xac", "", "b"});
  CHECK(made("strict").status().message() ==
        "Code point is out of range for Unicode, or is a surrogate.");
}

TEST_CASE("splits that are no rows are refused") {
  const auto refusal = [](std::initializer_list<int64_t> splits) {
    return encoded({97, 98}, splits, "replace").status().message();
  };
  CHECK(refusal({}).starts_with("Input_splits should contain elements"));
  CHECK(refusal({1, 2}) == "First value in input_splits must be zero.");
  CHECK(refusal({0, 1}) == "Last value in input_splits must be equal to length of input_tensor.");
  CHECK(refusal({0, -1, 2}) == "Values in input_splits must be equal or in ascending order.");
  CHECK(refusal({0, 3, 2}) ==
        "Values in input_splits must be less than or equal to input_tensor length.");
}

}  // namespace
}  // namespace millrace
