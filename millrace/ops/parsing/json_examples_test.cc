// Examples from JSON: the bytes that TensorFlow makes of the same text, and what is refused.
#include "doctest/doctest.h"

#include "millrace/base/str_cat.h"
#include "millrace/ops/parsing/json_example.h"

namespace millrace {
namespace {

std::string bytes(std::string_view literal) { return std::string(literal); }
#define MR_BYTES(literal) bytes(std::string_view(literal, sizeof(literal) - 1))

// {"features": {"feature": {"a": …}}}
Result<std::string> feature(std::string_view json) {
  return example_of_json(str_cat("{\"features\":{\"feature\":{\"a\":", json, "}}}"));
}

std::string refused(const Result<std::string>& made) {
  REQUIRE(!made.ok());
  CHECK(made.status().code() == Code::invalid_argument);
  const std::string start = "Error while parsing JSON: ";
  REQUIRE(made.status().message().starts_with(start));
  return made.status().message().substr(start.size());
}

TEST_CASE("an example comes out in the order of its text, by either kind of names") {
  CHECK(example_of_json("{\"features\":{\"feature\":{\"b\":{\"int64_list\":{\"value\":[\"1\",2]}},"
                        "\"a\":{\"bytes_list\":{\"value\":[\"YWJj\"]}}}}}")
            .value() == MR_BYTES("\n\x1b\n\x0b\n\x01"
                                 "b\x12\x06\x1a\x04\x08\x01\x08\x02\n\x0c\n\x01"
                                 "a\x12\x07\n\x05\n\x03"
                                 "abc"));
  CHECK(feature("{\"floatList\":{\"value\":[\"Infinity\",\"-Infinity\",\"1.5\"]}}").value() ==
        MR_BYTES("\n\x18\n\x16\n\x01"
                 "a\x12\x11\x12\x0f\r\x00\x00\x80\x7f\r\x00\x00\x80\xff\r\x00\x00\xc0?"));
  CHECK(feature("{\"int64List\":{\"value\":[1.0, 1e3]}}").value() ==
        MR_BYTES("\n\x0e\n\x0c\n\x01"
                 "a\x12\x07\x1a\x05\x08\x01\x08\xe8\x07"));
  CHECK(feature("{\"bytesList\":{\"value\":[\"_-8\"]}}").value() ==
        MR_BYTES("\n\r\n\x0b\n\x01"
                 "a\x12\x06\n\x04\n\x02\xff\xef"));
}

TEST_CASE("what is null is left out, and one value stands for a list of it") {
  CHECK(example_of_json("{}").value().empty());
  CHECK(example_of_json("{\"features\":null}").value().empty());
  CHECK(feature("null").value() == MR_BYTES("\n\x05\n\x03\n\x01"
                                            "a"));
  CHECK(feature("{}").value() == MR_BYTES("\n\x07\n\x05\n\x01"
                                          "a\x12\x00"));
  CHECK(feature("{\"int64List\":{\"value\":1}}").value() ==
        feature("{\"int64List\":{\"value\":[1]}}").value());
}

TEST_CASE("what is no example is refused with its place") {
  CHECK(refused(example_of_json("{\"features\":")).find("unexpected end of input") !=
        std::string::npos);
  CHECK(refused(example_of_json("{} x")).find("parse error") != std::string::npos);
  CHECK(refused(example_of_json("[]")) == "expected an object, not []");
  CHECK(refused(example_of_json("{\"featuresx\":{}}")) == "no such field: 'featuresx'");
  CHECK(refused(feature("{\"int64List\":{\"value\":[\"x\"]}}")) ==
        "features.feature['a'].int64List.value[0]: invalid number: 'x'");
  CHECK(refused(feature("{\"int64List\":{\"value\":[1, 1.5]}}")) ==
        "features.feature['a'].int64List.value[1]: expected integer, but JSON number had "
        "fractional part");
  for (const char* large :
       {"99999999999999999999", "\"99999999999999999999\"", "1e19", "9223372036854775808"}) {
    CHECK(refused(feature(str_cat("{\"int64List\":{\"value\":[", large, "]}}"))) ==
          "features.feature['a'].int64List.value[0]: JSON number out of range for int64");
  }
  CHECK(refused(feature("{\"floatList\":{\"value\":[1e300]}}")).ends_with("float out of range"));
  CHECK(refused(feature("{\"bytesList\":{\"value\":[\"Y\"]}}")).ends_with("corrupt base64"));
  CHECK(refused(feature("{\"bytesList\":{},\"floatList\":{}}")) ==
        "features.feature['a']: 'floatList' is given, and another list as well");
  CHECK(refused(feature("{},\"a\":{}")) == "'a' is given twice in one object");
}

// With a look at all keys before it for each, minutes would pass.
TEST_CASE("an example of very many features is read in one go") {
  std::string text = "{\"features\":{\"feature\":{\"first\":null";
  for (int i = 0; i < 200'000; ++i) str_append(&text, ",\"feature ", 100'000 + i, "\":null");
  const Result<std::string> made = example_of_json(text + "}}}");
  REQUIRE(made.ok());
  CHECK(
      made->ends_with("\n\x10\n\x0e"
                      "feature 299999"));
  CHECK(refused(example_of_json(text + ",\"first\":null}}}")) ==
        "'first' is given twice in one object");
}

TEST_CASE("brackets without end take no memory") {
  const std::string deep(200'000, '[');
  CHECK(refused(example_of_json("{\"features\":" + deep)).size() < 1000);
  const std::string closed = deep + std::string(deep.size(), ']');
  CHECK(refused(example_of_json("{\"features\":" + closed + "}")) ==
        "objects and arrays lie deeper in each other than in any Example");
}

}  // namespace
}  // namespace millrace
