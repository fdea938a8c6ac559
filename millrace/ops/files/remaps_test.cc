// Vocabularies and matrices in another order than a checkpoint has them.
#include <doctest/doctest.h>

#include "millrace/io/testing/memory_files.h"
#include "millrace/ops/files/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

struct Remaps {
  OpRegistry ops;
  testing::MemoryFiles files;
  SeededRandom random{3};
  std::unique_ptr<Bench> bench;
  Remaps() {
    REQUIRE(register_files(ops).ok());
    bench = std::make_unique<Bench>(ops);
    bench->device().files = &files;
    bench->device().random = &random;
    files.contents()["/old"] = "knit\nsew\nweave\n";
    files.contents()["/new"] = "weave\nspin\nknit\n";
    save(Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6}));
  }

  void save(const Tensor& matrix) {
    const auto text = [](const char* each) { return Tensor::vector<std::string>({each}); };
    REQUIRE(bench
                ->run("SaveV2", {Tensor::scalar(std::string("/m")), text("w"), text(""), matrix},
                      {.attrs = {{"dtypes", std::vector<DType>{matrix.dtype()}}}})
                .ok());
  }
  Result<Tensor> words(int64_t offset, int64_t count, int64_t old_size = -1, size_t output = 0) {
    MR_ASSIGN(auto outputs,
              bench->run("GenerateVocabRemapping",
                         {Tensor::scalar(std::string("/new")), Tensor::scalar(std::string("/old"))},
                         {.attrs = {{"new_vocab_offset", offset},
                                    {"num_new_vocab", count},
                                    {"old_vocab_size", old_size}}}));
    return outputs[output].tensor;
  }
  struct Order {
    Tensor rows, columns = Tensor::vector<int64_t>({}), values = Tensor::vector<float>({});
    int64_t num_columns = 2, most_rows = -1;
  };
  Result<Tensor> matrix(const Order& order) {
    MR_ASSIGN(auto outputs,
              bench->run("LoadAndRemapMatrix",
                         {Tensor::scalar(std::string("/m")), Tensor::scalar(std::string("w")),
                          order.rows, order.columns, order.values},
                         {.attrs = {{"num_rows", order.rows.num_elements()},
                                    {"num_cols", order.num_columns},
                                    {"max_rows_in_memory", order.most_rows}}}));
    return outputs[0].tensor;
  }
  Status problem(const Order& order) { return matrix(order).status(); }
};

Tensor ids(std::initializer_list<int64_t> values) { return Tensor::vector<int64_t>(values); }

TEST_CASE("a remapping tells where the old vocabulary had each new word, and how many it had") {
  Remaps f;
  CHECK(f.words(0, 3).value() == ids({2, -1, 0}));
  CHECK(f.words(0, 3, -1, 1).value() == Tensor::scalar<int32_t>(2));
  CHECK(f.words(1, 2).value() == ids({-1, 0}));
  CHECK(f.words(0, 3, 2).value() == ids({-1, -1, 0}));
  CHECK(f.words(3, 0).value() == ids({}));
}

TEST_CASE("a vocabulary that has too few words, or one twice, is refused") {
  Remaps f;
  CHECK(f.words(1, 3).status().code() == Code::invalid_argument);
  CHECK(f.words(INT64_MAX, INT64_MAX).status().code() == Code::invalid_argument);
  CHECK(f.words(0, 3, 4).status().message().find("expected 4 but got 3") != std::string::npos);
  f.files.contents()["/old"] = "knit\nknit\n";
  CHECK(f.words(0, 3).status().code() == Code::failed_precondition);
  f.files.contents()["/old"] = "knit\n\nsew\n";
  CHECK(f.words(0, 3).status().code() == Code::invalid_argument);
  f.files.contents().erase("/old");
  CHECK(f.words(0, 3).status().code() == Code::not_found);
}

TEST_CASE("rows and columns of a matrix are loaded in another order, however few rows at a time") {
  Remaps f;
  for (const int64_t most_rows : {-1, 1, 2, 9}) {
    CHECK(f.matrix({.rows = ids({2, 0}), .most_rows = most_rows}).value() ==
          Tensor::of<float>({2, 2}, {5, 6, 1, 2}));
    CHECK(f.matrix({.rows = ids({2, 0}), .columns = ids({1, 0}), .most_rows = most_rows}).value() ==
          Tensor::of<float>({2, 2}, {6, 5, 2, 1}));
  }
}

TEST_CASE("what the old matrix did not have takes the given values, row by row") {
  Remaps f;
  CHECK(f.matrix({.rows = ids({2, -1}),
                  .columns = ids({-1, 0, -1}),
                  .values = Tensor::vector<float>({10, 11, 12, 13, 14}),
                  .num_columns = 3})
            .value() == Tensor::of<float>({2, 3}, {10, 5, 11, 12, 13, 14}));
  CHECK(f.matrix({.rows = ids({-1}), .values = Tensor::vector<float>({7, 8})}).value() ==
        Tensor::of<float>({1, 2}, {7, 8}));
  CHECK(f.matrix({.rows = ids({})}).value().shape() == Shape{0, 2});
}

TEST_CASE("a remapping that does not fit the matrix is refused") {
  Remaps f;
  const Tensor some = ids({0, 1});
  CHECK(f.problem({.rows = ids({0, 0})}).code() == Code::unimplemented);
  CHECK(f.problem({.rows = some, .columns = ids({1, 1})}).code() == Code::unimplemented);
  CHECK(f.problem({.rows = ids({3})}).code() == Code::invalid_argument);
  CHECK(f.problem({.rows = some, .columns = ids({0, 2})}).code() == Code::invalid_argument);
  CHECK(f.problem({.rows = some, .columns = ids({0})}).code() == Code::invalid_argument);
  CHECK(f.problem({.rows = some, .num_columns = 3}).code() == Code::invalid_argument);
  CHECK(f.problem({.rows = Tensor::scalar<int64_t>(0)}).message().find("tensor must be 1-D") !=
        std::string::npos);
  for (const auto& values : {std::vector<float>{1}, {1, 2, 3}}) {
    CHECK(f.problem({.rows = ids({0, -1}), .values = Tensor::vector<float>(values)}).code() ==
          Code::invalid_argument);
  }
}

TEST_CASE("only a matrix of floats is remapped") {
  Remaps f;
  f.save(Tensor::vector<float>({1, 2}));
  CHECK(f.problem({.rows = ids({0})}).message().find("invalid rank 1") != std::string::npos);
  f.save(Tensor::of<int32_t>({1, 2}, {1, 2}));
  CHECK(f.problem({.rows = ids({0})}).message().find("invalid type int32") != std::string::npos);
}

}  // namespace
}  // namespace millrace
