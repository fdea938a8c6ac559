#include <doctest/doctest.h>

#include "millrace/ops/script/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

// Doubles what it is given, under the token "double"; gives all of it back under any other.
class Doubler final : public ScriptHost {
 public:
  Result<std::vector<Tensor>> call(const std::string& token, std::vector<Tensor> inputs) override {
    if (token == "none") return invalid("callback none is not found");
    if (token == "double") inputs[0] = Tensor::scalar(2 * inputs[0].item<float>());
    return inputs;
  }
};

Attrs calling(const std::string& token, std::vector<DType> gives) {
  Attrs attrs;
  attrs.set("token", token);
  attrs.set("Tin", std::vector<DType>{DType::f32});
  attrs.set("Tout", std::move(gives));
  return attrs;
}

Result<std::vector<Tensor>> run(std::shared_ptr<ScriptHost> host, Attrs attrs) {
  OpRegistry ops;
  MR_TRY(register_script_calls(ops, std::move(host)));
  return run_op(ops, "PyFunc", {Tensor::scalar(3.0f)}, std::move(attrs));
}

TEST_CASE("a node gives what the function of its token returns") {
  const auto made = run(std::make_shared<Doubler>(), calling("double", {DType::f32}));
  REQUIRE(made.ok());
  CHECK((*made)[0].item<float>() == 6.0f);
}

TEST_CASE("what a function returns must be what the node promises") {
  const auto host = std::make_shared<Doubler>();
  CHECK(run(host, calling("same", {DType::f32, DType::f32})).status().message() ==
        "same returns 1 values, but expects to see 2 values.");
  CHECK(run(host, calling("same", {DType::i32})).status().message() ==
        "0-th value returned by same is float, but expects int32");
  CHECK(run(host, calling("none", {DType::f32})).status().message() ==
        "callback none is not found");
}

TEST_CASE("a process without functions says whom it lacks") {
  const Status status = run(nullptr, calling("double", {DType::f32})).status();
  CHECK(status.code() == Code::failed_precondition);
  CHECK(status.message().find("'double', and this process runs no Python") != std::string::npos);
}

}  // namespace
}  // namespace millrace
