#include "millrace/io/remote/every_file.h"

#include <doctest/doctest.h>

#include "millrace/base/testing/scratch_directory.h"
#include "millrace/io/glob.h"
#include "millrace/io/local_files.h"

namespace millrace {
namespace {

struct EveryLab {
  millrace::testing::ScratchDirectory scratch;
  LocalFiles disk;
  SeededRandom random{1};
  std::map<std::string, std::string> variables = {{"MILLRACE_REMOTE_TRIES", "1"}};
  EveryFile files{disk,
                  [this](const char* name) -> std::optional<std::string> {
                    const auto found = variables.find(name);
                    return found == variables.end() ? std::nullopt : std::optional(found->second);
                  },
                  Clock::real(), random};
};

TEST_CASE("paths without a scheme, and file://, are the disk's") {
  EveryLab lab;
  const std::string path = lab.scratch.path("f");
  REQUIRE(lab.files.create(path).value()->append("abc").ok());
  CHECK(lab.files.facts("file://" + path)->size == 3);
  CHECK(lab.files.facts("file://localhost" + path)->size == 3);
  CHECK(lab.files.rename("file://" + path, path + "2").ok());
  CHECK(lab.files.list("file://" + lab.scratch.path("")).value() == std::vector<std::string>{"f2"});
  CHECK(lab.files.facts("file://elsewhere" + path).status().code() == Code::invalid_argument);
  CHECK(lab.files.sync_folder(lab.scratch.path("")).ok());
}

TEST_CASE("a scheme that nobody has is told, with those that there are") {
  EveryLab lab;
  const Status status = lab.files.open("gs://bucket/a").status();
  CHECK(status.code() == Code::unimplemented);
  CHECK(status.message().starts_with("gs://bucket/a: no kind of files is called 'gs://'"));
}

TEST_CASE("a file does not go from one kind to another by a rename, nor last where none does") {
  EveryLab lab;
  CHECK(lab.files.rename(lab.scratch.path("f"), "s3://bucket/f").code() == Code::invalid_argument);
  CHECK(lab.files.sync_folder("s3://bucket/d").code() == Code::failed_precondition);
  CHECK(lab.files.lock("s3://bucket/d").status().code() == Code::failed_precondition);
}

TEST_CASE("settings that are wrong are told until they are mended") {
  EveryLab lab;
  lab.variables["AWS_ACCESS_KEY_ID"] = "half";
  CHECK(lab.files.open("s3://bucket/a").status().code() == Code::failed_precondition);
  CHECK(lab.files.open("s3://bucket/a").status().code() == Code::failed_precondition);
  CHECK(io::find_matching(lab.files, "s3://bucket/*").status().code() == Code::failed_precondition);
  CHECK(io::find_matching(lab.files, "s3://bucket/a").status().code() == Code::failed_precondition);
}

TEST_CASE("nobody listens at a store's address: unavailable, and a pattern is not empty then") {
  EveryLab lab;
  lab.variables["AWS_ENDPOINT_URL"] = "http://127.0.0.1:1";
  const Status opened = lab.files.open("s3://bucket/a").status();
  if (opened.code() == Code::unimplemented) {
    MESSAGE("skipped: ", opened.message());
    return;
  }
  CHECK(opened.code() == Code::unavailable);
  CHECK(io::find_matching(lab.files, "s3://bucket/d/*").status().code() == Code::unavailable);
  CHECK(io::find_matching(lab.files, "s3://bucket/d").status().code() == Code::unavailable);
}

TEST_CASE("nothing is asked of a network after the end was told; the disk goes on") {
  EveryLab lab;
  lab.files.stop();
  CHECK(lab.files.open("s3://bucket/a").status().code() == Code::cancelled);
  CHECK(lab.files.create(lab.scratch.path("f")).ok());
}

}  // namespace
}  // namespace millrace
