#include "millrace/transport/grpc/threads.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <latch>
#include <string>
#include <vector>

#include "millrace/transport/grpc/testing/test_task.h"

namespace millrace {
namespace {

using testing::Answered;
using testing::TestTask;

// Steps that hold their threads until they are cancelled, as kernels that compute for ever do.
class EndlessSteps {
 public:
  explicit EndlessSteps(int count) : cancellations_(count), answers_(count) {}

  testing::Answer<RunStepRequest, RunStepReply> handler() {
    return [this](RunStepRequest, const Call& call, Done<RunStepReply> done) {
      running_.fetch_add(1);
      running_.notify_all();
      std::promise<Status> cancelled;
      auto registration =
          call.cancellation->on_cancel([&](const Status& why) { cancelled.set_value(why); });
      done(cancelled.get_future().get());
    };
  }
  void start_at(MasterService& master) {
    for (size_t i = 0; i < answers_.size(); ++i)
      master.run_step({}, {.cancellation = &cancellations_[i]}, answers_[i].done());
  }
  void wait_until_so_many_run(int count) {
    for (int now = running_; now < count; now = running_) running_.wait(now);
  }
  void cancel_all() {
    for (Cancellation& cancellation : cancellations_) cancellation.cancel(cancelled("enough"));
    for (Answered<RunStepReply>& answer : answers_)
      CHECK(answer.wait().status() == cancelled("enough"));
  }
  int have_run() const { return running_; }

 private:
  std::vector<Cancellation> cancellations_;
  std::vector<Answered<RunStepReply>> answers_;
  std::atomic<int> running_{0};
};

// A client that shares no thread with the task.
struct Client {
  GrpcThreads threads;
  GrpcDirectory directory{threads, testing::test_host()};
};

TEST_CASE(
    "more endless steps than threads leave one who answers questions and hears cancellations") {
  TestTask task;
  const int most = task.threads.max_threads();
  EndlessSteps steps(most + 3);
  task.master.on_run_step = steps.handler();
  Client client;
  const auto master =
      GrpcMasterChannel::create("grpc://" + task.address(), client.threads, testing::test_host())
          .value();
  const auto worker = client.directory.worker({"worker", 0, 1}, task.address()).value();
  steps.start_at(*master);
  // All but one of the threads.
  steps.wait_until_so_many_run(most - 1);

  Answered<GetStatusReply> status;
  worker->get_status(WhenDown::fail, {}, status.done());
  CHECK(status.wait().ok());
  Answered<void> closed;
  master->close_session({"another"}, {}, closed.done());
  CHECK(closed.wait().ok());
  CHECK(steps.have_run() == most - 1);
  CHECK(task.threads.started() == most);

  // Those in line have their turn, and see that they are not wanted any more.
  steps.cancel_all();
  steps.wait_until_so_many_run(most + 3);
}

TEST_CASE("an endless step after many short ones keeps nobody from answering") {
  TestTask task;
  Client client;
  const auto master =
      GrpcMasterChannel::create("grpc://" + task.address(), client.threads, testing::test_host())
          .value();
  const auto worker = client.directory.worker({"worker", 0, 1}, task.address()).value();
  // So many that the alarm is left set between them, at a place that differs from round to round.
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 300 + 7 * round; ++i) {
      Answered<RunCallableReply> short_step;
      master->run_callable({}, {}, short_step.done());
      REQUIRE(short_step.wait().ok());
    }
    EndlessSteps endless(1);
    task.master.on_run_step = endless.handler();
    endless.start_at(*master);
    endless.wait_until_so_many_run(1);
    Answered<GetStatusReply> status;
    worker->get_status(WhenDown::fail, {}, status.done());
    CHECK(status.wait().ok());
    endless.cancel_all();
  }
}

TEST_CASE("a step in line runs as soon as one that ran before it has ended") {
  TestTask task;
  const int most = task.threads.max_threads();
  EndlessSteps steps(most - 1);
  task.master.on_run_step = steps.handler();
  Client client;
  const auto master =
      GrpcMasterChannel::create("grpc://" + task.address(), client.threads, testing::test_host())
          .value();
  steps.start_at(*master);
  steps.wait_until_so_many_run(most - 1);
  task.master.on_run_callable = [](RunCallableRequest, const Call&, Done<RunCallableReply> done) {
    done(RunCallableReply());
  };
  Answered<RunCallableReply> short_step;
  master->run_callable({}, {}, short_step.done());
  steps.cancel_all();
  CHECK(short_step.wait().ok());
}

TEST_CASE(
    "the answers of the last thread's own calls are in line, too, unless they end something") {
  // The task is its own client: what it is told would come back on the threads that compute.
  TestTask task;
  const int most = task.threads.max_threads();
  EndlessSteps steps(most - 1);
  task.master.on_run_step = steps.handler();
  Client client;
  const auto master =
      GrpcMasterChannel::create("grpc://" + task.address(), client.threads, testing::test_host())
          .value();
  steps.start_at(*master);
  steps.wait_until_so_many_run(most - 1);
  const auto peer = task.worker_channel();
  Answered<GetStatusReply> status;
  peer->get_status(WhenDown::fail, {}, status.done());
  Answered<void> deleted;
  peer->delete_worker_session({"session"}, {}, deleted.done());
  CHECK(deleted.wait().ok());
  steps.cancel_all();
  CHECK(status.wait().ok());
}

TEST_CASE("threads that serve are there before the first call") {
  GrpcThreads threads;
  CHECK(threads.started() == 0);
  CHECK(threads.start().ok());
  CHECK(threads.start().ok());
  CHECK(threads.started() == 2);
}

TEST_CASE("threads that nobody used end at once") {
  GrpcThreads threads;
  CHECK(threads.queue() != nullptr);
}

// How often a thread of this process has gone to sleep.
int sleeps(pid_t thread) {
  std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
  std::string word;
  int count = -1;
  while (status >> word)
    if (word == "voluntary_ctxt_switches:") status >> count;
  return count;
}

// A client whose reader, once it has stepped aside for those who wait, stays there.
struct PatientClient {
  GrpcThreads threads{{.callers_pause = std::chrono::hours(1)}};
  GrpcDirectory directory{threads, testing::test_host()};
};

TEST_CASE("the answer to who waits for it is read by nobody else") {
  TestTask task;
  PatientClient client;
  const auto master =
      GrpcMasterChannel::create("grpc://" + task.address(), client.threads, testing::test_host())
          .value();
  const auto wait_for_a_step = [&] {
    Answered<RunCallableReply> step;
    master->run_callable({}, {.waiting = true}, step.done());
    REQUIRE(step.wait().ok());
  };
  std::promise<pid_t> told;
  master->run_callable({}, {}, Done<RunCallableReply>([&](const Result<RunCallableReply>&) {
                         told.set_value(::gettid());
                       }));
  const pid_t reader = told.get_future().get();
  wait_for_a_step();

  const int before = sleeps(reader);
  REQUIRE(before > 0);
  for (int i = 0; i < 200; ++i) wait_for_a_step();
  // It may not have come to rest at the first one.
  CHECK(sleeps(reader) - before < 10);
}

TEST_CASE("who let callers read comes back for an answer that nobody waits for") {
  TestTask task;
  PatientClient client;
  const auto master =
      GrpcMasterChannel::create("grpc://" + task.address(), client.threads, testing::test_host())
          .value();
  for (int i = 0; i < 20; ++i) {
    Answered<RunCallableReply> waited, told;
    master->run_callable({}, {.waiting = true}, waited.done());
    CHECK(waited.wait().ok());
    master->run_callable({}, {}, told.done());
    CHECK(told.wait().ok());
  }
}

}  // namespace
}  // namespace millrace
