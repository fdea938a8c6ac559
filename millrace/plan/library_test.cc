// Planning with the op library itself: the nodes that passes add must be ops that it has.
#include <algorithm>

#include "doctest/doctest.h"

#include "millrace/graph/text.h"
#include "millrace/graph/validate.h"
#include "millrace/ops/all.h"
#include "millrace/plan/plan.h"

namespace millrace {
namespace {

DeviceSet worker_and_ps() {
  return DeviceSet::create(
             {{"/job:worker/replica:0/task:0/device:CPU:0", 1, Locality::local_to_master},
              {"/job:ps/replica:0/task:0/device:CPU:0", 2}})
      .value();
}

struct Planned {
  OpRegistry ops;
  StepPlan plan;

  Planned(std::string_view text, const StepSignature& signature) {
    REQUIRE(register_all_ops(ops).ok());
    auto graph = parse_graph(text, ops);
    REQUIRE_MESSAGE(graph.ok(), graph.status().to_string());
    GraphTables tables;
    FreshNames names("_S");
    const Status status = prepare_graph(*graph, tables, worker_and_ps(), {});
    REQUIRE_MESSAGE(status.ok(), status.to_string());
    auto made = make_plan(*graph, worker_and_ps(), signature, {}, names);
    REQUIRE_MESSAGE(made.ok(), made.status().to_string());
    plan = *std::move(made);
    for (const PartitionPlan& part : plan.partitions) CHECK(validate(part.graph).ok());
  }

  bool has(std::string_view node) const {
    return std::ranges::any_of(plan.partitions, [&](const PartitionPlan& part) {
      return part.graph.find(node) != nullptr;
    });
  }
};

TEST_CASE("a loop of the library's ops is cut between tasks") {
  const Planned planned(
      "zero = Const(0)\n"
      "enter = Enter(zero, frame_name=\"f\")\n"
      "merge = Merge(enter, next)\n"
      "ten = Const(10) ^merge\n"
      "less = Less(merge, ten)\n"
      "cond = LoopCond(less)\n"
      "switch = Switch(merge, cond)\n"
      "one = Const(1) ^switch\n"
      "sum = Add(switch:1, one) @ /job:ps\n"
      "next = NextIteration(sum)\n"
      "exit = Exit(switch)\n"
      "wait = NoOp() ^exit @ /job:ps\n",
      {.feeds = {}, .fetches = {"exit:0"}, .targets = {"wait"}});
  CHECK(planned.plan.partitions.size() == 2);
}

TEST_CASE("kernels of the library fold constants") {
  const Planned planned(
      "dims = Const([2, 3])\n"
      "two = Const(2.0)\n"
      "filled = Fill(dims, two)\n"
      "sum = Add(filled, filled)\n"
      "x = Placeholder(dtype=float)\n"
      "y = Mul(sum, x)\n"
      "v = VariableV2(dtype=float, shape=[2,3]) @ /job:ps\n"
      "s = Assign(v, y)\n",
      {.feeds = {"x:0"}, .fetches = {"s:0"}, .targets = {}});
  CHECK(planned.has("ConstantFolding/sum"));
  CHECK(!planned.has("filled"));
}

TEST_CASE("a constant whose value has another type than it says is refused") {
  OpRegistry ops;
  REQUIRE(register_all_ops(ops).ok());
  auto graph = parse_graph(
      "d = Const(dtype=int32, value=tensor([1.0, 2.0]))  v = Const(1.0)  f = Fill(d, v)", ops);
  REQUIRE(graph.ok());
  GraphTables tables;
  FreshNames names("_S");
  const Status status = prepare_graph(*graph, tables, worker_and_ps(), {});
  if (!status.ok()) return;
  const auto plan =
      make_plan(*graph, worker_and_ps(), {.feeds = {}, .fetches = {"f"}, .targets = {}}, {}, names);
  REQUIRE(plan.ok());
  CHECK(plan->partitions[0].graph.find("f") != nullptr);  // not folded: its kernel will say so
}

}  // namespace
}  // namespace millrace
