// Datasets of CSV files through their ops: which fields, where records end, and what is refused.
#include <doctest/doctest.h>

#include "millrace/io/testing/memory_files.h"
#include "millrace/ops/data/testing/pipeline.h"

namespace millrace::data {
namespace {

using testing::number;
using testing::Pipeline;

Tensor string_of(std::string value) { return Tensor::scalar(std::move(value)); }
Tensor strings(std::initializer_list<std::string> values) {
  return Tensor::vector<std::string>(values);
}
Tensor no_columns() { return Tensor::vector<int64_t>({}); }
Tensor column_of(std::string value) { return strings({std::move(value)}); }

// A dataset of the file "f", or of several.
struct Csv {
  std::vector<Tensor> defaults = {column_of(""), column_of("")};
  Tensor names = string_of("f");
  std::string packing;
  int64_t buffer = 100;
  bool header = false;
  std::string delimiter = ",";
  bool quotes = true;
  std::string missing;
  Tensor selected = no_columns(), excluded = no_columns();

  std::vector<Tensor> inputs(bool has_excluded) const {
    std::vector<Tensor> given = {names,
                                 string_of(packing),
                                 number(buffer),
                                 Tensor::scalar(header),
                                 string_of(delimiter),
                                 Tensor::scalar(quotes),
                                 string_of(missing),
                                 selected};
    given.insert(given.end(), defaults.begin(), defaults.end());
    if (has_excluded) given.push_back(excluded);
    return given;
  }
  std::vector<DType> types() const {
    std::vector<DType> made;
    for (const Tensor& each : defaults) made.push_back(each.dtype());
    return made;
  }
};

class CsvTest {
 public:
  CsvTest() { made_.bench->device().files = &files_; }
  void file(const std::string& name, std::string bytes) {
    files_.contents()[name] = std::move(bytes);
  }
  std::string all(const Csv& csv, const std::string& op = "CSVDatasetV2") {
    return made_.all(made_.derive(op, csv.inputs(op == "CSVDatasetV2"), attrs(csv)), csv.types());
  }
  std::string all_of(std::string bytes, const Csv& csv = {}) {
    file("f", std::move(bytes));
    return all(csv);
  }
  std::string refused(const Csv& csv) {
    return std::string(made_.status_of("CSVDatasetV2", csv.inputs(true), attrs(csv)).message());
  }

 private:
  static Attrs attrs(const Csv& csv) { return Pipeline::outputs(csv.types()); }

  millrace::testing::MemoryFiles files_;
  Pipeline made_;
};

TEST_CASE("rows are fields of the types of their defaults, which stand for what is missing") {
  CsvTest t;
  const Csv csv = {.defaults = {Tensor::vector<int64_t>({7}), Tensor::vector<float>({0.5F}),
                                column_of("none"), Tensor::vector<int32_t>({})},
                   .missing = "NA"};
  CHECK(t.all_of("1, 2.5 ,a b,3\n,NA,,4\n", csv) == R"(1,2.5,"a b",3 7,0.5,"none",4)");
  CHECK(t.all_of("1,1,a,\n", csv) == "Field 3 is required but missing in record!");
  CHECK(t.all_of("1,1,a,x\n2,2,b,2", csv) ==
        R"(Field 3 in record is not a valid int32: x 2,2,"b",2)");
}

TEST_CASE("each name of the op takes the same, but for the columns that are excluded") {
  CsvTest t;
  t.file("f", "1,2\n");
  for (const char* op : {"CSVDataset", "CSVDatasetV2", "ExperimentalCSVDataset"})
    CHECK(t.all({}, op) == R"("1","2")");
}

TEST_CASE("quotes hold line ends, what parts fields, and quotes that are doubled") {
  CsvTest t;
  CHECK(t.all_of("\"a\nb\",\"c,\"\"d\"\"\"\ne,\"\"\n") == "\"a\\nb\",\"c,\\\"d\\\"\" \"e\",\"\"");
  CHECK(t.all_of("\"a\",b\n", {.quotes = false}) == "\"\\\"a\\\"\",\"b\"");
}

TEST_CASE("a record ends with its line, however lines end, or with the file") {
  CsvTest t;
  for (const std::string end : {"\n", "\r", "\r\n"}) {
    CHECK(t.all_of("1,2" + end + ",4" + end) == R"("1","2" "","4")");
    CHECK(t.all_of("1,2" + end + "3,") == R"("1","2" "3","")");
  }
  CHECK(t.all_of("") == "");
  CHECK(t.all_of("0\n\n2", {.defaults = {column_of("empty")}}) == R"("0" "empty" "2")");
}

TEST_CASE("a record with an error is left out, and the next one is there") {
  CsvTest t;
  CHECK(t.all_of("1,2\"3\na,b") == R"(Unquoted fields cannot have quotes inside "a","b")");
  CHECK(t.all_of("\"a\"b\",c\na,b") ==
        R"(Quote inside a string has to be escaped by another quote "a","b")");
  CHECK(t.all_of("1\na,b") == R"(Expect 2 fields but have 1 in record "a","b")");
  CHECK(t.all_of("1,2,3\na,b") == R"(Expect 2 fields but have more in record "a","b")");
  t.file("g", "x,y");
  CHECK(t.all_of("1,2\n3,\"4", {.names = strings({"f", "g"})}) ==
        R"("1","2" Reached end of file without closing quoted field in record "x","y")");
}

TEST_CASE("a header is left out in each file, lines within its quotes too") {
  CsvTest t;
  t.file("g", "a,b\n3,4\n");
  const Csv csv = {.names = strings({"f", "g"}), .header = true};
  CHECK(t.all_of("\"a\n\",b\n1,2\n", csv) == R"("1","2" "3","4")");
  CHECK(t.all_of("", csv) == R"(Can't read header of file f: the file is empty "3","4")");
  // What is wrong with it is no reason to leave the rest.
  CHECK(
      t.all_of("a\"b\n1,2\n", csv) ==
      R"(Can't read header of file f: Unquoted fields cannot have quotes inside "1","2" "3","4")");
}

TEST_CASE("some columns are selected, or all that are not excluded") {
  CsvTest t;
  CHECK(t.all_of("1,2,3,4\n", {.selected = Tensor::vector<int64_t>({1, 3})}) == R"("2","4")");
  CHECK(t.all_of("1,2,3,4\n", {.excluded = Tensor::vector<int64_t>({0, 2})}) == R"("2","4")");
  CHECK(t.all_of("1,2\n", {.selected = Tensor::vector<int64_t>({1, 3})}) ==
        "Expect 2 fields but have 1 in record");
  CHECK(t.all_of("1,2,3,4\n", {.excluded = Tensor::vector<int64_t>({9})}) ==
        "Expect 2 fields but have more in record");
}

TEST_CASE("what makes no sense is refused when the dataset is made") {
  CsvTest t;
  CHECK(t.refused({.packing = "ZIP"}) == "Unsupported compression_type: ZIP.");
  CHECK(t.refused({.buffer = 0}) == "buffer_size should be positive");
  CHECK(t.refused({.delimiter = "::"}) == "field_delim should be only 1 char");
  CHECK(t.refused({.selected = Tensor::vector<int64_t>({1})}) ==
        "select_cols should match output size");
  CHECK(t.refused({.selected = Tensor::vector<int64_t>({1, 1})}) ==
        "select_cols should be strictly increasing indices");
  CHECK(t.refused({.excluded = Tensor::vector<int64_t>({-1})}) ==
        "exclude_cols should be non-negative indices");
  CHECK(t.refused({.selected = Tensor::vector<int64_t>({0, 1}),
                   .excluded = Tensor::vector<int64_t>({2})}) ==
        "Either select_cols or exclude_cols should be empty");
  CHECK(t.refused({.defaults = {strings({"a", "b"})}})
            .find("1 default per field but field 0 has 2") != std::string::npos);
}

}  // namespace
}  // namespace millrace::data
