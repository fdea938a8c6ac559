#include "millrace/op/registry.h"

#include <thread>

#include <doctest/doctest.h>

#include "millrace/op/kernel.h"

namespace millrace {
namespace {

OpDef op_named(std::string name) {
  return {.name = std::move(name), .doc = "", .signature = "x: T -> y: T | T: type"};
}

TEST_CASE("an op is found by its name and the pointer stays valid while others come") {
  OpRegistry ops;
  REQUIRE(ops.add(op_named("Neg")).ok());
  const OpDef* neg = ops.find("Neg");
  for (int i = 0; i < 100; ++i) REQUIRE(ops.add(op_named(str_cat("Op", i))).ok());
  CHECK(ops.find("Neg") == neg);
  CHECK(neg->inputs.size() == 1);
  CHECK(ops.find("neg") == nullptr);
  CHECK(ops.all().front()->name == "Neg");
  CHECK(ops.size() == 101);
}

TEST_CASE("a second op of a name and an op without sense are refused") {
  OpRegistry ops;
  REQUIRE(ops.add(op_named("Neg")).ok());
  CHECK(ops.add(op_named("Neg")).code() == Code::already_exists);
  CHECK(ops.add({.name = "Bad", .doc = "", .signature = "x T ->"}).code() ==
        Code::invalid_argument);
  CHECK(ops.find("Bad") == nullptr);
}

TEST_CASE("a signature that was left unread is read when its op is asked for, by many at once") {
  OpRegistry ops;
  {
    const OpRegistry::LeavesUnread quickly(ops);
    REQUIRE(ops.add(op_named("Neg")).ok());
    CHECK(ops.add(op_named("Neg")).code() == Code::already_exists);
    REQUIRE(ops.add({.name = "Bad", .doc = "", .signature = "x T ->"}).ok());
  }
  CHECK(ops.add({.name = "Worse", .doc = "", .signature = "x T ->"}).code() ==
        Code::invalid_argument);
  std::vector<std::thread> askers;
  std::atomic<int> whole = 0;
  for (int i = 0; i < 8; ++i)
    askers.emplace_back([&] { whole += ops.find("Neg")->inputs.size() == 1 ? 1 : 0; });
  for (std::thread& asker : askers) asker.join();
  CHECK(whole == 8);
  CHECK(ops.find("Bad") == nullptr);
  CHECK(ops.all().size() == 1);
  CHECK(ops.check().message().find("Bad") != std::string::npos);
}

TEST_CASE("an op gets a kernel for another type of device from outside, once") {
  OpRegistry ops;
  REQUIRE(ops.add(op_named("Neg")).ok());
  const KernelFactory none = [](const KernelSpec&) -> Result<std::unique_ptr<Kernel>> {
    return unimplemented("only a test");
  };
  CHECK(ops.find("Neg")->kernel_for("CPU") == nullptr);
  REQUIRE(ops.add_kernel("Neg", "GPU", none).ok());
  CHECK(ops.find("Neg")->kernel_for("GPU") != nullptr);
  CHECK(ops.find("Neg")->kernel_for("CPU") == nullptr);
  CHECK(ops.add_kernel("Neg", "GPU", none).code() == Code::already_exists);
  CHECK(ops.add_kernel("Sub", "GPU", none).code() == Code::not_found);
}

TEST_CASE("a type of variants is found by its name, and registered once") {
  OpRegistry ops;
  const VariantTypes& types = ops.variants();
  CHECK(types.find("box") == nullptr);
  REQUIRE(ops.add_variant({.type_name = "box", .plural = "boxes"}).ok());
  REQUIRE(ops.add_variant({.type_name = "bag", .plural = "bags"}).ok());
  REQUIRE(types.find("box") != nullptr);
  CHECK(types.find("box")->plural == "boxes");
  const bool has_sum = types.find("box")->sum != nullptr;
  CHECK_FALSE(has_sum);
  CHECK(types.all().size() == 2);
  CHECK(ops.add_variant({.type_name = "box", .plural = "others"}).code() == Code::already_exists);
  CHECK(types.find("box")->plural == "boxes");
}

TEST_CASE("ops that only others know are kept once for each use, and not without end") {
  OpRegistry ops;
  const auto foreign = [&](std::string name, size_t inputs, bool is_ref = false) {
    OpDef op{.name = std::move(name)};
    op.inputs.assign(inputs, {.name = "x", .dtype = DType::f32});
    for (ArgDef& input : op.inputs) input.is_ref = is_ref;
    return ops.foreign(std::move(op));
  };
  const OpDef* warp = *foreign("Warp", 2);
  CHECK(warp->is_foreign);
  CHECK(*foreign("Warp", 2) == warp);
  CHECK(*foreign("Warp", 3) != warp);
  CHECK(*foreign("Warp", 2, true) != warp);
  CHECK(*foreign("Weft", 2) != warp);
  CHECK(ops.find("Warp") == nullptr);
  for (const auto& [name, inputs] : {std::pair<std::string, size_t>(std::string(2 << 20, 'w'), 0),
                                     std::pair<std::string, size_t>("Long", 200'000)}) {
    const Result<const OpDef*> refused = foreign(name, inputs);
    REQUIRE(refused.status().code() == Code::resource_exhausted);
    CHECK(refused.status().message().starts_with("Op type not registered '" + name.substr(0, 4)));
    CHECK(refused.status().message().size() < 500);
  }
  CHECK(*foreign("Warp", 2) == warp);
}

TEST_CASE("an unknown name is answered with the known ones close to it") {
  OpRegistry ops;
  for (const char* name : {"MatMul", "Mul", "Multinomial", "Max"})
    REQUIRE(ops.add(op_named(name)).ok());
  CHECK(ops.suggestions("Matmul") == std::vector<std::string>{"MatMul"});
  CHECK(ops.suggestions("Mull") == std::vector<std::string>{"Mul"});
  CHECK(ops.suggestions("QueueDequeue").empty());
  CHECK(ops.suggestions(std::string(1000000, 'x')).empty());
}

TEST_CASE("lists of arguments are flattened into slots by the node's attributes") {
  OpRegistry ops;
  REQUIRE(ops.add({.name = "Mixed",
                   .doc = "",
                   .signature =
                       "a: N*T, b: string, c: Ts -> ref: ref(T) | N: int >= 1, T: type = float, "
                       "Ts: list(type)"})
              .ok());
  const OpDef& op = *ops.find("Mixed");
  const Attrs attrs = {{"N", 2}, {"Ts", std::vector<DType>{DType::i32, DType::boolean}}};
  const auto inputs = resolve_args(op, op.inputs, attrs);
  CHECK(*inputs == std::vector<ArgType>{{DType::f32, false},
                                        {DType::f32, false},
                                        {DType::string, false},
                                        {DType::i32, false},
                                        {DType::boolean, false}});
  CHECK(*arg_offsets(op, op.inputs, attrs) == std::vector<int>{0, 2, 3, 5});
  CHECK(*resolve_args(op, op.outputs, attrs) == std::vector<ArgType>{{DType::f32, true}});
}

TEST_CASE("counts that are hostile or missing are refused") {
  OpRegistry ops;
  REQUIRE(ops.add({.name = "Many", .doc = "", .signature = "a: N*float -> | N: int"}).ok());
  const OpDef& op = *ops.find("Many");
  CHECK(resolve_args(op, op.inputs, {{"N", int64_t{1} << 60}}).status().code() ==
        Code::invalid_argument);
  CHECK(resolve_args(op, op.inputs, {{"N", -1}}).status().code() == Code::invalid_argument);
  CHECK(resolve_args(op, op.inputs, {}).status().code() == Code::invalid_argument);
}

}  // namespace
}  // namespace millrace
