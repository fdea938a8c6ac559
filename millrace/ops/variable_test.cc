#include "millrace/ops/state/variable.h"

#include <thread>

#include <doctest/doctest.h>

#include "millrace/ops/all.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

struct VariableOps {
  OpRegistry ops;
  std::unique_ptr<Bench> bench;

  VariableOps() {
    REQUIRE(register_all_ops(ops).ok());
    bench = std::make_unique<Bench>(ops);
  }

  Value variable(std::string name = "v", DType dtype = DType::f32, PartialShape shape = {2}) {
    auto made = bench->run(
        "VariableV2", {}, {.name = std::move(name), .attrs = {{"dtype", dtype}, {"shape", shape}}});
    REQUIRE_MESSAGE(made.ok(), made.status().to_string());
    return std::move((*made)[0]);
  }
  Status run(std::string_view op, std::vector<Value> inputs, Attrs attrs = {}) {
    return bench->run(op, std::move(inputs), {.name = "node", .attrs = std::move(attrs)}).status();
  }
  Result<Tensor> get(std::string_view op, std::vector<Value> inputs, Attrs attrs = {}) {
    MR_ASSIGN(auto outputs, bench->run(op, std::move(inputs), {.attrs = std::move(attrs)}));
    return outputs[0].tensor;
  }
  Result<Tensor> read(Value ref) { return get("Identity", {std::move(ref)}); }
  Status assign(Value ref, Tensor value, Attrs attrs = {{"T", DType::f32}}) {
    // Not a braced list, which would keep copies of both until the op has run.
    std::vector<Value> inputs;
    inputs.push_back(std::move(ref));
    inputs.push_back(std::move(value));
    return run("Assign", std::move(inputs), std::move(attrs));
  }
};

Tensor vector_of(std::initializer_list<float> values) { return Tensor::vector<float>(values); }

TEST_CASE("a variable that nobody assigned can't be read, and says its name") {
  VariableOps f;
  const Value v = f.variable("weights");
  CHECK(f.bench->run("Identity", {v}, {.attrs = {{"T", DType::f32}}}).status() ==
        failed_precondition("Attempting to use uninitialized value weights"));
  CHECK(f.run("AssignAdd", {v, vector_of({1, 2})}, {{"T", DType::f32}}) ==
        failed_precondition("Attempting to use uninitialized value weights"));
  CHECK(*f.get("IsVariableInitialized", {v}, {{"dtype", DType::f32}}) == Tensor::scalar(false));
  REQUIRE(f.assign(v, vector_of({1, 2})).ok());
  CHECK(*f.get("IsVariableInitialized", {v}, {{"dtype", DType::f32}}) == Tensor::scalar(true));
  CHECK(*f.read(v) == vector_of({1, 2}));
}

TEST_CASE("a variable without elements has a value from the start") {
  VariableOps f;
  const Value v = f.variable("none", DType::f32, {0, 3});
  CHECK(*f.get("IsVariableInitialized", {v}, {{"dtype", DType::f32}}) == Tensor::scalar(true));
  CHECK(f.read(v)->shape() == Shape{0, 3});
}

TEST_CASE("a vector of indices names slices of one coordinate each") {
  VariableOps f;
  const Value v = f.variable("v", DType::f32, {3});
  REQUIRE(f.assign(v, vector_of({1, 2, 3})).ok());
  const auto update = [&](Tensor indices) {
    return f.run("ScatterNdUpdate", {v, std::move(indices), vector_of({8, 9})},
                 {{"T", DType::f32}, {"Tindices", DType::i32}});
  };
  REQUIRE(update(Tensor::vector<int32_t>({2, 0})).ok());
  CHECK(*f.read(v) == vector_of({9, 2, 8}));
  CHECK(update(*Tensor::zeros(DType::i32, {2, 0})).code() == Code::invalid_argument);
}

TEST_CASE("nodes of one name share a variable, shared_name and container tell them apart") {
  VariableOps f;
  const Value v = f.variable("v");
  REQUIRE(f.assign(v, vector_of({1, 2})).ok());
  CHECK(*f.read(f.variable("v")) == vector_of({1, 2}));
  const auto other = f.bench->run(
      "VariableV2", {},
      {.name = "v",
       .attrs = {{"dtype", DType::f32}, {"shape", PartialShape{2}}, {"container", "elsewhere"}}});
  CHECK((*other)[0].ref->tensor != v.ref->tensor);
  const auto shared = f.bench->run(
      "VariableV2", {},
      {.name = "w",
       .attrs = {{"dtype", DType::f32}, {"shape", PartialShape{2}}, {"shared_name", "v"}}});
  CHECK((*shared)[0].ref->tensor == v.ref->tensor);
  const auto wrong =
      f.bench->run("VariableV2", {},
                   {.name = "v", .attrs = {{"dtype", DType::i32}, {"shape", PartialShape{2}}}});
  CHECK(wrong.status().code() == Code::invalid_argument);
}

TEST_CASE("an assigned buffer is taken, not copied, if nobody else has it") {
  VariableOps f;
  const Value v = f.variable();
  Tensor own = vector_of({1, 2});
  const void* data = own.data();
  REQUIRE(f.assign(v, std::move(own)).ok());
  CHECK(v.ref->tensor->data() == data);
  const Tensor shared = vector_of({3, 4});
  REQUIRE(f.assign(v, shared).ok());
  CHECK(v.ref->tensor->data() != shared.data());
}

TEST_CASE("what was read never changes, and an update without readers is done in place") {
  VariableOps f;
  const Value v = f.variable();
  REQUIRE(f.assign(v, vector_of({1, 2})).ok());
  const void* before = v.ref->tensor->data();
  REQUIRE(f.run("AssignAdd", {v, vector_of({1, 1})}).ok());
  CHECK(v.ref->tensor->data() == before);
  const Tensor read = *f.read(v);
  REQUIRE(f.run("AssignSub", {v, vector_of({5, 5})}).ok());
  CHECK(read == vector_of({2, 3}));
  CHECK(*f.read(v) == vector_of({-3, -2}));
}

TEST_CASE("assign checks the shape unless it is told not to") {
  VariableOps f;
  const Value v = f.variable();
  CHECK(f.assign(v, vector_of({1, 2, 3})).message() ==
        "Assign requires shapes of both tensors to match. lhs shape= [2] rhs shape= [3]");
  REQUIRE(f.assign(v, vector_of({1, 2, 3}), {{"T", DType::f32}, {"validate_shape", false}}).ok());
  CHECK(f.assign(v, vector_of({1, 2})).code() == Code::invalid_argument);
  CHECK(f.run("AssignAdd", {v, vector_of({1})}).code() == Code::invalid_argument);
}

TEST_CASE("counting up ends at the limit") {
  VariableOps f;
  const Value v = f.variable("n", DType::i64, PartialShape::scalar());
  REQUIRE(f.assign(v, Tensor::scalar<int64_t>(1), {{"T", DType::i64}}).ok());
  CHECK(*f.get("CountUpTo", {v}, {{"limit", 2}}) == Tensor::scalar<int64_t>(1));
  CHECK(f.get("CountUpTo", {v}, {{"limit", 2}}).status() == out_of_range("Reached limit of 2"));
}

TEST_CASE("updates from many threads all count") {
  VariableOps f;
  const Value v = f.variable("n", DType::i32, PartialShape::scalar());
  REQUIRE(f.assign(v, Tensor::scalar<int32_t>(0), {{"T", DType::i32}}).ok());
  constexpr int kThreads = 4, kUpdates = 500;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < kUpdates; ++j) {
        const Status status = f.run("AssignAdd", {v, Tensor::scalar<int32_t>(1)});
        if (!status.ok()) std::abort();
        (void)f.read(v);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(*f.read(v) == Tensor::scalar<int32_t>(kThreads * kUpdates));
}

// --- resource variables ---

Tensor handle(VariableOps& f, std::string name = "r") {
  return *f.get("VarHandleOp", {},
                {{"dtype", DType::f32}, {"shape", PartialShape{2}}, {"shared_name", name}});
}

TEST_CASE("a resource variable exists from its first assignment on") {
  VariableOps f;
  const Tensor r = handle(f);
  CHECK(*f.get("VarIsInitializedOp", {r}) == Tensor::scalar(false));
  CHECK(
      f.get("ReadVariableOp", {r}, {{"dtype", DType::f32}}).status() ==
      failed_precondition(
          "Could not find variable r. This could mean that the variable has been deleted. In TF1, "
          "it can also mean the variable is uninitialized. Debug info: container=localhost, status "
          "error message=Resource localhost/r/Variable does not exist."));
  REQUIRE(f.run("AssignVariableOp", {r, vector_of({1, 2})}).ok());
  CHECK(*f.get("VarIsInitializedOp", {r}) == Tensor::scalar(true));
  CHECK(*f.get("ReadVariableOp", {r}, {{"dtype", DType::f32}}) == vector_of({1, 2}));
  CHECK(*f.get("VariableShape", {r}) == Tensor::vector<int32_t>({2}));
  CHECK(f.run("DisableCopyOnRead", {r}).ok());
}

TEST_CASE("what updates or gathers from a resource variable that is not there does not find it") {
  VariableOps f;
  const Tensor r = handle(f);
  const Tensor rows = Tensor::vector<int32_t>({0});
  const Status missing = not_found("Resource localhost/r/Variable does not exist.");
  CHECK(f.run("AssignAddVariableOp", {r, vector_of({1, 1})}) == missing);
  CHECK(f.run("ResourceScatterAdd", {r, rows, vector_of({1})}) == missing);
  CHECK(f.get("ResourceGather", {r, rows}, {{"dtype", DType::f32}}).status() == missing);
  CHECK(f.get("VariableShape", {r}).status() == missing);
  CHECK(f.run("DestroyResourceOp", {r}, {{"ignore_lookup_error", false}}) == missing);
}

TEST_CASE("a variable needs nothing turned off to be read without a copy, but must be there") {
  VariableOps f;
  const Tensor r = handle(f);
  const Status missing = f.run("DisableCopyOnRead", {r});
  CHECK(missing.code() == Code::failed_precondition);
  CHECK(missing.message().find("Could not find variable r.") != std::string::npos);
  REQUIRE(f.run("AssignVariableOp", {r, vector_of({1, 2})}).ok());
  CHECK(f.run("DisableCopyOnRead", {r}).ok());
  CHECK(*f.get("ReadVariableOp", {r}, {{"dtype", DType::f32}}) == vector_of({1, 2}));
}

TEST_CASE("a resource variable is updated, and what was read stays") {
  VariableOps f;
  const Tensor r = handle(f);
  REQUIRE(f.run("AssignVariableOp", {r, vector_of({1, 2})}).ok());
  const Tensor read = *f.get("ReadVariableOp", {r}, {{"dtype", DType::f32}});
  REQUIRE(f.run("AssignAddVariableOp", {r, vector_of({1, 1})}).ok());
  REQUIRE(f.run("AssignSubVariableOp", {r, vector_of({0, 5})}).ok());
  CHECK(read == vector_of({1, 2}));
  CHECK(*f.get("ReadVariableOp", {r}, {{"dtype", DType::f32}}) == vector_of({2, -2}));
}

TEST_CASE("an assignment that validates shapes holds them against the value that is there") {
  VariableOps f;
  const Tensor r = handle(f);
  const Attrs validating{{"validate_shape", AttrValue(true)}};
  REQUIRE(f.run("AssignVariableOp", {r, vector_of({1, 2, 3})}, validating).ok());
  const Status refused = f.run("AssignVariableOp", {r, vector_of({1, 2})}, validating);
  CHECK(refused.code() == Code::invalid_argument);
  CHECK(refused.message().find("Expected [3] got [2]") != std::string::npos);
  CHECK(f.run("AssignVariableOp", {r, vector_of({1, 2})}).ok());
}

TEST_CASE("wrong types, wrong devices and wrong handles are refused") {
  VariableOps f;
  const Tensor r = handle(f);
  REQUIRE(f.run("AssignVariableOp", {r, vector_of({1, 2})}).ok());
  CHECK(f.run("AssignVariableOp", {r, Tensor::vector<int32_t>({1, 2})}).code() ==
        Code::invalid_argument);
  CHECK(f.get("ReadVariableOp", {r}, {{"dtype", DType::i32}}).status().code() ==
        Code::invalid_argument);
  ResourceHandle elsewhere = r.item<ResourceHandle>();
  elsewhere.device = "/job:ps/replica:0/task:0/device:CPU:0";
  CHECK(f.run("AssignVariableOp", {Tensor::scalar(elsewhere), vector_of({1, 2})}).code() ==
        Code::invalid_argument);
  ResourceHandle queue = r.item<ResourceHandle>();
  queue.type_name = "Queue";
  CHECK(f.run("AssignVariableOp", {Tensor::scalar(queue), vector_of({1, 2})}).code() ==
        Code::invalid_argument);
}

TEST_CASE("a kernel forgets the variable it found once the container is cleared") {
  VariableOps f;
  const Tensor r = handle(f);
  REQUIRE(f.run("AssignVariableOp", {r, vector_of({1, 2})}).ok());
  f.bench->resources().clear("", cancelled("reset"));
  CHECK(*f.get("VarIsInitializedOp", {r}) == Tensor::scalar(false));
}

}  // namespace
}  // namespace millrace
