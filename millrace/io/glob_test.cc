#include "millrace/io/glob.h"

#include <doctest/doctest.h>

#include "millrace/io/testing/memory_files.h"

namespace millrace::io {
namespace {

TEST_CASE("a pattern matches the names that it means") {
  CHECK(matches("part-00001", "part-*"));
  CHECK(matches("part-", "part-*"));
  CHECK(matches("a.b.c", "*.c"));
  CHECK(matches("abab", "*ab"));
  CHECK(matches("x", "?"));
  CHECK(matches("b", "[a-c]"));
  CHECK(matches("d", "[^a-c]"));
  CHECK(matches("]", "[]]"));
  CHECK(matches("*", "\\*"));
  CHECK(matches("[", "["));
  CHECK_FALSE(matches("part", "part-*"));
  CHECK_FALSE(matches("", "?"));
  CHECK_FALSE(matches("d", "[a-c]"));
  CHECK_FALSE(matches("x", "\\*"));
  CHECK_FALSE(matches("abc", "ab"));
  CHECK_FALSE(matches("ab", "abc"));
}

TEST_CASE("a pattern with many stars takes no longer than its length times the name's") {
  CHECK_FALSE(matches(std::string(20000, 'a'), "a*a*a*a*a*a*a*a*a*a*b"));
}

TEST_CASE("files are found by patterns in any part of a path, sorted") {
  testing::MemoryFiles files;
  for (const char* directory : {"/data", "/data/1", "/data/2"})
    REQUIRE(files.make_directories(directory).ok());
  for (const char* path : {"/data/2/a.txt", "/data/1/b.txt", "/data/1/c.log", "/data/top.txt"})
    files.contents()[path] = "";
  files.contents()["/data/1"].clear();
  files.contents()["/data/2"].clear();
  CHECK(find_matching(files, "/data/*/*.txt").value() ==
        std::vector<std::string>{"/data/1/b.txt", "/data/2/a.txt"});
  CHECK(find_matching(files, "/data/1/c.log").value() == std::vector<std::string>{"/data/1/c.log"});
  CHECK(find_matching(files, "/data/1/none").value().empty());
  CHECK(find_matching(files, "/nowhere/*").value().empty());
}

}  // namespace
}  // namespace millrace::io
