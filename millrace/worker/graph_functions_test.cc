#include "millrace/worker/graph_functions.h"

#include "millrace/graph/text.h"
#include "millrace/ops/flow/families.h"
#include "millrace/worker/testing/test_cluster.h"

namespace millrace::testing {
namespace {

constexpr std::string_view kLibrary =
    "function stuck \"-> z: int32\" {\n"
    "  never = Wait()\n"
    "  return z = never:y:0\n"
    "}\n"
    "function sum \"x: int32, y: int32 -> z: int32\" {\n"
    "  z = Add(x, y, T=int32)\n"
    "  return z = z:z:0\n"
    "}\n"
    "function drawn \"shape: int32 -> z: float\" {\n"
    "  z = Draw(shape)\n"
    "  return z = z:output:0\n"
    "}\n"
    "function calls \"shape: int32 -> z: float\" {\n"
    "  z = StatefulPartitionedCall(shape, Tin={int32}, Tout={float}, f=drawn)\n"
    "  return z = z:output:0\n"
    "}\n"
    "function where \"x: int32 -> name: string\" {\n"
    "  here = Where() ^x\n"
    "  return name = here:name:0\n"
    "}\n"
    "function far \"target: string, x: int32 -> name: string\" {\n"
    "  call = RemoteCall(target, x, Tin={int32}, Tout={string}, f=where)\n"
    "  return name = call:output:0\n"
    "}\n"
    "function endless \"target: string, x: int32 -> name: string\" {\n"
    "  call = RemoteCall(target, target, x, Tin={string, int32}, Tout={string}, f=endless)\n"
    "  return name = call:output:0\n"
    "}\n";

// Says on which device it runs.
OpDef where_op() {
  return {.name = "Where",
          .doc = {},
          .signature = "-> name: string",
          .cpu = kernel([](KernelContext& context) -> Status {
            context.set_output(0, Tensor::scalar(context.step().device->name));
            return {};
          }),
          .stateful = true,
          .foldable = false};
}

struct Called final : FunctionRun {
  void ended(Status status) override {
    MutexLock lock(mutex);
    how = std::move(status);
    changed.notify_all();
  }
  Status wait() {
    MutexLock lock(mutex);
    while (!how) changed.wait(mutex);
    return *how;
  }
  Mutex mutex;
  Condition changed;
  std::optional<Status> how MR_GUARDED_BY(mutex);
};

// The functions above on a device, behind a gate.
struct Functions {
  Functions() : gate(std::make_shared<CallGate>(inside)) {
    REQUIRE(register_remote_calls(cluster.lab.ops).ok());
    REQUIRE(cluster.lab.ops.add(where_op()).ok());
    const auto parsed = parse_graph(kLibrary, cluster.lab.ops);
    REQUIRE_MESSAGE(parsed.ok(), parsed.status().to_string());
    space = std::make_shared<GraphFunctions>(CallSite{here.host, gate}, parsed->functions(),
                                             cluster.lab.ops, devices, 0);
  }
  std::shared_ptr<Called> call(const std::string& name, std::vector<Tensor> arguments,
                               bool is_orphan = false) {
    const auto function = space->instantiate({name, {}});
    REQUIRE_MESSAGE(function.ok(), function.status().to_string());
    auto called = std::make_shared<Called>();
    called->arguments = std::move(arguments);
    called->is_orphan = is_orphan;
    (*function)->run(called);
    return called;
  }

  TestCluster cluster;
  TestHost here;
  LocalDevices devices = LocalDevices::create({"worker", 0, 0}, 2, here.host);
  InFlight inside;
  std::shared_ptr<CallGate> gate;
  std::shared_ptr<GraphFunctions> space;
};

TEST_CASE("a function of a graph is called, again and again") {
  Functions made;
  for (int32_t i = 0; i < 3; ++i) {
    const auto called = made.call("sum", {Tensor::scalar(i), Tensor::scalar(40)});
    REQUIRE(called->wait().ok());
    CHECK(called->results.at(0) == Tensor::scalar(40 + i));
  }
  CHECK(made.call("sum", {Tensor::scalar(1)})->wait().message() ==
        "a function of 2 arguments is called with 1");
}

TEST_CASE("a function knows whether it has state, and what it calls") {
  Functions made;
  REQUIRE(made.cluster.lab.ops
              .add({.name = "Draw",
                    .doc = {},
                    .signature = "shape: int32 -> output: float",
                    .stateful = true})
              .ok());
  CHECK(made.space->check_stateless({"sum", {}}).ok());
  CHECK(made.space->check_stateless({"unknown", {}}).ok());
  for (const char* name : {"drawn", "calls"}) {
    const Status status = made.space->check_stateless({name, {}});
    CHECK(status.code() == Code::failed_precondition);
    CHECK(status.message().find("Draw is stateful. It is node 'z' of function 'drawn'") == 0);
  }
}

TEST_CASE("a call ends when it is cancelled, and one that nobody can cancel ends with the task") {
  Functions made;
  const auto ours = made.call("stuck", {});
  ours->cancellation.cancel(cancelled("enough"));
  CHECK(ours->wait().message().starts_with("enough"));  // then comes the node that waited
  const auto orphan = made.call("stuck", {}, true);
  made.gate->shut(unavailable("the task stops"));
  CHECK(orphan->wait().message().starts_with("the task stops"));
  made.inside.wait();
  CHECK(made.call("stuck", {})->wait().code() == Code::cancelled);
}

TEST_CASE("a function calls another one on the device of the task that it is told") {
  Functions made;
  const auto name_on = [&](const std::string& target) -> Result<std::string> {
    const auto called = made.call("far", {Tensor::scalar(target), Tensor::scalar(1)});
    MR_TRY(called->wait());
    return called->results.at(0).item<std::string>();
  };
  const std::string task = "/job:worker/replica:0/task:0";
  CHECK(name_on("/cpu:1").value() == str_cat(task, "/device:CPU:1"));
  CHECK(name_on("/job:worker/task:0/cpu:0").value() == str_cat(task, "/device:CPU:0"));
  CHECK(name_on("").value() == str_cat(task, "/device:CPU:0"));
  const Status fault = name_on("/job:worker/task:1/cpu:0").status();
  CHECK(fault.code() == Code::invalid_argument);
  CHECK(fault.message().starts_with(
      "function 'where' is called on '/job:worker/replica:0/task:1/device:CPU:0', which is no "
      "device of the task that runs the caller; it has "));
}

TEST_CASE("a function that calls itself on a device is found out, and not called without end") {
  Functions made;
  const Tensor here = Tensor::scalar(std::string("/cpu:0"));
  const Status fault = made.call("endless", {here, Tensor::scalar(1)})->wait();
  CHECK(fault.code() == Code::resource_exhausted);
  CHECK(fault.message().find("from functions called so, 16 deep") != std::string::npos);
}

}  // namespace
}  // namespace millrace::testing
