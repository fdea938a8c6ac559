// Collectives between the workers of one process: what they compute, how they end, and how a group
// comes together again.
#include <algorithm>
#include <thread>

#include "millrace/ops/collective/families.h"
#include "millrace/worker/instance_id.h"
#include "millrace/worker/testing/test_cluster.h"

namespace millrace::testing {
namespace {

std::string reduce(int size, const std::string& more = "", int instance = 1, int group = 1) {
  return str_cat("r", instance, " = CollectiveReduce(x, group_size=", size, ", group_key=", group,
                 ", instance_key=", instance,
                 ", merge_op=\"Add\", final_op=\"Id\", subdiv_offsets={0}", more, ")\n");
}

Tensor counting(int64_t count, int32_t times) {
  Tensor made = Tensor::allocate(DType::i32, {count}).value();
  for (int64_t i = 0; i < count; ++i)
    made.mutable_flat<int32_t>()[static_cast<size_t>(i)] = static_cast<int32_t>(i) * times;
  return made;
}

// Tasks with the same graph, each in a session and with steps of its own.
struct Replicas {
  explicit Replicas(int tasks) : cluster(tasks), graphs(static_cast<size_t>(tasks)) {
    REQUIRE(register_collective(cluster.lab.ops).ok());
  }
  void have(const std::string& text, const std::vector<std::string>& fetches = {"r1"}) {
    for (size_t i = 0; i < graphs.size(); ++i)
      graphs[i] = cluster.add_graph(static_cast<int>(i), text, {"x"}, fetches);
  }
  auto start(int task, Tensor x, std::vector<std::string> fetches = {"r1"}) {
    return cluster.start(
        task, graphs[static_cast<size_t>(task)],
        {.feeds = {{"x", std::move(x)}}, .fetches = std::move(fetches), .step = ++step});
  }
  // All at once, each with its rank + 1 times what counts from 0.
  std::vector<TestCluster::Running::Outcome> all(int64_t count, const std::string& fetch = "r1") {
    std::vector<std::unique_ptr<TestCluster::Running>> running;
    for (int i = 0; i < static_cast<int>(graphs.size()); ++i)
      running.push_back(start(i, counting(count, i + 1), {fetch}));
    // Who waits may be who runs the step.
    std::vector<TestCluster::Running::Outcome> outcomes(running.size());
    std::vector<std::thread> waiting;
    for (size_t i = 0; i < running.size(); ++i)
      waiting.emplace_back([&, i] { outcomes[i] = running[i]->wait(); });
    for (std::thread& one : waiting) one.join();
    return outcomes;
  }
  void check_sum(int64_t count, const std::string& fetch = "r1") {
    const auto size = static_cast<int32_t>(graphs.size());
    for (const auto& outcome : all(count, fetch)) {
      REQUIRE_MESSAGE(outcome.status.ok(), outcome.status.to_string());
      CHECK(outcome.value(fetch) == counting(count, size * (size + 1) / 2));
    }
  }

  TestCluster cluster;
  std::vector<std::string> graphs;
  int64_t step = 100;
  Mutex mutex;
};

bool contains(const Status& status, std::string_view text) {
  return status.message().find(text) != std::string::npos;
}

TEST_CASE("the name of an instance is read as it was written, and nothing else is one") {
  const InstanceId id{.key = -3, .frame = UINT64_MAX, .iteration = 12};
  CHECK(InstanceId::parse(id.text()) == id);
  for (const char* text : {"", "1", "1.2", "1.2.", "1.2.3.", "1.2.3.4", "1..3", "a.2.3", "1.-2.3"})
    CHECK_FALSE(InstanceId::parse(text));
}

TEST_CASE("replicas sum up what they have, step after step, small and large") {
  for (int tasks = 2; tasks <= 5; ++tasks) {
    Replicas replicas(tasks);
    replicas.have(reduce(tasks));
    for (const int64_t count : {1, 3, 1000, 100'000, 700'001, 0, 5}) replicas.check_sum(count);
  }
}

TEST_CASE("members on one machine lay their pieces into memory that they share") {
  for (int tasks = 2; tasks <= 4; ++tasks) {
    Replicas replicas(tasks);
    replicas.have(reduce(tasks));
    Metrics& metrics = replicas.cluster.process.host.metrics;
    // A round or two until everybody has the others' boxes.
    for (int i = 0; i < 100 && metrics.value(Counter::bytes_shared) == 0; ++i)
      replicas.check_sum(1000);
    for (const int64_t count : {1, 1000, 50'000, 1'000'000, 3'333'333, 7, 0, 1}) {
      const int64_t before = metrics.value(Counter::bytes_shared);
      replicas.check_sum(count);
      if (count > 0) CHECK(metrics.value(Counter::bytes_shared) > before);
    }
  }
}

TEST_CASE("a round that was given up leaves nothing in shared memory that a later one would take") {
  Replicas replicas(2);
  replicas.have(
      "r1 = CollectiveReduce(x, group_size=2, group_key=1, instance_key=1, "
      "merge_op=\"Add\", final_op=\"Id\", subdiv_offsets={0}, timeout_seconds=30)\n");
  for (int i = 0; i < 5; ++i) replicas.check_sum(100);
  for (int i = 0; i < 20; ++i) {
    // Its piece lies there when it gives up.
    auto alone = replicas.start(i % 2, counting(100, 50));
    alone->cancellation.cancel(cancelled("enough"));
    CHECK_FALSE(alone->wait().status.ok());
    auto other = replicas.start(1 - i % 2, counting(100, 50));
    CHECK_FALSE(other->wait().status.ok());
    replicas.check_sum(100);
  }
}

TEST_CASE("each time around a loop has sums of its own, through shared memory as well") {
  const std::string frame = "frame_name=\"loop\", parallel_iterations=4";
  for (int tasks = 2; tasks <= 3; ++tasks) {
    Replicas replicas(tasks);
    replicas.have(str_cat("zero = Const(0) last = Const(5) unit = Const(1) ",
                          "begin = Enter(zero, ", frame, ") limit = Enter(last, is_constant=true, ",
                          frame, ") one = Enter(unit, is_constant=true, ", frame, ") ",
                          "at = Merge(begin, next) less = Less(at, limit) go_on = LoopCond(less) ",
                          "count = Switch(at, go_on) more = Add(count:1, one) ",
                          "next = NextIteration(more, T=int32) ",  //
                          "mine = Enter(x, ", frame, ") sum = Merge(mine, summed) ",
                          "sums = Switch(sum, go_on) out = Exit(sums:0) ",
                          "r1 = CollectiveReduce(sums:1, group_size=", tasks,
                          ", group_key=1, instance_key=1, merge_op=\"Add\", final_op=\"Id\", ",
                          "subdiv_offsets={0}) summed = NextIteration(r1, T=int32)\n"),
                  {"out"});
    Metrics& metrics = replicas.cluster.process.host.metrics;
    for (int run = 0; run < 100 && (run < 5 || metrics.value(Counter::bytes_shared) == 0); ++run) {
      // Sums of sums: each time but the first all bring the same.
      int32_t times = tasks * (tasks + 1) / 2;
      for (int again = 1; again < 5; ++again) times *= tasks;
      for (const auto& outcome : replicas.all(20, "out")) {
        REQUIRE_MESSAGE(outcome.status.ok(), outcome.status.to_string());
        CHECK(outcome.value("out") == counting(20, times));
      }
    }
    CHECK(metrics.value(Counter::bytes_shared) > 0);
  }
}

TEST_CASE("both ways lead to the sum, whatever the size") {
  for (const char* hint : {"ring", "tree"}) {
    Replicas replicas(3);
    replicas.have(reduce(3, str_cat(", communication_hint=\"", hint, "\"")));
    for (const int64_t count : {1, 2, 100, 100'000}) replicas.check_sum(count);
  }
}

TEST_CASE("several collectives of one step do not mix, in whatever order they come") {
  Replicas replicas(2);
  replicas.have(reduce(2) + reduce(2, "", 2) + "y = Add(a, a) a = Const(1)\n", {"r1", "r2"});
  auto first = replicas.start(0, counting(5, 1), {"r1", "r2"});
  auto second = replicas.start(1, counting(5, 2), {"r1", "r2"});
  for (auto* one : {first.get(), second.get()}) {
    const auto outcome = one->wait();
    REQUIRE(outcome.status.ok());
    CHECK(outcome.value("r1") == counting(5, 3));
    CHECK(outcome.value("r2") == counting(5, 3));
  }
}

TEST_CASE("devices of one task can be a group as well") {
  TestCluster cluster(1, 2);
  REQUIRE(register_collective(cluster.lab.ops).ok());
  const std::string graph = cluster.add_graph(
      0,
      "a = CollectiveReduce(x, group_size=2, group_key=1, instance_key=1, merge_op=\"Add\", "
      "final_op=\"Id\", subdiv_offsets={0}) @\"$0\"\n"
      "b = CollectiveReduce(x, group_size=2, group_key=1, instance_key=1, merge_op=\"Add\", "
      "final_op=\"Id\", subdiv_offsets={0}) @\"$0.1\"\n",
      {"x"}, {"a"});
  const auto outcome = cluster.run(0, graph, {.feeds = {{"x", counting(4, 1)}}, .fetches = {"a"}});
  REQUIRE_MESSAGE(outcome.status.ok(), outcome.status.to_string());
  CHECK(outcome.value("a") == counting(4, 2));
}

TEST_CASE("one member sends, and all the others learn from the leader who") {
  Replicas replicas(3);
  const std::string keys = "group_size=3, group_key=1, instance_key=4, shape=[5]";
  for (int task = 0; task < 3; ++task) {
    replicas.graphs[static_cast<size_t>(task)] = replicas.cluster.add_graph(
        task,
        task == 1 ? str_cat("r1 = CollectiveBcastSend(x, ", keys, ")")
                  : str_cat("y = Identity(x) r1 = CollectiveBcastRecv(T=int32, ", keys, ")"),
        {"x"}, {"r1"});
  }
  for (int round = 0; round < 2; ++round) {
    const auto outcomes = replicas.all(5);
    for (const auto& outcome : outcomes) {
      REQUIRE_MESSAGE(outcome.status.ok(), outcome.status.to_string());
      CHECK(outcome.value("r1") == counting(5, 2));
    }
  }
}

TEST_CASE("a gather has everybody's rows in order of ranks") {
  Replicas replicas(3);
  replicas.have("r1 = CollectiveGather(x, group_size=3, group_key=1, instance_key=1, shape=[6])");
  for (const auto& outcome : replicas.all(2)) {
    REQUIRE_MESSAGE(outcome.status.ok(), outcome.status.to_string());
    CHECK(outcome.value("r1") == Tensor::vector<int32_t>({0, 1, 0, 2, 0, 3}));
  }
}

TEST_CASE(
    "a member that does not come ends the wait in time, and the message says who is missing") {
  Replicas replicas(2);
  replicas.have(reduce(2, ", timeout_seconds=0.05"));
  const auto alone = replicas.start(1, counting(3, 1))->wait();
  CHECK(alone.status.code() == Code::deadline_exceeded);
  CHECK(contains(alone.status, "Collective has timed out waiting for other workers."));
  CHECK(contains(alone.status, "1 of 2 members have come: /job:worker/replica:0/task:1"));
  // Without a limit, which a slow machine might not keep.
  replicas.have(reduce(2, "", 2), {"r2"});
  replicas.check_sum(3, "r2");
}

TEST_CASE("a member that is late in a later step ends the wait in time") {
  Replicas replicas(2);
  replicas.have(reduce(2, "", 2), {"r2"});
  replicas.check_sum(3, "r2");
  replicas.have(reduce(2, ", timeout_seconds=0.2"));
  const auto alone = replicas.start(0, counting(3, 1))->wait();
  CHECK(alone.status.code() == Code::deadline_exceeded);
  CHECK(contains(alone.status, "Collective has timed out during execution."));
}

TEST_CASE(
    "who gives what another one never takes hears of it, although it waits for nothing itself") {
  Replicas replicas(2);
  const std::string keys = "group_size=2, group_key=1, instance_key=4, shape=[5]";
  replicas.graphs[0] = replicas.cluster.add_graph(
      0, str_cat(reduce(2), "s = CollectiveBcastSend(x, ", keys, ")"), {"x"}, {"r1", "s"});
  // Of the same round, without taking part in the broadcast.
  replicas.graphs[1] = replicas.cluster.add_graph(1, reduce(2), {"x"}, {"r1"});
  auto sender = replicas.start(0, counting(5, 1), {"r1", "s"});
  const auto other = replicas.start(1, counting(5, 2))->wait();
  REQUIRE_MESSAGE(other.status.ok(), other.status.to_string());
  const Status told = sender->wait().status;
  CHECK(told.code() == Code::aborted);
  CHECK_MESSAGE(contains(told, "its step there ended without instance 4"), told.to_string());
}

TEST_CASE("who is cancelled lets the others go, and the next step is not confused by it") {
  Replicas replicas(2);
  replicas.have(reduce(2));
  replicas.check_sum(3);
  auto first = replicas.start(0, counting(3, 1));
  first->cancellation.cancel(cancelled("the user has gone"));
  CHECK(first->wait().status.code() == Code::cancelled);
  // Task 1 is still in the round that task 0 gave up.
  const auto second = replicas.start(1, counting(3, 1))->wait();
  CHECK(second.status.code() == Code::aborted);
  CHECK(contains(second.status, "task:0/device:CPU:0 gave up its part in group 1"));
  CHECK(contains(second.status, "the user has gone"));
  replicas.check_sum(3);
  replicas.check_sum(100'000);
}

TEST_CASE("a step that fails between its collectives lets the others go") {
  Replicas replicas(2);
  replicas.have(reduce(2) + reduce(2, "", 2), {"r1", "r2"});
  const std::string half = replicas.cluster.add_graph(
      0, reduce(2) + "f = Fail(code=9, message=\"broken\") ^r1\n", {"x"}, {"r1"});
  auto second = replicas.start(1, counting(3, 1), {"r1", "r2"});
  const auto first = replicas.cluster.run(
      0, half, {.feeds = {{"x", counting(3, 1)}}, .fetches = {"r1"}, .step = 7});
  CHECK(first.status.code() == Code::failed_precondition);
  const auto outcome = second->wait();
  CHECK(outcome.status.code() == Code::aborted);
  CHECK(contains(outcome.status, "ended without instance 2"));
  // Task 0 has heard of nothing yet; then both come to the group anew.
  const Status told = replicas.start(0, counting(3, 1), {"r1", "r2"})->wait().status;
  CHECK(told.code() == Code::aborted);
  CHECK(contains(told, "task:1/device:CPU:0 gave it up"));
  auto a = replicas.start(0, counting(3, 1), {"r1", "r2"});
  auto b = replicas.start(1, counting(3, 1), {"r1", "r2"});
  CHECK(a->wait().status.ok());
  CHECK(b->wait().status.ok());
}

TEST_CASE("a lost member is named to all others, and the group forms anew when it is back") {
  Replicas replicas(4);
  replicas.have(reduce(4));
  // The later ones in shared memory.
  for (int i = 0; i < 4; ++i) replicas.check_sum(10);
  std::vector<std::unique_ptr<TestCluster::Running>> waiting;
  for (int task : {0, 1, 3}) waiting.push_back(replicas.start(task, counting(10, 1)));
  replicas.cluster.restart(2);
  for (const auto& one : waiting) {
    const Status status = one->wait().status;
    CHECK_MESSAGE(status.code() == Code::aborted, status.to_string());
    CHECK_MESSAGE(contains(status, "has lost /job:worker/replica:0/task:2"), status.to_string());
  }
  replicas.have(reduce(4));
  replicas.check_sum(10);
}

TEST_CASE("a member that comes back finds those who did not notice") {
  Replicas replicas(3);
  replicas.have(reduce(3));
  replicas.check_sum(10);
  replicas.cluster.restart(1);
  replicas.have(reduce(3));
  // First steps may fail, because they meet the group as it was; each task tries again by itself.
  std::vector<std::thread> tasks;
  std::vector<int> attempts(3);
  for (int task = 0; task < 3; ++task) {
    tasks.emplace_back([&, task] {
      int& count = attempts[static_cast<size_t>(task)];
      while (++count < 20) {
        std::unique_ptr<TestCluster::Running> step;
        {
          MutexLock lock(replicas.mutex);
          step = replicas.start(task, counting(10, 1));
        }
        if (step->wait().status.ok()) return;
      }
    });
  }
  for (std::thread& task : tasks) task.join();
  CHECK(*std::ranges::max_element(attempts) < 20);
  replicas.check_sum(10);
}

TEST_CASE("nobody waits for a group whose member has ended well, until it is there again") {
  Replicas replicas(3);
  replicas.have(reduce(3));
  replicas.check_sum(10);
  const EndedTask ended{{"worker", 0, 1}, replicas.cluster.worker(1).incarnation()};
  auto first = replicas.start(0, counting(10, 1)), third = replicas.start(2, counting(10, 1));
  replicas.cluster.restart(1);
  for (auto* one : {first.get(), third.get()})
    CHECK(contains(one->wait().status, "has lost /job:worker/replica:0/task:1"));
  // It may have been killed: whoever comes waits for it, and hears when that is in vain.
  auto waiting = replicas.start(0, counting(10, 1));
  CHECK_FALSE(waiting->is_done());
  REQUIRE(replicas.cluster.departures->note(ended).ok());
  for (const Status& status :
       {waiting->wait().status, replicas.start(0, counting(10, 1))->wait().status}) {
    CHECK_MESSAGE(status.code() == Code::failed_precondition, status.to_string());
    CHECK_MESSAGE(contains(status,
                           "group 1 of 3 can't come together: /job:worker/replica:0/task:1,"
                           " who was in it, has ended well"),
                  status.to_string());
  }
  CHECK_FALSE(replicas.cluster.departures->answers(ended.task, ended.incarnation + 1));
  replicas.have(reduce(3));
  replicas.check_sum(10);
}

TEST_CASE("nobody waits for a leader that has ended well") {
  Replicas replicas(2);
  replicas.have(reduce(2));
  replicas.check_sum(10);
  REQUIRE(replicas.cluster.departures->note({{"worker", 0, 0}, 1}).ok());
  replicas.cluster.restart(0);
  replicas.start(1, counting(10, 1))->wait();
  const Status status = replicas.start(1, counting(10, 1))->wait().status;
  CHECK_MESSAGE(contains(status, "task:0, who leads it, has ended well"), status.to_string());
}

TEST_CASE("a group goes on when the task that leads it has ended in good order") {
  Replicas replicas(3);
  // Of the two others alone, so that they need nothing of it.
  replicas.have(reduce(2));
  const auto sum_of_two = [&] {
    auto first = replicas.start(1, counting(10, 1)), second = replicas.start(2, counting(10, 2));
    TestCluster::Running::Outcome of_second;
    std::thread waiting([&] { of_second = second->wait(); });
    const auto of_first = first->wait();
    waiting.join();
    for (const auto& outcome : {of_first, of_second}) {
      REQUIRE_MESSAGE(outcome.status.ok(), outcome.status.to_string());
      CHECK(outcome.value("r1") == counting(10, 3));
    }
  };
  sum_of_two();
  replicas.cluster.restart(0);
  for (int i = 0; i < 3; ++i) sum_of_two();
  // What comes to them next does end it.
  auto waiting = replicas.start(1, counting(10, 1));
  replicas.cluster.restart(2);
  const Status status = waiting->wait().status;
  CHECK_MESSAGE(contains(status, "has lost /job:worker/replica:0/task:2"), status.to_string());
}

TEST_CASE("members that do not agree are told so") {
  Replicas replicas(2);
  replicas.have(reduce(2));
  auto first = replicas.start(0, counting(3, 1));
  const auto second = replicas.start(1, counting(400'000, 1))->wait();
  for (const Status& status : {first->wait().status, second.status}) {
    CHECK(status.code() == Code::invalid_argument);
    CHECK_MESSAGE(contains(status, "disagree in instance 1"), status.to_string());
  }
  std::string most = reduce(2, "", 5);
  replicas.have(most, {"r5"});
  most.replace(most.find("Add"), 3, "Max");
  replicas.graphs[1] = replicas.cluster.add_graph(1, "other_" + most, {"x"}, {"other_r5"});
  auto sum = replicas.start(0, counting(3, 1), {"r5"});
  const auto maximum = replicas.start(1, counting(3, 1), {"other_r5"})->wait();
  for (const Status& status : {sum->wait().status, maximum.status}) {
    CHECK(status.code() == Code::invalid_argument);
    CHECK_MESSAGE(contains(status, "disagree in instance 5"), status.to_string());
  }
  replicas.have(reduce(3, "", 3), {"r3"});
  const auto third = replicas.start(0, counting(3, 1), {"r3"})->wait();
  CHECK_MESSAGE(contains(third.status, "but that group has size 2"), third.status.to_string());
}

TEST_CASE("one key for two collectives of a step is refused") {
  Replicas replicas(2);
  std::string twice = reduce(2);
  twice += "r2" + reduce(2).substr(2);
  replicas.have(twice, {"r1", "r2"});
  auto a = replicas.start(0, counting(3, 1), {"r1", "r2"});
  auto b = replicas.start(1, counting(3, 1), {"r1", "r2"});
  const Status first = a->wait().status, second = b->wait().status;
  CHECK_MESSAGE(contains(first, "is used twice in one step"), first.to_string());
  CHECK_FALSE(second.ok());
}

TEST_CASE("what is no question to a leader is refused") {
  TestCluster cluster(1);
  const auto ask = [&](const std::string& name) {
    const std::string key = RendezvousKey::make("", 0, TestCluster::device(0), name).text;
    return cluster.receive(0, key, CollectiveDesk::kStep)->wait().status();
  };
  for (const char* name : {"come", "come/1/0/5/-/0", "come/x/2/5/-/0", "come/1/2/0/-/0", "nothing",
                           "source/1/e/x/2", "piece/x/y/z"})
    CHECK(ask(name).code() == Code::invalid_argument);
  CHECK(ask("source/1/e/0/2").code() == Code::aborted);
}

TEST_CASE("stopping a worker ends who waits for a group") {
  Replicas replicas(2);
  replicas.have(reduce(2));
  auto waiting = replicas.start(1, counting(3, 1));
  replicas.cluster.restart(0);
  const auto outcome = waiting->wait();
  CHECK_FALSE(outcome.status.ok());
}

}  // namespace
}  // namespace millrace::testing
