#include "millrace/io/paths.h"

#include <doctest/doctest.h>

#include "millrace/io/testing/memory_files.h"

namespace millrace::io {
namespace {

TEST_CASE("the directory of a path is what stands before its last slash") {
  CHECK(directory_of("/data/a/part-0") == "/data/a");
  CHECK(directory_of("data/part-0") == "data");
  CHECK(directory_of("/part-0").empty());
  CHECK(directory_of("part-0").empty());
}

TEST_CASE("a path's scheme and root are what is in front of what it names") {
  CHECK(scheme_of("s3://bucket/a") == "s3");
  CHECK(scheme_of("/a://b").empty());
  CHECK(scheme_of("a/b").empty());
  CHECK(scheme_of("://b").empty());
  CHECK(root_of("s3://bucket/a/b") == "s3://bucket/");
  CHECK(root_of("s3://bucket") == "s3://bucket");
  CHECK(root_of("/a/b") == "/");
  CHECK(root_of("a/b").empty());
}

TEST_CASE("only a directory that a path names is made") {
  testing::MemoryFiles files;
  REQUIRE(make_directory_of(files, "/data/part-0").ok());
  CHECK(files.facts("/data")->is_directory);
  REQUIRE(make_directory_of(files, "/part-0").ok());
  REQUIRE(make_directory_of(files, "part-0").ok());
  CHECK_FALSE(files.facts("").ok());
}

}  // namespace
}  // namespace millrace::io
