#include <doctest/doctest.h>

#include "millrace/ops/all.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

struct BranchOps {
  OpRegistry ops;
  std::unique_ptr<Bench> bench;
  BranchOps() {
    REQUIRE(register_all_ops(ops).ok());
    bench = std::make_unique<Bench>(ops);
  }
};

TEST_CASE("a switch gives its data to one side and kills the other") {
  BranchOps f;
  for (const bool predicate : {false, true}) {
    const auto running =
        f.bench->start("Switch", {Tensor::scalar(5.0f), Tensor::scalar(predicate)});
    REQUIRE((*running)->status().ok());
    CHECK((*running)->output_is_dead(0) == predicate);
    CHECK((*running)->output_is_dead(1) == !predicate);
    const auto outputs = (*running)->outputs();
    CHECK((*outputs)[predicate ? 1 : 0].tensor == Tensor::scalar(5.0f));
  }
}

TEST_CASE("a switch needs one predicate") {
  BranchOps f;
  CHECK(f.bench->run("Switch", {Tensor::scalar(5.0f), Tensor::vector<bool>({true, false})})
            .status()
            .code() == Code::invalid_argument);
}

TEST_CASE("a merge gives the input that is there, and says which") {
  BranchOps f;
  const auto outputs = f.bench->run("Merge", {Value(), Tensor::scalar(5.0f), Value()},
                                    {.attrs = {{"T", DType::f32}, {"N", 3}}});
  REQUIRE_MESSAGE(outputs.ok(), outputs.status().to_string());
  CHECK((*outputs)[0].tensor == Tensor::scalar(5.0f));
  CHECK((*outputs)[1].tensor == Tensor::scalar<int32_t>(1));
}

TEST_CASE("references pass through their own forms") {
  BranchOps f;
  const auto variable =
      f.bench->run("VariableV2", {},
                   {.name = "v", .attrs = {{"dtype", DType::f32}, {"shape", PartialShape{2}}}});
  const Value ref = (*variable)[0];
  const Attrs attrs = {{"T", DType::f32}, {"frame_name", "f"}};
  for (const char* op : {"RefEnter", "RefExit", "RefNextIteration", "RefIdentity"}) {
    CAPTURE(op);
    const auto outputs = f.bench->run(op, {ref}, {.attrs = attrs});
    REQUIRE((*outputs)[0].ref != nullptr);
    CHECK((*outputs)[0].ref->tensor == ref.ref->tensor);
  }
  const auto running = f.bench->start("RefSwitch", {ref, Tensor::scalar(true)}, {.attrs = attrs});
  CHECK((*running)->output_is_dead(0));
  CHECK((*(*running)->outputs())[1].ref->name == "v");
}

TEST_CASE("ops of control flow have the roles by which executors treat them") {
  BranchOps f;
  const auto role = [&](const char* name) { return f.ops.find(name)->role; };
  CHECK(role("Switch") == Role::switch_);
  CHECK(role("RefMerge") == Role::merge);
  CHECK(role("Enter") == Role::enter);
  CHECK(role("Exit") == Role::exit);
  CHECK(role("NextIteration") == Role::next_iteration);
  CHECK(role("LoopCond") == Role::loop_cond);
  CHECK(role("ControlTrigger") == Role::control_trigger);
  CHECK(role("_Send") == Role::send);
  CHECK(role("_HostRecv") == Role::receive);
  CHECK(role("NoOp") == Role::nothing);
}

}  // namespace
}  // namespace millrace
