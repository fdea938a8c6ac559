// Checkpoints of the first format as graphs save and restore them.
#include <doctest/doctest.h>

#include "millrace/io/testing/memory_files.h"
#include "millrace/ops/files/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

using Names = std::vector<std::string>;

struct OldSaving {
  OpRegistry ops;
  testing::MemoryFiles files;
  SeededRandom random{3};
  std::unique_ptr<Bench> bench;
  OldSaving() {
    REQUIRE(register_files(ops).ok());
    bench = std::make_unique<Bench>(ops);
    bench->device().files = &files;
    bench->device().random = &random;
  }

  static Tensor names(const Names& values) { return Tensor::vector<std::string>(values); }
  Status run(const std::string& op, std::vector<Value> inputs) {
    return bench->run(op, std::move(inputs)).status();
  }
  Result<Tensor> restore(const std::string& op, std::vector<Value> inputs, DType dtype) {
    MR_ASSIGN(auto outputs, bench->run(op, std::move(inputs), {.attrs = {{"dt", dtype}}}));
    return outputs[0].tensor;
  }
  static Tensor text(const std::string& value) { return Tensor::scalar(value); }
};

TEST_CASE("what Save saves Restore and RestoreV2 restore") {
  OldSaving f;
  const Tensor w = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  REQUIRE(f.run("Save", {f.text("/c/m"), f.names({"w", "n"}), w, Tensor::scalar<int64_t>(9)}).ok());
  CHECK(f.restore("Restore", {f.text("/c/m"), f.text("w")}, DType::f32).value() == w);
  CHECK(f.restore("RestoreSlice", {f.text("/c/m"), f.text("w"), f.text("2 2 1,1:-")}, DType::f32)
            .value() == Tensor::of<float>({1, 2}, {3, 4}));
  const auto both =
      f.bench->run("RestoreV2", {f.text("/c/m"), f.names({"n", "w"}), f.names({"", ""})},
                   {.attrs = {{"dtypes", std::vector{DType::i64, DType::f32}}}});
  REQUIRE(both.ok());
  CHECK((*both)[0].tensor == Tensor::scalar<int64_t>(9));
  CHECK((*both)[1].tensor == w);
}

TEST_CASE("slices saved in shards are restored by a pattern") {
  OldSaving f;
  REQUIRE(f.run("SaveSlices", {f.text("/c/m-00000-of-00002"), f.names({"w"}), f.names({"3 0,2"}),
                               Tensor::vector<float>({1, 2})})
              .ok());
  REQUIRE(f.run("SaveSlices",
                {f.text("/c/m-00001-of-00002"), f.names({"w", "v"}), f.names({"3 2,1", ""}),
                 Tensor::vector<float>({3}), Tensor::scalar(true)})
              .ok());
  const Tensor pattern = f.text("/c/m-?\?\?\?\?-of-00002");
  CHECK(f.restore("Restore", {pattern, f.text("w")}, DType::f32).value() ==
        Tensor::vector<float>({1, 2, 3}));
  CHECK(f.restore("Restore", {pattern, f.text("v")}, DType::boolean).value() ==
        Tensor::scalar(true));
}

TEST_CASE("restoring from the first format says what is wrong in the words that clients know") {
  OldSaving f;
  REQUIRE(f.run("Save", {f.text("m"), f.names({"w"}), Tensor::vector<float>({1, 2})}).ok());
  CHECK(f.restore("Restore", {f.text("m"), f.text("v")}, DType::f32).status() ==
        not_found("Tensor name \"v\" not found in checkpoint files m"));
  CHECK(f.restore("Restore", {f.text("m"), f.text("w")}, DType::i32).status() ==
        invalid("Expected to restore a tensor of type int32, got a tensor of type float instead: "
                "tensor_name = w"));
  CHECK(
      f.restore("RestoreSlice", {f.text("m"), f.text("w"), f.text("3 0,1")}, DType::f32).status() ==
      invalid("Shape in shape_and_slice spec does not match the shape in the "
              "save file: [3], save file shape: [2]"));
  CHECK(f.run("Save", {f.text("m"), f.names({"a", "b"}), Tensor::scalar(1.0f)}).code() ==
        Code::invalid_argument);
}

}  // namespace
}  // namespace millrace
