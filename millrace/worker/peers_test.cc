// Several workers: tensors between tasks, and how steps end when somebody fails, goes, or comes
// late.
#include <thread>

#include "millrace/worker/testing/test_cluster.h"

namespace millrace::testing {
namespace {

// On task 0 a sum that is sent to task 1, there another one.
struct Pair {
  TestCluster cluster{2};
  std::string sender = cluster.add_graph(
      0, str_cat("a = Add(x, x) s = _Send(a, ", cluster.channel("a", 0, 1), ")"), {"x"});
  std::string receiver = cluster.add_graph(
      1, str_cat("a = _Recv(tensor_type=int32, ", cluster.channel("a", 0, 1), ") b = Add(a, a)"),
      {}, {"b"});
};

TEST_CASE("a tensor goes from one task to another, whichever starts first") {
  Pair pair;
  auto receiver = pair.cluster.start(1, pair.receiver, {.fetches = {"b"}, .step = 1});
  CHECK_FALSE(receiver->is_done());
  CHECK(pair.cluster.run(0, pair.sender, {.feeds = {{"x", number(3)}}, .step = 1}).status.ok());
  CHECK(receiver->wait().value("b") == number(12));

  CHECK(pair.cluster.run(0, pair.sender, {.feeds = {{"x", number(5)}}, .step = 2}).status.ok());
  CHECK(pair.cluster.run(1, pair.receiver, {.fetches = {"b"}, .step = 2}).value("b") == number(20));
}

TEST_CASE("steps do not see each other's tensors") {
  Pair pair;
  auto other = pair.cluster.start(1, pair.receiver, {.fetches = {"b"}, .step = 2});
  CHECK(pair.cluster.run(0, pair.sender, {.feeds = {{"x", number(3)}}, .step = 1}).status.ok());
  CHECK_FALSE(other->is_done());
  CHECK(pair.cluster.run(0, pair.sender, {.feeds = {{"x", number(4)}}, .step = 2}).status.ok());
  CHECK(other->wait().value("b") == number(16));
}

TEST_CASE("a sender that fails ends its receivers with its error, as a consequence") {
  TestCluster cluster(2);
  const std::string sender = cluster.add_graph(
      0, str_cat("f = Fail(code=9, message=\"broken\") a = Const(1) ^f s = _Send(a, ",
                 cluster.channel("a", 0, 1), ")"));
  const std::string receiver = cluster.add_graph(
      1, str_cat("a = _Recv(tensor_type=int32, ", cluster.channel("a", 0, 1), ")"));
  auto waiting = cluster.start(1, receiver, {});
  const auto cause = cluster.run(0, sender, {});
  CHECK(cause.status == failed_precondition("broken\n\t [[{{node f}}]]"));
  CHECK_FALSE(cause.status.is_consequence());
  const auto consequence = waiting->wait();
  CHECK(consequence.status.code() == Code::failed_precondition);
  CHECK(consequence.status.message().starts_with("broken\n\t [[{{node f}}]]"));
  CHECK(consequence.status.is_consequence());
}

TEST_CASE("a receiver that fails does not hurt a sender that is done") {
  Pair pair;
  CHECK(pair.cluster.run(0, pair.sender, {.feeds = {{"x", number(3)}}}).status.ok());
  pair.cluster.cleanup(0);
  pair.cluster.cleanup(0);
  auto late = pair.cluster.start(1, pair.receiver, {.fetches = {"b"}});
  // The step was cleaned up: nobody serves it any more, only its own end ends it.
  CHECK_FALSE(late->is_done());
  late->cancellation.cancel(cancelled("enough"));
  CHECK(late->wait().status.code() == Code::cancelled);
}

TEST_CASE("cleaning up ends those who wait for the step") {
  Pair pair;
  auto receiving = pair.cluster.receive(0, pair.cluster.key("a", 0, 1), 5);
  pair.cluster.cleanup(0, 5);
  const auto reply = receiving->wait();
  CHECK(reply.status() == aborted("Cleanup 5"));
  CHECK(reply.status().is_consequence());
}

TEST_CASE("a peer that ceases to wait ends the step here a little later") {
  TestCluster cluster(2);
  const std::string sender =
      cluster.add_graph(0, str_cat("w = Wait() s = _Send(w, ", cluster.channel("w", 0, 1),
                                   ") r = _Recv("
                                   "tensor_type=int32, ",
                                   cluster.channel("back", 1, 0), ")"));
  auto running = cluster.start(0, sender, {.step = 8});
  auto receiving = cluster.receive(0, cluster.key("w", 0, 1), 8);
  receiving->cancellation.cancel(cancelled("the connection broke"));
  CHECK(receiving->wait().status().code() == Code::cancelled);
  const auto outcome = running->wait();
  CHECK(outcome.status.code() == Code::aborted);
  CHECK(outcome.status.message().starts_with("Step 8 cancelled.  Cancelling rendezvous."));
  CHECK(outcome.status.is_consequence());
}

TEST_CASE("a peer that comes before the step and goes again leaves no trace") {
  Pair pair;
  auto receiving = pair.cluster.receive(0, pair.cluster.key("a", 0, 1), 1);
  CHECK_FALSE(receiving->is_done());
  receiving->cancellation.cancel(cancelled("never mind"));
  CHECK(receiving->wait().status() == cancelled("never mind"));
  CHECK(pair.cluster.run(0, pair.sender, {.feeds = {{"x", number(3)}}, .step = 1}).status.ok());
  CHECK(pair.cluster.run(1, pair.receiver, {.fetches = {"b"}, .step = 1}).value("b") == number(12));
}

TEST_CASE("requests that can't be right are refused in TensorFlow's words") {
  TestCluster cluster(2);
  const auto ask = [&](const std::string& key, int64_t request_id = 0) {
    return cluster.receive(0, key, 1, request_id)->wait().status();
  };
  CHECK(ask("nonsense").message().starts_with("Invalid  rendezvous key: nonsense"));
  CHECK(ask("/job:worker/replica:0/task:0/device:GPU:3;0000000000000001;"
            "/job:worker/replica:0/task:1/device:CPU:0;x;0:0")
            .message()
            .find("unknown device.") != std::string::npos);
  const uint64_t now = cluster.worker(0).devices()[0].incarnation;
  const Status old =
      ask(RendezvousKey::make(TestCluster::device(0), 17, TestCluster::device(1), "x").text);
  CHECK(old ==
        aborted("RecvTensor expects a different device incarnation: 17 vs. ", now,
                ". Your worker job (\"/job:worker/replica:0/task:0\") was probably restarted. "
                "Check your worker job for the reason why it was restarted."));
  CHECK(old.payloads().contains(kWorkerPossiblyRestartedUrl));

  auto first = cluster.receive(0, cluster.key("x", 0, 1), 1, 77);
  const Status again = ask(cluster.key("x", 0, 1), 77);
  CHECK(again.code() == Code::aborted);
  CHECK(again.message().starts_with("The same RecvTensor request was received twice."));
  first->cancellation.cancel(cancelled("enough"));
  (void)first->wait();
}

TEST_CASE("a sender that was restarted is told from the one that was meant") {
  Pair pair;
  pair.cluster.restart(0);
  const auto outcome = pair.cluster.run(1, pair.receiver, {.fetches = {"b"}});
  CHECK(outcome.status.code() == Code::aborted);
  CHECK(
      outcome.status.message().starts_with("RecvTensor expects a different device incarnation: "));
  // Nobody else reports it.
  CHECK_FALSE(outcome.status.is_consequence());
}

TEST_CASE("a task that is not in the cluster can't be asked") {
  TestCluster cluster(1);
  const std::string graph = cluster.add_graph(
      0, str_cat("a = _Recv(tensor_type=int32, tensor_name=\"a\", "
                 "send_device=\"/job:ps/replica:0/task:0/device:CPU:0\", recv_device=\"",
                 TestCluster::device(0), "\", send_device_incarnation=1)"));
  const auto outcome = cluster.run(0, graph, {});
  CHECK(outcome.status.code() == Code::internal);
  CHECK(outcome.status.message().starts_with("No worker known as /job:ps/replica:0/task:0"));
}

TEST_CASE("a step that is cancelled withdraws what it asked of its peers") {
  Pair pair;
  auto receiver = pair.cluster.start(1, pair.receiver, {.fetches = {"b"}, .step = 4});
  receiver->cancellation.cancel(cancelled("enough"));
  CHECK(receiver->wait().status.code() == Code::cancelled);
  // The peer has forgotten the request: the value is there for the next one who asks.
  CHECK(pair.cluster.run(0, pair.sender, {.feeds = {{"x", number(3)}}, .step = 4}).status.ok());
  CHECK(pair.cluster.receive(0, pair.cluster.key("a", 0, 1), 4)->wait()->delivery.tensor ==
        number(6));
}

TEST_CASE("steps of many threads between two tasks all end well, or all fail when one side does") {
  Pair pair;
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const int64_t step = 1000 * t + i;
        auto receiver = pair.cluster.start(1, pair.receiver, {.fetches = {"b"}, .step = step});
        if (i % 10 == 9) {
          receiver->cancellation.cancel(cancelled("enough"));
          if (!receiver->wait().status.ok()) ++right;
        } else {
          auto sender =
              pair.cluster.start(0, pair.sender, {.feeds = {{"x", number(i)}}, .step = step});
          if (receiver->wait().value("b") == number(4 * i) && sender->wait().status.ok()) ++right;
        }
        pair.cluster.cleanup(0, step);
        pair.cluster.cleanup(1, step);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(right == 300);
}

}  // namespace
}  // namespace millrace::testing
