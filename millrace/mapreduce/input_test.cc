// Into how many pieces an input is split.
#include "millrace/mapreduce/input.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/mapreduce/testing/jobs_lab.h"

namespace millrace::mapreduce {
namespace {

class NothingRead final : public Reading {
 public:
  Status take(const Place&, std::string_view) override { return {}; }
  Status reject(const Place&, std::optional<std::string_view>, const Status& why) override {
    return why;
  }
};

// Files of so many MiB, none of them real: they take no room.
struct Texts {
  millrace::testing::ScratchDirectory scratch;
  LocalFiles files;
  int count = 0;

  void add(uint64_t megabytes) {
    const std::string path = scratch.path(str_cat("text-", count++));
    testing::write_file(path, "");
    std::filesystem::resize_file(path, megabytes << 20);
  }
  // "file:MiB" of each split.
  std::string splits(TextOptions options = {}) {
    NothingRead nobody;
    const Input input = text_files(scratch.path("text-*"), options);
    const auto splits = input->splits(files, scratch.path(""), nobody);
    std::string all;
    while (const auto split = splits->next().value()) {
      str_append(&all, all.empty() ? "" : " ", split->path.substr(split->path.size() - 1), ":",
                 (split->end - split->begin) >> 20);
    }
    return all;
  }
};

TEST_CASE("text is split so that all mappers have work to the end, and what is small is not") {
  Texts texts;
  texts.add(3);
  CHECK(texts.splits() == "0:3");
  texts.add(20);
  CHECK(texts.splits() == "0:3 1:8 1:8 1:4");
  texts.add(169);  // 192 in all: a 16th is 12
  CHECK(texts.splits().starts_with("0:3 1:12 1:8 2:12 2:12 "));
  texts.add(2000);
  CHECK(texts.splits().starts_with("0:3 1:20 2:64 2:64 2:41 3:64 "));
}

TEST_CASE("who says how large splits of a text are has them so") {
  Texts texts;
  texts.add(0);
  texts.add(20);
  CHECK(texts.splits({.split = 12 << 20}) == "1:12 1:8");
}

}  // namespace
}  // namespace millrace::mapreduce
