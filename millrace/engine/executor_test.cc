#include "millrace/engine/executor.h"

#include <atomic>
#include <thread>

#include "millrace/engine/compiled_layout.h"
#include "millrace/engine/testing/test_lab.h"

namespace millrace::testing {
namespace {

// A predicate, and a value that is dead unless the predicate is true.
std::string conditional(bool taken) {
  return str_cat("p = Const(", taken ? "true" : "false", ") v = Const(5) s = Switch(v, p) ");
}

TEST_CASE("a value flows to all its consumers and is computed once") {
  Lab lab;
  const auto outcome = lab.run("a = Const(2) b = Log(a) c = Add(b, b) d = Add(c, b)", {"c", "d"});
  CHECK(outcome.status.ok());
  CHECK(outcome.value("c") == number(4));
  CHECK(outcome.value("d") == number(6));
  CHECK(lab.log().size() == 1);
}

TEST_CASE("control edges order nodes that share no data") {
  Lab lab;
  const auto outcome = lab.run("x = Const(1) a = Log(x) ^b b = Log(x) ^c c = Log(x) ^d d = Log(x)");
  CHECK(outcome.status.ok());
  CHECK(lab.log() == std::vector<std::string>{"d", "c", "b", "a"});
}

TEST_CASE("without other reasons nodes run in the order in which the graph has them") {
  Lab lab;
  CHECK(lab.run("x = Const(1) e = Log(x) d = Log(x) c = Log(e) b = Log(d) a = Log(x)").status.ok());
  CHECK(lab.log() == std::vector<std::string>{"e", "d", "c", "b", "a"});
}

TEST_CASE("an empty graph is a step that is over at once") {
  Lab lab;
  CHECK(lab.run("").status.ok());
}

TEST_CASE("feeds and fetches are slots, and a step may be run again with other feeds") {
  Lab lab;
  const std::string device = lab.device.name;
  const auto graph = lab.compile(
      str_cat("f = _Recv(tensor_type=int32, tensor_name=\"f:0\", send_device=\"", device,
              "\", recv_device=\"", device,
              "\", send_device_incarnation=1, client_terminated=true)", "y = Add(f, f)"),
      {"y"});
  REQUIRE_MESSAGE(graph.ok(), graph.status().to_string());
  CHECK((*graph)->feed_keys() ==
        std::vector{str_cat(device, ";0000000000000001;", device, ";f:0;0:0")});
  CHECK_FALSE((*graph)->uses_rendezvous());
  for (int i = 0; i < 3; ++i)
    CHECK(lab.start(*graph, {number(i)})->wait().value("y") == number(2 * i));
  const auto wrong = lab.start(*graph, {Tensor::scalar(1.0f)})->wait();
  CHECK(wrong.status.code() == Code::invalid_argument);
  CHECK(wrong.status.message().find("the value fed for 'f:0' is float") != std::string::npos);
}

TEST_CASE("the branch that is not taken runs no kernels, and Merge gives the other one's value") {
  Lab lab;
  const std::string branches = "no = Log(s:0) yes = Log(s:1) m = Merge(no, yes) after = Log(v) ^no";
  const auto taken = lab.run(conditional(true) + branches, {"m", "m:1", "no"});
  CHECK(taken.status.ok());
  CHECK(taken.value("m") == number(5));
  CHECK(taken.value("m:1") == number(1));
  CHECK(taken.is_dead("no"));
  // Death travels along control edges, too.
  CHECK(lab.log() == std::vector<std::string>{"yes"});

  const auto other = lab.run(conditional(false) + branches, {"m:1"});
  CHECK(other.value("m:1") == number(0));
}

TEST_CASE("a Merge of dead inputs is dead, whatever its control inputs are") {
  Lab lab;
  const auto outcome = lab.run(
      conditional(false) + "a = Log(s:1) b = Log(s:1) m = Merge(a, b) ^p ^a after = Log(m)", {"m"});
  CHECK(outcome.status.ok());
  CHECK(outcome.is_dead("m"));
  CHECK(lab.log().empty());
}

TEST_CASE("a ControlTrigger runs although what it waits for is dead") {
  Lab lab;
  CHECK(lab.run(conditional(false) + "a = Log(s:1) t = ControlTrigger() ^a b = Log(v) ^t")
            .status.ok());
  CHECK(lab.log() == std::vector<std::string>{"b"});
}

TEST_CASE("transfers run on dead inputs and carry death along") {
  Lab lab;
  const std::string where =
      "tensor_name=\"x\", send_device=\"/device:CPU:0\", recv_device=\"/device:CPU:1\", "
      "send_device_incarnation=1)";
  const auto outcome = lab.run(conditional(false) + "send = _Send(s:1, " + where +
                                   " recv = _Recv(tensor_type=int32, " + where + " y = Log(recv)",
                               {"y", "recv"});
  CHECK_MESSAGE(outcome.status.ok(), outcome.status.to_string());
  CHECK(outcome.is_dead("recv"));
  CHECK(outcome.is_dead("y"));
  CHECK(lab.log().empty());
}

TEST_CASE("a reference is read when its consumer starts") {
  Lab lab;
  const auto outcome =
      lab.run("w = Variable() one = Const(1) a = Assign(w, one) y = Add(w, w) ^a", {"y"});
  CHECK(outcome.status.ok());
  CHECK(outcome.value("y") == number(2));
}

TEST_CASE("a fetch of a reference tells what the step leaves in the variable") {
  Lab lab;
  const std::string text = "w = Variable() one = Const(1) x = Log(one) a = Assign(w, x)";
  for (int i = 0; i < 2; ++i) {
    const auto outcome = lab.run(text, {"w", "x"});
    CHECK_MESSAGE(outcome.status.ok(), outcome.status.to_string());
    CHECK(outcome.value("w") == number(1));
    CHECK(outcome.value("x") == number(1));
  }
  const auto failed =
      lab.run("v = Variable() x = Const(1) y = Fail(code=3, message=\"too bad\") ^x", {"v"});
  CHECK(failed.status.code() == Code::invalid_argument);
}

TEST_CASE("reading a variable without a value names the variable") {
  Lab lab;
  const auto outcome = lab.run("w = Variable() y = Add(w, w)", {"y"});
  CHECK(outcome.status ==
        failed_precondition("Attempting to use uninitialized value w\n\t [[{{node y}}]]"));
}

TEST_CASE("an error names its node, ends the step, and later nodes are not run") {
  Lab lab;
  const auto outcome =
      lab.run("f = Fail(code=3, message=\"too bad\") c = Const(1) ^f y = Log(c)", {"y"});
  CHECK(outcome.status == invalid("too bad\n\t [[{{node f}}]]"));
  CHECK_FALSE(outcome.status.is_consequence());
  CHECK(lab.log().empty());
}

TEST_CASE("UNAVAILABLE from a kernel becomes INTERNAL, as clients take it for a lost task") {
  Lab lab;
  const auto outcome = lab.run("f = Fail(code=14, message=\"gone\")");
  CHECK(outcome.status ==
        internal("gone\n\t [[{{node f}}]]\nExecuting non-communication op <f> originally returned "
                 "UnavailableError, and was replaced by InternalError to avoid invoking TF network "
                 "error handling logic."));
}

TEST_CASE("an output that is missing or of another type is the kernel's error") {
  Lab lab;
  CHECK(lab.run("n = Nothing() y = Add(n, n)").status ==
        internal("Missing 0-th output from n\n\t [[{{node n}}]]"));
  CHECK(lab.run("n = Float() y = Add(n, n)").status ==
        internal("Output 0 of type float does not match declared output type int32"
                 "\n\t [[{{node n}}]]"));
}

TEST_CASE("an error aborts the rendezvous with the cause and cancels the step as a consequence") {
  Lab lab;
  auto step = lab.start(lab.compile("f = Fail(code=3, message=\"bad\")").value());
  const auto outcome = step->wait();
  CHECK(step->rendezvous.aborted() == outcome.status);
  CHECK_FALSE(step->rendezvous.aborted().is_consequence());
  CHECK(step->cancellation.reason() == outcome.status);
  CHECK(step->cancellation.reason().is_consequence());
}

TEST_CASE("a waiting kernel holds no thread; the step goes on at its runner") {
  Lab lab;
  auto step = lab.start(lab.compile("w = Wait() y = Add(w, w)", {"y"}).value());
  std::thread other([&] { lab.answer("w", 21); });
  const auto outcome = step->wait();
  other.join();
  CHECK(outcome.value("y") == number(42));
}

TEST_CASE("a failure ends the waits of the step, and the failure is what is told") {
  Lab lab;
  const auto outcome = lab.run("w = Wait() v = Wait() c = Const(1) f = Fail() ^c");
  CHECK(outcome.status == invalid("no\n\t [[{{node f}}]]"));
}

TEST_CASE("the first of several failures is told") {
  Lab lab;
  auto step = lab.start(lab.compile("a = Wait() b = Wait()").value());
  lab.answer("b", invalid("first"));
  lab.answer("a", invalid("second"));
  CHECK(step->wait().status == invalid("first\n\t [[{{node b}}]]"));
}

TEST_CASE("a kernel that drops its continuation fails the step instead of hanging it") {
  Lab lab;
  CHECK(lab.run("d = Drop()").status ==
        internal("an operation was dropped before it answered\n\t [[{{node d}}]]"));
}

TEST_CASE("a cancelled step ends with the reason as a consequence and starts nothing more") {
  Lab lab;
  auto step = lab.start(lab.compile("w = Wait() y = Log(w)").value());
  step->cancellation.cancel(cancelled("the client left"));
  const auto outcome = step->wait();
  CHECK(outcome.status == cancelled("the client left\n\t [[{{node w}}]]"));
  CHECK(outcome.status.is_consequence());
  CHECK(lab.log().empty());
}

TEST_CASE("a transfer that ends is told by the node whose value it moves") {
  Lab lab;
  const auto why = [&](std::string_view tensor) {
    auto step = lab.start(
        lab.compile(str_cat("d_S1 = _Recv(tensor_type=int32, tensor_name=\"", tensor,
                            "\", send_device=\"/device:CPU:0\", recv_device=\"/device:CPU:1\", "
                            "send_device_incarnation=1)"))
            .value());
    step->rendezvous.abort(aborted("its task has ended"));
    return std::string(step->wait().status.message());
  };
  CHECK(why("edge_12_far/d_x") == "its task has ended\n\t [[{{node far/d_x}}]]");
  CHECK(why("edge_5_d:1") == "its task has ended\n\t [[{{node edge_5_d}}]]");
  CHECK(why("something else") == "its task has ended\n\t [[{{node d_S1}}]]");
}

TEST_CASE("a step that was cancelled before it started runs nothing") {
  Lab lab;
  const auto graph = lab.compile("c = Const(1) y = Log(c)").value();
  auto warm = lab.start(graph);
  CHECK(warm->wait().status.ok());
  Cancellation cancellation;
  cancellation.cancel(cancelled("too late"));
  Status status;
  CallerThread caller;
  run_step(graph,
           {.context = {.device = &lab.device, .cancellation = &cancellation}, .runner = &caller},
           Done<void>([&](Status s) { status = std::move(s); }));
  CHECK(status == cancelled("too late"));
  CHECK(lab.log().size() == 1);
}

TEST_CASE("two dear nodes that are ready together run at the same time") {
  Lab lab;
  ThreadPool pool(2);
  const auto outcome =
      lab.run("c = Const(3) w = Work() a = Meet(c, w) b = Meet(c, w) y = Add(a, b)", {"y"}, &pool);
  CHECK(outcome.status.ok());
  CHECK(outcome.value("y") == number(6));
}

TEST_CASE("dear nodes that read a text run at the same time, however short it is") {
  Lab lab;
  ThreadPool pool(2);
  const auto outcome =
      lab.run("c = Const(3) t = Const(\"a.png\") a = Meet(c, t) b = Meet(c, t) y = Add(a, b)",
              {"y"}, &pool);
  CHECK(outcome.status.ok());
  CHECK(outcome.value("y") == number(6));
}

// Counts what it is asked to run.
class CountingPool final : public Runner {
 public:
  void post(Task task) override {
    ++posted;
    threads.post(std::move(task));
  }
  std::atomic<int> posted = 0;
  ThreadPool threads{2};
};

TEST_CASE("no thread is woken for dear nodes that have next to nothing to do") {
  Lab lab;
  CountingPool pool;
  const auto outcome = lab.run(
      "c = Const(3) a = Dear(c) b = Dear(c) d = Dear(c) x = Add(a, b) y = Add(x, d)", {"y"}, &pool);
  CHECK(outcome.status.ok());
  CHECK(outcome.value("y") == number(9));
  CHECK(pool.posted == 0);
}

TEST_CASE("dear nodes that were soon over of late stay where they are, others are shared") {
  Lab lab;
  CountingPool pool;
  const auto graph = lab.compile("w = Work() a = Dear(w) b = Dear(w)").value();
  const auto shared = [&](uint32_t ticks_of_late) {
    for (const auto& node : graph->layout().nodes) node.ticks = ticks_of_late;
    const int before = pool.posted;
    CHECK(lab.start(graph, {}, &pool)->wait().status.ok());
    return pool.posted - before;
  };
  constexpr uint32_t kNotKnown = 0, kShort = 1, kLong = uint32_t{1} << 31;
  CHECK(shared(kNotKnown) == 1);
  CHECK(shared(kShort) == 0);
  CHECK(shared(kLong) == 1);
}

TEST_CASE("a cycle that is no loop is refused when compiled") {
  Lab lab;
  const auto graph = lab.compile("a = Identity(b) b = Identity(a)");
  CHECK(graph.status().code() == Code::invalid_argument);
}

TEST_CASE("an op without a kernel here is refused when compiled, with the node's name") {
  Lab lab;
  REQUIRE(lab.ops.add({.name = "Elsewhere", .doc = {}, .signature = "->"}).ok());
  const auto graph = lab.compile("far = Elsewhere()");
  CHECK(graph.status().code() == Code::unimplemented);
  CHECK(graph.status().message().find("'far'") != std::string::npos);
}

TEST_CASE("a chain of 100,000 nodes neither recurses nor forgets one") {
  Lab lab;
  Graph graph(lab.ops);
  NodeId last = graph
                    .add({.name = "one",
                          .op = "Const",
                          .attrs = {{"value", number(1)}, {"dtype", DType::i32}}})
                    .value();
  const NodeId one = last;
  for (int i = 0; i < 100'000; ++i)
    last =
        graph.add({.name = str_cat("n", i), .op = "Add", .inputs = {{last, 0}, {one, 0}}}).value();
  auto text_free = CompiledGraph::compile(graph, lab.device, lab.kernels, ClientTransfers::by_slot);
  REQUIRE(text_free.ok());
  CHECK(lab.start(*text_free)->wait().status.ok());
}

TEST_CASE("steps of one graph run at once without touching each other") {
  Lab lab;
  ThreadPool pool(2);
  const std::string device = lab.device.name;
  const auto graph =
      lab.compile(str_cat("f = _Recv(tensor_type=int32, tensor_name=\"f\", send_device=\"", device,
                          "\", recv_device=\"", device,
                          "\", send_device_incarnation=1, client_terminated=true)",
                          "a = Add(f, f) b = Add(a, f) c = Add(a, b) y = Add(c, b)"),
                  {"y"})
          .value();
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        auto step = lab.start(graph, {number(t * 1000 + i)}, &pool);
        if (step->wait().value("y") == number(8 * (t * 1000 + i))) ++right;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(right == 2000);
}

TEST_CASE("answers that come from many threads at once are all counted") {
  Lab lab;
  ThreadPool pool(2);
  for (int round = 0; round < 50; ++round) {
    std::string text;
    for (int i = 0; i < 8; ++i)
      str_append(&text, "w", i, " = Wait() l", i, " = Add(w", i, ", w", i, ") ");
    str_append(&text,
               "s1 = Add(l0, l1) s2 = Add(l2, l3) s3 = Add(l4, l5) s4 = Add(l6, l7) "
               "t1 = Add(s1, s2) t2 = Add(s3, s4) y = Add(t1, t2)");
    auto step = lab.start(lab.compile(text, {"y"}).value(), {}, &pool);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        lab.answer(str_cat("w", 2 * t), t);
        lab.answer(str_cat("w", 2 * t + 1), t);
      });
    }
    const auto outcome = step->wait();
    for (auto& thread : threads) thread.join();
    CHECK(outcome.value("y") == number(2 * 2 * (0 + 1 + 2 + 3)));
  }
}

// Nodes as they ran: name, op, and a 1 or 0 for every output that was or was not made.
struct Sink final : TraceSink {
  int64_t now_micros() override { return ++now; }
  void node_ran(std::string_view name, std::string_view op, std::span<const Value> outputs,
                int64_t start, int64_t end) override {
    CHECK(start < end);
    ran.push_back(str_cat(name, ":", op));
    for (const Value& output : outputs)
      str_append(&ran.back(), output.tensor.has_value() ? "1" : "0");
  }
  int64_t now = 0;
  std::vector<std::string> ran;
};

TEST_CASE("what another task waits for leaves before work that it does not need") {
  const std::string to_peer =
      ", send_device=\"/device:CPU:0\", recv_device=\"/device:CPU:1\", "
      "send_device_incarnation=1)";
  Lab lab;
  Sink sink;
  lab.trace = &sink;
  const std::string graph =
      str_cat("x = Const(1) a = Log(x) b = Log(a) c = Log(b) s = _Send(a, tensor_name=\"a\"",
              to_peer, " t = _Send(x, tensor_name=\"x\"", to_peer, " ^s");
  CHECK(lab.run(graph).status.ok());
  CHECK(sink.ran ==
        std::vector<std::string>{"x:Const1", "a:Log1", "s:_Send", "t:_Send", "b:Log1", "c:Log1"});
}

TEST_CASE("a trace has every node that ran and what it made, and none that was dead") {
  Lab lab;
  Sink sink;
  lab.trace = &sink;
  CHECK(lab.run(conditional(false) + "a = Log(s:1) b = Log(s:0)").status.ok());
  CHECK(sink.ran == std::vector<std::string>{"p:Const1", "v:Const1", "s:Switch10", "b:Log1"});
}

}  // namespace
}  // namespace millrace::testing
