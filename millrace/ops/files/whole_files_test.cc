#include <doctest/doctest.h>

#include "millrace/io/testing/memory_files.h"
#include "millrace/ops/files/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

struct Filing {
  OpRegistry ops;
  testing::MemoryFiles files;
  SeededRandom random{3};
  std::unique_ptr<Bench> bench;
  Filing() {
    REQUIRE(register_files(ops).ok());
    bench = std::make_unique<Bench>(ops);
    bench->device().files = &files;
    bench->device().random = &random;
  }
  static Value text(std::string value) { return Tensor::scalar(std::move(value)); }
};

TEST_CASE("WriteFile writes what ReadFile reads, with directories above") {
  Filing f;
  const std::string large(3'000'000, 'x');
  for (const std::string& contents : {std::string("words"), std::string(), large}) {
    REQUIRE(f.bench->run("WriteFile", {Filing::text("/a/b/f"), Filing::text(contents)}).ok());
    CHECK(
        f.bench->run("ReadFile", {Filing::text("/a/b/f")}).value()[0].tensor.item<std::string>() ==
        contents);
  }
  CHECK(f.files.facts("/a/b").ok());
}

TEST_CASE("a file that is not there, and a name that is no scalar, are told") {
  Filing f;
  CHECK(f.bench->run("ReadFile", {Filing::text("none")}).status().code() == Code::not_found);
  CHECK(f.bench->run("ReadFile", {Tensor::vector<std::string>({"a", "b"})}).status().code() ==
        Code::invalid_argument);
}

TEST_CASE("MatchingFiles gathers what several patterns mean, sorted") {
  Filing f;
  REQUIRE(f.files.make_directories("/d").ok());
  for (const char* path : {"/d/b.txt", "/d/a.txt", "/d/c.log"}) f.files.contents()[path] = "";
  const auto outputs = f.bench->run(
      "MatchingFiles", {Tensor::vector<std::string>({"/d/*.txt", "/d/c*", "/d/none*"})});
  CHECK(outputs.value()[0].tensor ==
        Tensor::vector<std::string>({"/d/a.txt", "/d/b.txt", "/d/c.log"}));
}

}  // namespace
}  // namespace millrace
