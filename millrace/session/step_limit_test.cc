// Steps that take longer than they may, because of a kernel that looks at nothing while it
// computes.
#include <thread>

#include "millrace/op/kernel.h"
#include "millrace/ops/all.h"
#include "millrace/session/testing/fleet.h"
#include "millrace/wire/graph_def.h"

namespace millrace {
namespace {

using namespace testing;

// A runtime with an op whose kernel is busy until the test lets it go.
struct BusyRuntime {
  BusyRuntime() {
    auto ops = std::make_shared<OpRegistry>();
    CHECK(register_all_ops(*ops).ok());
    CHECK(ops->add({.name = "Busy",
                    .doc = "Computes for as long as the test likes.",
                    .signature = "-> y: int32",
                    .cpu = kernel([this](KernelContext& context) {
                      work();
                      context.set_output(0, Tensor::scalar(1));
                      return Status();
                    }),
                    .stateful = true,
                    .foldable = false})
              .ok());
    runtime = Runtime::create({.threads = 2, .ops = std::move(ops)});
  }

  void let_go() {
    MutexLock lock(mutex);
    is_free = true;
    changed.notify_all();
  }

  std::shared_ptr<Runtime> runtime;

 private:
  void work() {
    MutexLock lock(mutex);
    while (!is_free) changed.wait(mutex);
  }

  Mutex mutex;
  Condition changed;
  bool is_free MR_GUARDED_BY(mutex) = false;
};

wire::GraphDef busy_graph(std::string device) {
  wire::GraphDef graph;
  graph.versions.producer = 2313;
  graph.nodes.resize(2);
  graph.nodes[0].name = "busy";
  graph.nodes[0].op = "Busy";
  graph.nodes[0].device = std::move(device);
  graph.nodes[1].name = "ready";
  graph.nodes[1].op = "NoOp";
  return graph;
}

// Nothing but the limit can end this run: the kernel is let go only after it.
std::string run_too_long(Session& session) {
  // The session is there, so that the limit is the step's.
  CHECK(session.run({}, {}, {.targets = {"ready"}}).ok());
  const Status status =
      session.run({}, {"busy:0"}, {.timeout = std::chrono::milliseconds(20)}).status();
  CHECK(status.code() == Code::deadline_exceeded);
  return status.to_string();
}

TEST_CASE("a limit is answered when it passes, whatever a kernel of this process still does") {
  BusyRuntime busy;
  auto session = Session::create("", {}, busy.runtime).value();
  CHECK(session->extend(busy_graph("")).ok());
  CHECK(run_too_long(*session).find("it fetches busy:0; not finished is ") != std::string::npos);
  busy.let_go();
  CHECK(text(session->run({}, {"busy:0"})) == "int32[] 1");
}

TEST_CASE("a limit is answered when it passes by a server whose own kernel is busy") {
  BusyRuntime busy;
  auto server = Server::start(alone(), busy.runtime).value();
  auto session = Session::create(server->target(), {}, busy.runtime).value();
  CHECK(session->extend(busy_graph("")).ok());
  CHECK(run_too_long(*session).find("Timed out waiting for step") != std::string::npos);
  busy.let_go();
  CHECK(server->stop().ok());
}

TEST_CASE("a limit is answered when it passes though another task's kernel is busy") {
  BusyRuntime busy;
  Fleet fleet({"a", "b"}, busy.runtime);
  Server& a = fleet.start("a");
  fleet.start("b");
  auto session = Session::create(a.target(), {}, busy.runtime).value();
  CHECK(session->extend(busy_graph("/job:b/task:0")).ok());
  CHECK(run_too_long(*session).find("not finished is /job:b/replica:0/task:0") !=
        std::string::npos);
  busy.let_go();
}

TEST_CASE("a step that failed is answered though another part of it is busy") {
  BusyRuntime busy;
  Fleet fleet({"a", "b"}, busy.runtime);
  Server& a = fleet.start("a");
  fleet.start("b");
  auto session = Session::create(a.target(), {}, busy.runtime).value();
  wire::GraphDef graph = busy_graph("/job:b/task:0");
  wire::NodeDef empty;
  empty.name = "empty";
  empty.op = "VariableV2";
  empty.device = "/job:a/task:0";
  empty.attrs = {{"dtype", DType::i32}, {"shape", PartialShape::scalar()}};
  graph.nodes.push_back(std::move(empty));
  CHECK(session->extend(std::move(graph)).ok());
  const Status status = session->run({}, {"busy:0", "empty:0"}).status();
  CHECK(status.code() == Code::failed_precondition);
  CHECK(status.message().find("uninitialized value empty") != std::string::npos);
  busy.let_go();
}

}  // namespace
}  // namespace millrace
