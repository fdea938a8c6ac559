// Optionals, made and taken apart.
#include <doctest/doctest.h>

#include "millrace/ops/all.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

struct OptionalOps {
  OpRegistry ops;
  std::unique_ptr<Bench> bench;
  OptionalOps() {
    REQUIRE(register_all_ops(ops).ok());
    bench = std::make_unique<Bench>(ops);
  }
};

TEST_CASE("an optional holds what it was made from, or nothing") {
  OptionalOps f;
  const auto run = [&](std::string_view op, std::vector<Value> inputs) {
    return f.bench->run(op, std::move(inputs),
                        {.attrs = {{"output_types", std::vector<DType>{DType::f32, DType::i32}},
                                   {"output_shapes", std::vector<PartialShape>{{}, {}}}}});
  };
  const auto some = run("OptionalFromValue", {Tensor::scalar(1.5f), Tensor::scalar<int32_t>(2)});
  REQUIRE_MESSAGE(some.ok(), some.status().to_string());
  const auto nothing = run("OptionalNone", {});
  CHECK((*run("OptionalHasValue", {(*some)[0]}))[0].tensor == Tensor::scalar(true));
  CHECK((*run("OptionalHasValue", {(*nothing)[0]}))[0].tensor == Tensor::scalar(false));
  const auto got = run("OptionalGetValue", {(*some)[0]});
  CHECK((*got)[0].tensor == Tensor::scalar(1.5f));
  CHECK((*got)[1].tensor == Tensor::scalar<int32_t>(2));
  CHECK(run("OptionalGetValue", {(*nothing)[0]}).status().message().find("does not have a value") !=
        std::string::npos);
  CHECK_FALSE(run("OptionalGetValue", {Tensor::scalar(Variant{"x", "", {}})}).ok());
  CHECK_FALSE(
      run("OptionalGetValue", {(*run("OptionalFromValue", {Tensor::scalar<int32_t>(2)}))[0]}).ok());
}

TEST_CASE("an optional that contradicts itself or its node is refused") {
  OptionalOps f;
  const auto optional = [](std::string metadata, std::vector<Tensor> holds) {
    return Tensor::scalar(
        Variant{"tensorflow::data::Optional", std::move(metadata), std::move(holds)});
  };
  const auto why = [&](std::string_view op, const Tensor& given) {
    const Status status =
        f.bench
            ->run(op, {given},
                  {.attrs = {{"output_types", std::vector<DType>{DType::f32}},
                             {"output_shapes", std::vector<PartialShape>{PartialShape{2}}}}})
            .status();
    CHECK(status.code() == Code::invalid_argument);
    return status.to_string();
  };
  const Tensor some = Tensor::vector<float>({1, 2}), text = Tensor::vector<std::string>({"a", "b"});
  CHECK(why("OptionalGetValue", optional("\1", {text})).find("is string, expected float") !=
        std::string::npos);
  CHECK(why("OptionalGetValue", optional("\1", {Tensor::vector<float>({1})}))
            .find("has shape [1], expected [2]") != std::string::npos);
  for (const std::string_view op : {"OptionalGetValue", "OptionalHasValue", "ZerosLike"}) {
    CAPTURE(op);
    CHECK(why(op, optional(std::string(1, '\0'), {some})).find("says that it holds nothing") !=
          std::string::npos);
    CHECK(why(op, optional("\2", {some})).find("it must be one byte") != std::string::npos);
  }
  CHECK_FALSE(f.bench->run("AddN", {optional("\2", {some}), optional("\2", {some})}).ok());
}

}  // namespace
}  // namespace millrace
