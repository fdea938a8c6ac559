#include "millrace/launch/shipping/manifest.h"

#include <doctest/doctest.h>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

const std::string kSomeDigest(64, 'a');

std::string with_file(std::string_view name, std::string_view kind = "file") {
  return str_cat(R"({"millrace_files":1,"files":[{"name":")", name, R"(","kind":")", kind,
                 R"(","size":5,"executable":false,"sha256":")", kSomeDigest,
                 R"("}],"outputs":{}})");
}

TEST_CASE("what travels is read as it was written") {
  const Manifest manifest{
      .files = {{.name = "train.py", .size = 7, .digest = kSomeDigest},
                {"env.tar.gz", ShippedFile::Kind::archive, uint64_t{5} << 32, false, kSomeDigest},
                {"programs.tar", ShippedFile::Kind::programs, 1, true, kSomeDigest}},
      .outputs = {{"map", {"part-*", "log"}}}};
  CHECK(parse_manifest(to_text(manifest)).value() == manifest);
  CHECK(place_of(manifest.files[1]) == "env");
  CHECK(place_of(manifest.files[2]) == "programs");
}

TEST_CASE("names that would lead out of a task's folder are refused") {
  CHECK(parse_manifest(with_file("a")).ok());
  for (const char* name : {"..", ".", "a/b", "/etc/passwd", "../a", "", "a\\u0000b", "a\\nb"}) {
    INFO(name);
    CHECK(parse_manifest(with_file(name)).status().code() == Code::invalid_argument);
  }
  CHECK(parse_manifest(with_file("...tar", "archive")).status().code() == Code::invalid_argument);
}

TEST_CASE("two files never lie in one place") {
  std::string text =
      to_text({.files = {{.name = "env", .digest = kSomeDigest},
                         {"env.zip", ShippedFile::Kind::archive, 1, false, kSomeDigest}}});
  CHECK(parse_manifest(text).status().message() == "'env' would be twice in a task's folder");
}

TEST_CASE("what is no list of what travels is refused") {
  for (const char* text : {"", "[]", "{}", R"({"millrace_files":2,"files":[],"outputs":{}})",
                           R"({"millrace_files":1,"files":{},"outputs":{}})",
                           R"({"millrace_files":1,"files":[1],"outputs":{}})",
                           R"({"millrace_files":1,"files":[],"outputs":{"map":[1]}})",
                           R"({"millrace_files":1,"files":[],"outputs":[]})"})
    CHECK(parse_manifest(text).status().code() == Code::invalid_argument);
  CHECK_FALSE(parse_manifest(with_file("a", "device")).ok());
}

}  // namespace
}  // namespace millrace
