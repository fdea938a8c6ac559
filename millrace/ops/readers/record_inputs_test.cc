// RecordInput: which records come, in which epoch, and what is refused.
#include <algorithm>
#include <set>

#include "doctest/doctest.h"

#include "millrace/base/str_cat.h"
#include "millrace/io/records.h"
#include "millrace/io/testing/memory_files.h"
#include "millrace/ops/readers/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

class RecordFiles {
 public:
  RecordFiles() : bench_(*ops_) {
    bench_.device().files = &files_;
    REQUIRE(files_.make_directories("/in").ok());
  }
  void write(const std::string& name, const std::vector<std::string>& records) {
    std::string& bytes = files_.contents()[name];
    for (const std::string& record : records) bytes += io::framed_record(record);
  }
  void spoil(const std::string& name) { files_.contents()[name][9] ^= 1; }
  // A node that is run again and again.
  std::unique_ptr<Running> start(Attrs attrs) {
    attrs.set("file_pattern", "/in/part-*");
    auto running = bench_.start("RecordInput", {}, {.attrs = std::move(attrs)});
    if (!running.ok()) {
      refused_ = running.status();
      return nullptr;
    }
    return *std::move(running);
  }
  Result<std::vector<std::string>> read(Attrs attrs) {
    const auto running = start(std::move(attrs));
    if (running == nullptr) return refused_;
    MR_ASSIGN(const auto outputs, running->outputs());
    const auto records = outputs[0].tensor.flat<std::string>();
    return std::vector<std::string>(records.begin(), records.end());
  }

 private:
  static std::unique_ptr<OpRegistry> registry() {
    auto ops = std::make_unique<OpRegistry>();
    REQUIRE(register_readers(*ops).ok());
    return ops;
  }
  const std::unique_ptr<OpRegistry> ops_ = registry();
  testing::MemoryFiles files_;
  Bench bench_;
  Status refused_;
};

TEST_CASE("all records of an epoch come once before the next one begins, in another order") {
  RecordFiles files;
  std::set<std::string> all;
  for (int file = 0; file < 5; ++file) {
    std::vector<std::string> records;
    for (int i = 0; i < 4; ++i) records.push_back(str_cat(file, ".", i));
    all.insert(records.begin(), records.end());
    files.write(str_cat("/in/part-", file), records);
  }
  const Attrs attrs{{"batch_size", 60},
                    {"file_buffer_size", 7},
                    {"file_parallelism", 2},
                    {"file_shuffle_shift_ratio", 0.5f}};
  const auto records = files.read(attrs).value();
  REQUIRE(records.size() == 60);
  for (int epoch = 0; epoch < 3; ++epoch) {
    const auto begin = records.begin() + ptrdiff_t{20} * epoch;
    CHECK(std::set<std::string>(begin, begin + 20) == all);
  }
  CHECK(!std::equal(records.begin(), records.begin() + 20, records.begin() + 20));
  CHECK(files.read(attrs).value() == records);
}

TEST_CASE("files that are not there, empty or broken are told of") {
  RecordFiles files;
  CHECK(files.read({{"batch_size", 1}}).status().code() == Code::not_found);
  files.write("/in/part-0", {});
  CHECK(files.read({{"batch_size", 1}}).status().message() ==
        "the files that /in/part-* stands for hold no records");
  files.write("/in/part-1", {"one"});
  CHECK(files.read({{"batch_size", 2}}).value() == std::vector<std::string>{"one", "one"});
  files.spoil("/in/part-1");
  CHECK(files.read({{"batch_size", 1}}).status().code() == Code::data_loss);
}

TEST_CASE("numbers that make no sense are refused") {
  RecordFiles files;
  for (const auto& each :
       {std::pair("batch_size", int64_t{0}), std::pair("batch_size", int64_t{1} << 40),
        std::pair("file_buffer_size", int64_t{-90}), std::pair("file_parallelism", int64_t{0}),
        std::pair("file_random_seed", int64_t{-1})}) {
    CAPTURE(each.first);
    CHECK(files.read({{each.first, each.second}}).status().code() == Code::invalid_argument);
  }
  CHECK(files.read({{"file_shuffle_shift_ratio", -1.f}}).status().code() == Code::invalid_argument);
  CHECK(files.read({{"compression_type", "nan"}}).status().code() == Code::invalid_argument);
}

}  // namespace
}  // namespace millrace
