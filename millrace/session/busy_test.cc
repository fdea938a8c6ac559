// Tasks whose every thread computes: they still hear who asks, closes or cancels. Several servers
// in one process that share no thread, over real sockets.
#include <functional>
#include <future>
#include <thread>

#include "millrace/session/testing/fleet.h"
#include "millrace/transport/all.h"
#include "millrace/transport/grpc/threads.h"

namespace millrace {
namespace {

using namespace testing;

constexpr size_t kPool = 2;

wire::GraphDef one_constant(const std::string& device) {
  wire::GraphDef graph;
  graph.nodes.push_back(
      {"start", "Const", device, {}, {{"dtype", DType::i32}, {"value", Tensor::scalar(1)}}});
  return graph;
}

// Puts a value into the queue "began" and loops for ever after; the result, which never comes, is
// "exit".
wire::GraphDef endless_loop(const std::string& device) {
  const auto node = [&](std::string name, std::string op, std::vector<std::string> inputs,
                        std::vector<std::pair<std::string, AttrValue>> more = {}) {
    wire::NodeDef made{std::move(name), std::move(op), device, std::move(inputs), std::move(more)};
    if (made.op != "Const" && made.op != "LoopCond") made.attrs.push_back({"T", DType::i32});
    return made;
  };
  wire::GraphDef graph = one_constant(device);
  const std::vector<DType> one_int = {DType::i32};
  graph.nodes.push_back({"queue",
                         "FIFOQueue",
                         device,
                         {},
                         {{"component_types", one_int}, {"shared_name", std::string("began")}}});
  graph.nodes.push_back(
      {"says", "QueueEnqueue", device, {"queue", "start"}, {{"Tcomponents", one_int}}});
  graph.nodes.push_back({"then", "Identity", device, {"start", "^says"}, {{"T", DType::i32}}});
  graph.nodes.push_back(node("enter", "Enter", {"then"}, {{"frame_name", std::string("endless")}}));
  graph.nodes.push_back(node("merge", "Merge", {"enter", "next"}, {{"N", int64_t{2}}}));
  graph.nodes.push_back(node("true", "Const", {"^merge"},
                             {{"dtype", DType::boolean}, {"value", Tensor::scalar(true)}}));
  graph.nodes.push_back(node("again", "LoopCond", {"true"}));
  graph.nodes.push_back(node("switch", "Switch", {"merge", "again"}));
  graph.nodes.push_back(node("next", "NextIteration", {"switch:1"}));
  graph.nodes.push_back(node("exit", "Exit", {"switch"}));
  return graph;
}

// Two tasks, each with threads of its own, and a client with its own.
struct Lab {
  Lab() : fleet({"ps", "worker"}) {
    fleet.start("ps", ps);
    target = fleet.start("worker", worker).target();
  }
  std::unique_ptr<Session> session(wire::GraphDef graph) {
    auto made = Session::create(target, {}, client).value();
    CHECK(made->extend(std::move(graph)).ok());
    return made;
  }

  std::shared_ptr<Runtime> ps = Runtime::create({.threads = kPool});
  std::shared_ptr<Runtime> worker = Runtime::create({.threads = kPool});
  std::shared_ptr<Runtime> client = Runtime::create({.threads = kPool});
  Fleet fleet;
  std::string target;
};

// A session each that runs an endless loop, on a thread of the client.
class EndlessSteps {
 public:
  // Returns when all of them run.
  EndlessSteps(Lab& lab, size_t count, const std::string& device)
      : cancellations_(count), ended_(count) {
    GraphBuilder builder(lab.client->ops());
    const Scope there = builder.root().device(device);
    const Output queue =
        ops::fifo_queue(there.with_name("began"), {DType::i32}, {.shared_name = "began"});
    const Output began = ops::queue_dequeue(there, queue, {DType::i32})[0];
    auto observer = Session::create(lab.target, {}, lab.client).value();
    CHECK(observer->extend(builder).ok());
    for (size_t i = 0; i < count; ++i) sessions_.push_back(lab.session(endless_loop(device)));
    for (size_t i = 0; i < count; ++i) {
      threads_.emplace_back([this, i] {
        RunArgs args;
        args.cancellation = &cancellations_[i];
        ended_[i] = sessions_[i]->run({}, {"exit"}, args).status();
      });
    }
    for (size_t i = 0; i < count; ++i) CHECK(observer->run({}, {began.name()}).ok());
  }
  void cancel_and_check() {
    for (Cancellation& cancellation : cancellations_) cancellation.cancel(cancelled("enough"));
    for (std::thread& thread : threads_) thread.join();
    for (const Status& status : ended_) CHECK(status.message() == "enough");
  }
  void close_and_check() {
    for (auto& session : sessions_) CHECK(session->close().ok());
    for (std::thread& thread : threads_) thread.join();
    for (const Status& status : ended_) CHECK(status.code() == Code::cancelled);
  }

 private:
  std::vector<std::unique_ptr<Session>> sessions_;
  std::vector<Cancellation> cancellations_;
  std::vector<Status> ended_;
  std::vector<std::thread> threads_;
};

Status ask_whether_there(Lab& lab, const std::string& job) {
  const auto directory = lab.client->transports().between_tasks().peers({});
  std::promise<Status> answered;
  directory->worker({job, 0, 0}, lab.fleet.ports[job]->address())
      .value()
      ->get_status(WhenDown::fail, {}, Done<GetStatusReply>([&](const auto& reply) {
                     answered.set_value(reply.status());
                   }));
  return answered.get_future().get();
}

size_t more_than_threads() { return static_cast<size_t>(GrpcThreads().max_threads()) + kPool + 2; }

TEST_CASE("a task with more endless steps than threads serves others, and hears that they end") {
  Lab lab;
  const std::string device = "/job:ps/task:0";
  EndlessSteps steps(lab, more_than_threads(), device);
  for (int i = 0; i < 3; ++i) {
    CHECK(ask_whether_there(lab, "ps").ok());
    auto other = lab.session(one_constant(device));
    CHECK(text(other->run({}, {"start"})) == "int32[] 1");
    CHECK(other->close().ok());
  }
  steps.cancel_and_check();
}

TEST_CASE("a master with more endless steps of its own than threads hears its clients") {
  Lab lab;
  const std::string device = "/job:worker/task:0";
  EndlessSteps steps(lab, more_than_threads(), device);
  for (int i = 0; i < 3; ++i) {
    CHECK(ask_whether_there(lab, "worker").ok());
    auto other = lab.session(one_constant(device));
    CHECK(text(other->run({}, {"start"})) == "int32[] 1");
    CHECK(other->close().ok());
  }
  steps.cancel_and_check();
}

TEST_CASE("endless steps end when their sessions are closed") {
  Lab lab;
  EndlessSteps steps(lab, more_than_threads(), "/job:ps/task:0");
  steps.close_and_check();
}

}  // namespace
}  // namespace millrace
