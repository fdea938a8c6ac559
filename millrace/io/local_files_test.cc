#include "millrace/io/local_files.h"

#include <algorithm>
#include <filesystem>

#include <doctest/doctest.h>

#include "millrace/base/testing/scratch_directory.h"

namespace millrace {
namespace {

std::string read_all(Files& files, const std::string& path) {
  const auto file = files.open(path).value();
  std::string bytes(file->size().value(), '\0');
  CHECK(file->read(0, bytes).value() == bytes.size());
  return bytes;
}

TEST_CASE("what is appended to a file in small and large pieces is read in order") {
  const testing::ScratchDirectory scratch;
  LocalFiles files;
  const std::string path = scratch.path("f"), large(200'000, 'x');
  {
    const auto file = files.create(path).value();
    REQUIRE(file->append("small").ok());
    REQUIRE(file->append(large).ok());
    REQUIRE(file->append("end").ok());
    REQUIRE(file->sync().ok());
    REQUIRE(file->close().ok());
  }
  CHECK(read_all(files, path) == "small" + large + "end");
  {
    const auto file = files.append_to(path).value();
    REQUIRE(file->append("more").ok());
  }
  CHECK(read_all(files, path) == "small" + large + "endmore");
  CHECK(files.facts(path)->size == large.size() + 12);
}

TEST_CASE("a read past the end of a file gives what there is") {
  const testing::ScratchDirectory scratch;
  LocalFiles files;
  REQUIRE(files.create(scratch.path("f")).value()->append("abc").ok());
  const auto file = files.open(scratch.path("f")).value();
  char into[10];
  CHECK(file->read(1, into).value() == 2);
  CHECK(file->read(7, into).value() == 0);
}

TEST_CASE("errors name the path and have the code that fits") {
  const testing::ScratchDirectory scratch;
  LocalFiles files;
  const std::string path = scratch.path("no/such");
  const Status missing = files.open(path).status();
  CHECK(missing.code() == Code::not_found);
  CHECK(missing.message() == path + "; No such file or directory");
  CHECK(files.open(scratch.path("")).status().code() == Code::failed_precondition);
  CHECK(files.create(path).status().code() == Code::not_found);
  CHECK(files.remove(path).code() == Code::not_found);
  CHECK(files.list(path).status().code() == Code::not_found);
  REQUIRE(files.create(scratch.path("f")).ok());
  CHECK(files.make_directories(scratch.path("f/g")).code() == Code::failed_precondition);
}

TEST_CASE("a full disk is told when bytes are brought to it") {
  if (!std::filesystem::exists("/dev/full")) {
    MESSAGE("skipped: this system has no /dev/full");
    return;
  }
  LocalFiles files;
  const auto file = files.append_to("/dev/full").value();
  REQUIRE(file->append("x").ok());
  CHECK(file->flush().code() == Code::resource_exhausted);
}

TEST_CASE("directories are made with those above, listed, and removed when empty") {
  const testing::ScratchDirectory scratch;
  LocalFiles files;
  REQUIRE(files.make_directories(scratch.path("a/b/c")).ok());
  REQUIRE(files.make_directories(scratch.path("a/b/c")).ok());
  REQUIRE(files.create(scratch.path("a/f")).ok());
  auto names = files.list(scratch.path("a")).value();
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{"b", "f"});
  CHECK(files.facts(scratch.path("a/b"))->is_directory);
  CHECK(files.remove_directory(scratch.path("a")).code() == Code::failed_precondition);
  CHECK(files.remove_directory(scratch.path("a/b/c")).ok());
}

TEST_CASE("a renamed file takes the place of the one that was there") {
  const testing::ScratchDirectory scratch;
  LocalFiles files;
  REQUIRE(files.create(scratch.path("old")).value()->append("old").ok());
  REQUIRE(files.create(scratch.path("new")).value()->append("new").ok());
  REQUIRE(files.rename(scratch.path("new"), scratch.path("old")).ok());
  CHECK(read_all(files, scratch.path("old")) == "new");
  CHECK(files.facts(scratch.path("new")).status().code() == Code::not_found);
}

}  // namespace
}  // namespace millrace
