#include <doctest/doctest.h>

#include "millrace/io/testing/memory_files.h"
#include "millrace/ops/files/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

using Texts = std::vector<std::string>;

struct Saving {
  OpRegistry ops;
  testing::MemoryFiles files;
  SeededRandom random{3};
  std::unique_ptr<Bench> bench;
  Saving() {
    REQUIRE(register_files(ops).ok());
    bench = std::make_unique<Bench>(ops);
    bench->device().files = &files;
    bench->device().random = &random;
  }

  static Tensor texts(const Texts& values) { return Tensor::vector<std::string>(values); }
  Status save(const std::string& prefix, const Texts& names, const Texts& slices,
              const std::vector<Tensor>& tensors) {
    std::vector<Value> inputs = {Tensor::scalar(prefix), texts(names), texts(slices)};
    inputs.insert(inputs.end(), tensors.begin(), tensors.end());
    return bench->run("SaveV2", std::move(inputs)).status();
  }
  Result<Tensor> restore(const std::string& prefix, const std::string& name, DType dtype,
                         const std::string& slice = "") {
    MR_ASSIGN(auto outputs,
              bench->run("RestoreV2", {Tensor::scalar(prefix), texts({name}), texts({slice})},
                         {.attrs = {{"dtypes", std::vector<DType>{dtype}}}}));
    return outputs[0].tensor;
  }
};

TEST_CASE("what SaveV2 saves RestoreV2 restores, whole and in slices") {
  Saving f;
  const Tensor w = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  REQUIRE(f.save("/c/m", {"w", "n", "part"}, {"", "", "3 1,2"},
                 {w, Tensor::scalar<int64_t>(9), Tensor::vector<float>({8, 9})})
              .ok());
  CHECK(f.restore("/c/m", "w", DType::f32).value() == w);
  CHECK(f.restore("/c/m", "n", DType::i64).value() == Tensor::scalar<int64_t>(9));
  CHECK(f.restore("/c/m", "w", DType::f32, "2 2 1,1:-").value() ==
        Tensor::of<float>({1, 2}, {3, 4}));
  CHECK(f.restore("/c/m", "part", DType::f32, "3 1,2").value() == Tensor::vector<float>({8, 9}));
  CHECK(f.restore("/c/m", "part", DType::f32).status().code() == Code::invalid_argument);
}

TEST_CASE("variants are saved with what is in them, and damage is found") {
  Saving f;
  const Variant one{"acme::State", "bytes", {Tensor::vector<float>({1, 2}), Tensor::scalar(true)}};
  const Tensor both =
      Tensor::vector<Variant>({one, Variant{"acme::Other", std::string(300, 'x'), {}}});
  REQUIRE(f.save("/v/m", {"both", "w"}, {"", ""}, {both, Tensor::scalar<int64_t>(9)}).ok());
  CHECK(f.restore("/v/m", "both", DType::variant).value() == both);
  CHECK(f.restore("/v/m", "w", DType::i64).value() == Tensor::scalar<int64_t>(9));
  CHECK(f.restore("/v/m", "w", DType::variant).status().code() == Code::invalid_argument);
  CHECK(f.restore("/v/m", "both", DType::variant, "2 0,1").status().code() == Code::unimplemented);
  const auto whole = f.files.contents();
  const std::string data = "/v/m.data-00000-of-00001";
  for (size_t at = 0; at < whole.at(data).size(); ++at) {
    f.files.contents()[data] = whole.at(data).substr(0, at);
    const auto cut_off = f.restore("/v/m", "both", DType::variant);
    CHECK((!cut_off.ok() || cut_off.value() == both));
    f.files.contents()[data] = whole.at(data);
    f.files.contents()[data][at] ^= 0x41;
    const auto damaged = f.restore("/v/m", "both", DType::variant);
    CHECK((!damaged.ok() || damaged.value() == both));
  }
}

TEST_CASE("RestoreV2 says what is wrong in the words that clients know") {
  Saving f;
  REQUIRE(f.save("m", {"w"}, {""}, {Tensor::vector<float>({1, 2})}).ok());
  CHECK(f.restore("m", "v", DType::f32).status() == not_found("Key v not found in checkpoint"));
  CHECK(f.restore("nowhere", "w", DType::f32).status() ==
        not_found("Unsuccessful TensorSliceReader constructor: Failed to find any matching files "
                  "for nowhere"));
  CHECK(f.restore("m", "w", DType::i32).status() ==
        invalid("tensor_name = w; expected dtype int32 does not equal original dtype float"));
  CHECK(f.restore("m", "w", DType::f32, "3 0,1").status() ==
        invalid("tensor_name = w; shape in shape_and_slice spec [3] does not match the shape "
                "stored in checkpoint: [2]"));
}

TEST_CASE("SaveV2 refuses what doesn't fit together") {
  Saving f;
  const Tensor x = Tensor::scalar(1.0f);
  CHECK(f.save("m", {"a", "b"}, {"", ""}, {x}).code() == Code::invalid_argument);
  CHECK(f.save("m", {"a"}, {"", ""}, {x}).code() == Code::invalid_argument);
  CHECK(f.save("m", {"a"}, {"5 0,9"}, {x}).code() == Code::internal);
  CHECK(f.save("m", {"a", "a"}, {"", ""}, {x, x}).code() == Code::invalid_argument);
  CHECK(f.save("", {"a"}, {""}, {x}).code() == Code::invalid_argument);
  CHECK(f.files.contents().empty());
}

TEST_CASE("MergeV2Checkpoints makes one checkpoint and removes the directory of its parts") {
  Saving f;
  REQUIRE(f.save("/c/tmp/part-0", {"a"}, {""}, {Tensor::scalar(1.0f)}).ok());
  REQUIRE(f.save("/c/tmp/part-1", {"b"}, {""}, {Tensor::scalar(2.0f)}).ok());
  REQUIRE(f.bench
              ->run("MergeV2Checkpoints", {Saving::texts({"/c/tmp/part-0", "/c/tmp/part-1"}),
                                           Tensor::scalar(std::string("/c/m"))})
              .ok());
  CHECK(f.restore("/c/m", "a", DType::f32).value() == Tensor::scalar(1.0f));
  CHECK(f.restore("/c/m", "b", DType::f32).value() == Tensor::scalar(2.0f));
  CHECK(f.files.facts("/c/tmp").status().code() == Code::not_found);
}

TEST_CASE("a checkpoint on a device without files is refused") {
  Saving f;
  f.bench->device().files = nullptr;
  CHECK(f.save("m", {"a"}, {""}, {Tensor::scalar(1.0f)}).code() == Code::failed_precondition);
}

}  // namespace
}  // namespace millrace
