// Maps of tensors through their ops: each gives a new map, and what makes no sense is refused.
#include <doctest/doctest.h>

#include "millrace/ops/lists/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

class Maps {
 public:
  Maps() { REQUIRE(register_tensor_maps(ops_).ok()); }
  Result<Tensor> run(std::string_view op, std::vector<Tensor> inputs, Attrs attrs = {}) {
    MR_ASSIGN(std::vector<Tensor> made, run_op(ops_, op, std::move(inputs), std::move(attrs)));
    return made[0];
  }
  Tensor empty() { return run("EmptyTensorMap", {}).value(); }
  Tensor with(const Tensor& map, Tensor key, Tensor value) {
    return run("TensorMapInsert", {map, std::move(key), std::move(value)}).value();
  }
  Result<Tensor> value(const Tensor& map, Tensor key, DType dtype = DType::f32) {
    return run("TensorMapLookup", {map, std::move(key)}, {{"value_dtype", dtype}});
  }
  int32_t size(const Tensor& map) { return run("TensorMapSize", {map}).value().item<int32_t>(); }

 private:
  OpRegistry ops_;
};

Tensor word(std::string text) { return Tensor::scalar(std::move(text)); }

TEST_CASE("an insertion gives another map, and leaves the old one as it is") {
  Maps maps;
  const Tensor none = maps.empty();
  const Tensor one = maps.with(none, word("a"), Tensor::scalar(1.f));
  const Tensor changed = maps.with(one, word("a"), Tensor::scalar(2.f));
  const Tensor two = maps.with(one, Tensor::scalar<int32_t>(7), Tensor::vector<float>({3, 4}));
  CHECK(maps.size(none) == 0);
  CHECK(maps.size(changed) == 1);
  CHECK(maps.size(two) == 2);
  CHECK(maps.value(one, word("a")).value() == Tensor::scalar(1.f));
  CHECK(maps.value(changed, word("a")).value() == Tensor::scalar(2.f));
  CHECK(maps.value(two, Tensor::scalar<int32_t>(7)).value() == Tensor::vector<float>({3, 4}));
  CHECK(maps.run("TensorMapHasKey", {two, word("b")}).value() == Tensor::scalar(false));
  const Tensor erased =
      maps.run("TensorMapErase", {two, word("a")}, {{"value_dtype", DType::f32}}).value();
  CHECK(maps.run("TensorMapHasKey", {erased, word("a")}).value() == Tensor::scalar(false));
  CHECK(maps.run("TensorMapHasKey", {two, word("a")}).value() == Tensor::scalar(true));
}

TEST_CASE("keys of one shape can be stacked") {
  Maps maps;
  const Tensor map = maps.with(maps.with(maps.empty(), word("a"), word("x")), word("b"), word("y"));
  const auto keys = [&](const Tensor& of, DType dtype) {
    return maps.run("TensorMapStackKeys", {of}, {{"key_dtype", dtype}});
  };
  CHECK(keys(map, DType::string).value() == Tensor::vector<std::string>({"a", "b"}));
  CHECK(keys(map, DType::i32).status().message() == "Key does not match requested dtype.");
  CHECK(keys(maps.empty(), DType::i32).status().message() ==
        "TensorMapStackKeys cannot be called on empty map.");
  const Tensor mixed = maps.with(map, Tensor::vector<std::string>({"c"}), word("z"));
  CHECK(keys(mixed, DType::string).status().message() ==
        "Keys must all have the same shape. TensorMapStackKeys found [] and [1]");
}

TEST_CASE("keys that are not there, other types and variants of another kind are refused") {
  Maps maps;
  const Tensor map = maps.with(maps.empty(), word("a"), word("x"));
  CHECK(maps.value(map, word("b")).status().message().find("Trying to lookup non-existent key.") ==
        0);
  CHECK(maps.value(map, word("a"), DType::i32).status().code() == Code::internal);
  CHECK(maps.run("TensorMapErase", {map, word("b")}, {{"value_dtype", DType::string}})
            .status()
            .message()
            .find("Trying to erase non-existent item.") == 0);
  Variant odd;
  odd.type_name = "tensorflow::TensorMap";
  odd.tensors.push_back(word("a"));
  for (const Variant& bad : {Variant(), odd})
    CHECK(maps.run("TensorMapSize", {Tensor::scalar(bad)}).status().code() ==
          Code::invalid_argument);
}

}  // namespace
}  // namespace millrace
