#include "millrace/launch/yaml_text.h"

#include <yaml-cpp/yaml.h>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

TEST_CASE("objects and lists read as a person would write them") {
  CHECK(to_yaml(
            Json::parse(R"({"a": {"b": [1, {"c": "x", "d": [true]}, []], "e": {}}, "f": null})")) ==
        "a:\n"
        "  b:\n"
        "    - 1\n"
        "    - c: x\n"
        "      d:\n"
        "        - true\n"
        "    - []\n"
        "  e: {}\n"
        "f: null\n");
}

TEST_CASE("a text is quoted when a reader could take it for something else") {
  for (const char* text :
       {"",     "1",   "1.10", "no", "Yes", "null", "~",   "2020-01-01", "a: b", "- a", "#x",
        "0x10", "1e3", "a b",  "*x", "@x",  "%x",   "{a}", "\xC3\xA4",   "a\nb", ".5",  "on"}) {
    CAPTURE(text);
    CHECK(to_yaml(Json(text))[0] == '"');
    CHECK(YAML::Load(to_yaml(Json(text))).Scalar() == text);
  }
  CHECK(to_yaml(Json("registry.example/image-1.2")) == "registry.example/image-1.2\n");
}

TEST_CASE(
    "characters beyond 16 bits are one escape, and backslashes before them are not taken for it") {
  CHECK(to_yaml(Json("\xF0\x9F\x98\x80")) == "\"\\U0001f600\"\n");
  for (const char* text : {"a\\\xF0\x9F\x98\x80", "\\ud83d", "\xF0\x9F\x98\x80\xF4\x8F\xBF\xBF"})
    CHECK(YAML::Load(to_yaml(Json(text))).Scalar() == text);
}

TEST_CASE("lines stay lines") {
  const std::string lines = "one\n  two\n\nthree\n";
  const std::string text = to_yaml({{"a", Json::array({{{"b", lines}}})}});
  CHECK(text == "a:\n  - b: |\n      one\n        two\n\n      three\n");
  CHECK(YAML::Load(text)["a"][0]["b"].Scalar() == lines);
  for (const char* kept : {"one\ntwo", "one \ntwo\n", " one\ntwo\n", "\n", "one\n", "one\ntwo\n\n"})
    CHECK(YAML::Load(to_yaml({{"a", kept}}))["a"].Scalar() == kept);
}

}  // namespace
}  // namespace millrace
