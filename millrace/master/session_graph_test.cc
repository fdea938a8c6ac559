#include "millrace/master/session_graph.h"

#include <atomic>
#include <thread>

#include "doctest/doctest.h"

#include "millrace/base/testing/test_host.h"
#include "millrace/graph/import.h"
#include "millrace/graph/text.h"
#include "millrace/ops/all.h"

namespace millrace {
namespace {

// A session's graph over two workers, grown by pieces of text.
class Grown {
 public:
  explicit Grown(std::string_view text) {
    REQUIRE(register_all_ops(ops_).ok());
    REQUIRE(membership_.cluster.add_job("worker", {"host-a:1", "host-b:1"}).ok());
    membership_.self = {"worker", 0, 0};
    std::vector<Present> members;
    for (int task = 0; task < 2; ++task) {
      const std::string device = str_cat("/job:worker/replica:0/task:", task, "/device:CPU:0");
      Present present{.member = {{"worker", 0, task}, "host:1"}, .worker = nullptr, .devices = {}};
      present.devices.push_back({.name = device, .type = "CPU", .incarnation = 7});
      members.push_back(present);
    }
    auto made =
        SessionGraph::create(parsed(text), membership_, members, {}, testing::test_host().log);
    REQUIRE_MESSAGE(made.ok(), made.status().to_string());
    graph = std::move(made).value();
    client_ = parsed(text);
  }

  // Extends the graph by what `text` adds to what the client has; the client keeps it if it fits.
  Status extend(std::string_view text, int64_t version) {
    Graph next = parsed(to_text(client_) + std::string(text));
    Status status =
        graph->extend(export_graph(next, {.first = static_cast<NodeId>(client_.size())}), version)
            .status();
    if (status.ok()) client_ = std::move(next);
    return status;
  }

  // The nodes of the step that fetches these, with their devices.
  std::string step(std::vector<std::string> fetches) {
    const auto plan = graph->plan({.feeds = {}, .fetches = std::move(fetches), .targets = {}});
    if (!plan.ok()) return plan.status().to_string();
    std::string text;
    for (const PartitionPlan& part : plan->partitions) {
      str_append(&text, part.task.task, ":");
      for (const Node& node : part.graph.nodes()) str_append(&text, " ", node.name);
      text += '\n';
    }
    return text;
  }

  std::unique_ptr<SessionGraph> graph;

 private:
  Graph parsed(std::string_view text) {
    auto made = parse_graph(text, ops_);
    REQUIRE_MESSAGE(made.ok(), made.status().to_string());
    return std::move(made).value();
  }

  OpRegistry ops_;
  Membership membership_;
  Graph client_{ops_};
};

constexpr std::string_view kVariable =
    "v = VariableV2(dtype=float, shape=[2]) @ /job:worker/task:1\n"
    "r = Identity(v) @ /job:worker/task:1\n";

TEST_CASE("an extension that fails leaves the session's graph as it was, wherever it fails") {
  Grown grown(kVariable);
  const std::string before = grown.step({"r:0"});
  const auto fails = [&](std::string_view text) {
    CAPTURE(text);
    CHECK(!grown.extend(text, 0).ok());
    CHECK(grown.step({"r:0"}) == before);
    CHECK(grown.step({"x:0"}) == "NOT_FOUND: FetchOutputs node x:0: not found");
  };
  fails("x = Const(1.0)  r2 = Identity(v) ^r2");                           // a cycle
  fails("x = Const(1.0)  e = Enter(x, frame_name=\"f\")  y = Add(e, x)");  // frames
  fails("x = Const([1.0, 2.0, 3.0])  y = Add(r, x)");                      // shapes
  fails("x = Const(1.0)  y = NoOp() @ /job:nowhere");                      // placement
  fails(
      "function f \"a: float -> b: float\" { return b = a }"  // a function of another signature
      "x = PartitionedCall(r, r, Tin={float, float}, Tout={float}, f=f)");
  // All their names are free again, and nothing of them counts.
  REQUIRE(
      grown.extend("x = Const([1.0, 2.0])  y = Add(r, x)  e = Enter(y, frame_name=\"f\")", 0).ok());
  CHECK(grown.extend("z = NoOp()", 0).message() == "Current version is 1 but caller expected 0.");
  CHECK(grown.extend("z = NoOp()", 1).ok());
}

TEST_CASE("nodes that come later go to a variable where it is, and move nothing") {
  Grown grown(kVariable);
  const std::string before = grown.step({"r:0"});
  REQUIRE(grown
              .extend("a = Assign(v, r) @ /job:worker/task:1  c = Const(1.0, _class={\"loc:@v\"})\n"
                      "d = Const(1.0, _class={\"loc:@r\"}) @ /job:worker/task:1\n",
                      0)
              .ok());
  CHECK(grown.step({"r:0"}) == before);
  CHECK(grown.step({"c:0"}) == "1: c _send_c_0\n");
  CHECK(grown.step({"d:0"}) == "1: d _send_d_0\n");
}

TEST_CASE("what stands for a loop of an earlier extension can be read by later ones") {
  Grown grown(
      "function less \"i: int32 -> b: bool\" {"
      "  ten = Const(10) l = Less(i, ten:output:0, T=int32) return b = l:z:0 }\n"
      "function inc \"i: int32 -> o: int32\" {"
      "  one = Const(1) s = Add(i, one:output:0, T=int32) return o = s:z:0 }\n"
      "zero = Const(0)\n"
      "loop = While(zero, T={int32}, cond=less, body=inc)\n");
  REQUIRE(grown.extend("after = Identity(loop)\n", 0).ok());
  REQUIRE(grown
              .extend("start = Identity(after)\n"
                      "enter = Enter(start, frame_name=\"f\")\n"
                      "exit = Exit(enter)\n"
                      "last = Add(exit, loop) ^after\n",
                      1)
              .ok());
  CHECK(!grown.extend("bad = Add(enter, after)\n", 2).ok());
  const std::string text = grown.step({"last:0"});
  CHECK(text.starts_with("0: "));
  CHECK(text.find("Enter") == std::string::npos);  // nodes of the loop are called after it
  CHECK(text.find(" loop/") != std::string::npos);
}

TEST_CASE("steps are planned while the graph grows") {
  Grown grown(kVariable);
  const std::string before = grown.step({"r:0"});
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::thread planner([&] {
    while (!stop) {
      const auto plan = grown.graph->plan({.feeds = {}, .fetches = {"r:0"}, .targets = {}});
      if (!plan.ok() || plan->partitions.size() != 1 || plan->partitions[0].graph.size() != 3)
        ++wrong;
    }
  });
  for (int i = 0; i < 300; ++i) {
    const Status status = grown.extend(str_cat("n", i, " = Identity(r)\n"), i);
    REQUIRE_MESSAGE(status.ok(), status.to_string());
    CHECK(!grown.extend("m = NoOp() @ /job:nowhere\n", i + 1).ok());
  }
  stop = true;
  planner.join();
  CHECK(wrong == 0);
  CHECK(grown.step({"r:0"}) == before);
}

}  // namespace
}  // namespace millrace
