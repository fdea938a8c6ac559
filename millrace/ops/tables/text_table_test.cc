// Tables from text files: which part of a line is which, and what files are refused.
#include "millrace/ops/tables/text_table.h"

#include <doctest/doctest.h>

#include "millrace/io/testing/memory_files.h"

namespace millrace {
namespace {

// A file of that text, alone on its disk.
struct File {
  testing::MemoryFiles files;
  explicit File(std::string text) { files.contents()["/words"] = std::move(text); }
  // The table of whole lines to their numbers, but for what is said.
  TextTable table() const { return {.file = "/words", .key = DType::string, .value = DType::i64}; }
  Result<std::pair<Tensor, Tensor>> read(const TextTable& table) { return table.read(files); }
  std::string problem(const TextTable& table) {
    const std::string text = read(table).status().message();
    return text.substr(text.rfind(table.file) == std::string::npos ? 0 : text.rfind(table.file));
  }
};

TEST_CASE("lines are keys and their numbers values, with either end and without a last one") {
  File file("apple\r\npear\nplum");
  TextTable table = file.table();
  const auto [keys, values] = file.read(table).value();
  CHECK(keys == Tensor::vector<std::string>({"apple", "pear", "plum"}));
  CHECK(values == Tensor::vector<int64_t>({0, 1, 2}));
  table.offset = 10;
  CHECK(file.read(table).value().second == Tensor::vector<int64_t>({10, 11, 12}));
}

TEST_CASE("columns are cut at the delimiter and read as the table's types") {
  File file("1,a,0.5\n2,b,1.5\n");
  TextTable table = file.table();
  table.key = DType::i64;
  table.value = DType::f32;
  table.key_index = 0;
  table.value_index = 2;
  table.delimiter = ',';
  const auto [keys, values] = file.read(table).value();
  CHECK(keys == Tensor::vector<int64_t>({1, 2}));
  CHECK(values == Tensor::vector<float>({0.5, 1.5}));
}

TEST_CASE("whole lines may be integers, not fractions") {
  File file("42\n1\n-1000\n");
  TextTable table = file.table();
  table.key = DType::i64;
  CHECK(file.read(table).value().first == Tensor::vector<int64_t>({42, 1, -1000}));
  table.key = DType::i32;
  CHECK(file.read(table).value().first == Tensor::vector<int32_t>({42, 1, -1000}));
  table.key = DType::f32;
  CHECK(file.read(table).status().message() ==
        "Key index for whole line requires table key dtype of string or of integers, got float");
}

TEST_CASE("a number of lines is taken, and no fewer") {
  File file("a\nb\nc\n");
  TextTable table = file.table();
  table.most_lines = 2;
  CHECK(file.read(table).value().first.num_elements() == 2);
  table.most_lines = 4;
  CHECK(file.problem(table).ends_with("expected 4 but got 3"));
}

TEST_CASE("files that make no table are refused with the line") {
  File file("1\tone\ntwo\n\n");
  TextTable table = file.table();
  CHECK(file.problem(table).find("empty line found at position 11") != std::string::npos);
  table.key_index = 1;
  CHECK(file.problem(table).find("line 1 (two) : expected 1 got 1") != std::string::npos);
  table.key_index = 0;
  table.key = DType::i32;
  CHECK(file.read(table).status().message().find("Field two in line 1 is not a valid int32.") !=
        std::string::npos);
  table.key_index = TextTable::kLineNumber;
  CHECK(file.read(table).status().message() ==
        "Key index for line number requires table key dtype of int64, got int32");
  table.file = "/nowhere/at all";
  table.key_index = 0;
  CHECK(file.read(table).status().code() == Code::not_found);
}

}  // namespace
}  // namespace millrace
