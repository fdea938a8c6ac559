#include "millrace/transport/grpc/server.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <latch>
#include <thread>

#include "millrace/base/testing/footprint.h"
#include "millrace/transport/grpc/testing/test_task.h"

namespace millrace {
namespace {

using testing::Answered;
using testing::TestTask;

Status run_empty_step(MasterService& master, Call call = {.waiting = true}) {
  Answered<RunStepReply> answered;
  master.run_step({}, call, answered.done());
  return answered.wait().status();
}

// A step that waits until it is cancelled.
class WaitingStep {
 public:
  testing::Answer<RunStepRequest, RunStepReply> handler() {
    return [this](RunStepRequest, const Call& call, Done<RunStepReply> done) {
      done_ = std::move(done);
      has_deadline_ = call.deadline.has_value();
      registration_ = call.cancellation->on_cancel([this](const Status& why) {
        why_ = why;
        cancelled_.count_down();
      });
      arrived_.count_down();
    };
  }
  bool has_deadline() const { return has_deadline_; }
  void wait_until_it_runs() { arrived_.wait(); }
  // Answers it with the reason of the cancellation, once that has come.
  Status answer_when_cancelled() {
    arrived_.wait();
    cancelled_.wait();
    registration_.release();
    done_(why_);
    return why_;
  }

 private:
  std::latch arrived_{1};
  std::latch cancelled_{1};
  Done<RunStepReply> done_;
  bool has_deadline_ = false;
  Cancellation::Registration registration_;
  Status why_;
};

TEST_CASE_TEMPLATE("a handler that computes for long does not keep others waiting", Task,
                   ALL_TASKS) {
  Task task;
  std::latch second_done(1);
  task.master.on_run_step = [&](RunStepRequest request, const Call&, Done<RunStepReply> done) {
    if (request.session_handle == "long") second_done.wait();
    done(RunStepReply());
  };
  const auto master = task.master_channel();
  RunStepRequest request;
  request.session_handle = "long";
  Answered<RunStepReply> long_step;
  // Its answer comes on the threads that the handler keeps busy, too.
  master->run_step(std::move(request), {}, long_step.done());
  CHECK(run_empty_step(*master).ok());
  second_done.count_down();
  CHECK(long_step.wait().ok());
}

TEST_CASE_TEMPLATE("however many calls wait, no thread is added for them", Task, ALL_TASKS) {
  Task task;
  Mutex mutex;
  std::vector<Done<RunStepReply>> waiting;
  constexpr size_t kCalls = 500;
  std::latch all_there(kCalls);
  task.master.on_run_step = [&](RunStepRequest, const Call&, Done<RunStepReply> done) {
    {
      MutexLock lock(mutex);
      waiting.push_back(std::move(done));
    }
    all_there.count_down();
  };
  const auto master = task.master_channel();
  std::vector<Answered<RunStepReply>> answers(kCalls);
  for (auto& answer : answers) master->run_step({}, {}, answer.done());
  all_there.wait();
  CHECK(task.threads.started() <= task.threads.max_threads());
  for (auto& done : waiting) done(RunStepReply());
  for (auto& answer : answers) CHECK(answer.wait().ok());
}

TEST_CASE_TEMPLATE("a deadline ends a call at both ends", Task, ALL_TASKS) {
  Task task;
  WaitingStep step;
  task.master.on_run_step = step.handler();
  const auto master = task.master_channel();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  const Status status = run_empty_step(*master, {.waiting = true, .deadline = deadline});
  CHECK(status.code() == Code::deadline_exceeded);
  CHECK(status.message() ==
        "the master at " + task.address() + " did not answer RunStep before the deadline");
  const Status why = step.answer_when_cancelled();
  CHECK(step.has_deadline());
  CHECK(why.is_consequence());
}

TEST_CASE_TEMPLATE(
    "a client that cancels its call is told its own reason, the service that it was cancelled",
    Task, ALL_TASKS) {
  Task task;
  WaitingStep step;
  task.master.on_run_step = step.handler();
  const auto master = task.master_channel();
  Cancellation cancellation;
  Answered<RunStepReply> answered;
  master->run_step({}, {.cancellation = &cancellation}, answered.done());
  step.wait_until_it_runs();
  cancellation.cancel(cancelled("the session was closed"));
  CHECK(answered.wait().status() == cancelled("the session was closed"));
  const Status why = step.answer_when_cancelled();
  CHECK(why == cancelled("the caller of RunStep cancelled it or lost its connection"));
  CHECK(why.is_consequence());
}

TEST_CASE_TEMPLATE("a waiting client is woken by a cancellation from another thread", Task,
                   ALL_TASKS) {
  Task task;
  WaitingStep step;
  task.master.on_run_step = step.handler();
  const auto master = task.master_channel();
  Cancellation cancellation;
  std::thread canceller([&] {
    step.wait_until_it_runs();
    cancellation.cancel(cancelled("interrupted"));
    CHECK(step.answer_when_cancelled().code() == Code::cancelled);
  });
  CHECK(run_empty_step(*master, {.cancellation = &cancellation, .waiting = true}) ==
        cancelled("interrupted"));
  canceller.join();
}

TEST_CASE_TEMPLATE("a call that is cancelled before it starts goes nowhere", Task, ALL_TASKS) {
  Task task;
  task.master.on_run_step = [](RunStepRequest, const Call&, Done<RunStepReply> done) {
    FAIL("the call arrived");
    done(RunStepReply());
  };
  Cancellation cancellation;
  cancellation.cancel(cancelled("too late"));
  const auto master = task.master_channel();
  for (const bool waiting : {false, true}) {
    const Status status =
        run_empty_step(*master, {.cancellation = &cancellation, .waiting = waiting});
    CHECK(status == cancelled("too late"));
    CHECK(status.is_consequence());
  }
}

TEST_CASE_TEMPLATE("a server that stops tells running calls why, and their answers still go out",
                   Task, ALL_TASKS) {
  Task task;
  WaitingStep step;
  task.master.on_run_step = step.handler();
  const auto master = task.master_channel();
  Answered<RunStepReply> answered;
  master->run_step({}, {}, answered.done());
  step.wait_until_it_runs();
  std::thread service(
      [&] { CHECK(step.answer_when_cancelled() == aborted("worker:1 is shutting down")); });
  CHECK(task.server->stop(aborted("worker:1 is shutting down"), std::chrono::seconds(20)).ok());
  service.join();
  CHECK(answered.wait().status() == aborted("worker:1 is shutting down"));
}

TEST_CASE("who calls a stopped server is told where it was") {
  TestTask task;
  const auto worker = task.worker_channel();
  const std::string address = task.address();
  CHECK(task.server->stop(aborted("done")).ok());
  Answered<void> refused;
  worker->delete_worker_session({"abc"}, {}, refused.done());
  const Status status = refused.wait();
  CHECK(status.code() == Code::unavailable);
  CHECK(status.message().starts_with("/job:worker/replica:0/task:1 at " + address +
                                     " can't be called (DeleteWorkerSession): nothing listens"));
}

TEST_CASE_TEMPLATE(
    "stop() does not wait for services that never answer, and their late answers are harmless",
    Task, ALL_TASKS) {
  Task task;
  std::latch arrived(1);
  Done<RunStepReply> owed;
  task.master.on_run_step = [&](RunStepRequest, const Call&, Done<RunStepReply> done) {
    owed = std::move(done);
    arrived.count_down();
  };
  const auto master = task.master_channel();
  Answered<RunStepReply> answered;
  master->run_step({}, {}, answered.done());
  arrived.wait();
  CHECK(task.server->stop(aborted("no more"), std::chrono::milliseconds(50)).ok());
  task.server.reset();
  CHECK(answered.wait().status().code() == Code::unavailable);
  owed(RunStepReply());
}

TEST_CASE_TEMPLATE("stop() that a handler holds up says so", Task, ALL_TASKS) {
  Task task;
  std::latch arrived(1);
  std::latch leave(1);
  std::latch left(1);
  task.master.on_run_step = [&](RunStepRequest, const Call&, Done<RunStepReply> done) {
    arrived.count_down();
    leave.wait();
    done(RunStepReply());
    left.count_down();
  };
  const auto master = task.master_channel();
  Answered<RunStepReply> answered;
  master->run_step({}, {}, answered.done());
  arrived.wait();
  const Status status = task.server->stop(aborted("no more"), std::chrono::milliseconds(20));
  CHECK(status.code() == Code::deadline_exceeded);
  CHECK(status.message().find("being handled: RunStep") != std::string::npos);
  leave.count_down();
  left.wait();
  CHECK_FALSE(answered.wait().ok());
}

TEST_CASE_TEMPLATE("a server is replaced on the same port, and its clients find the new one", Task,
                   ALL_TASKS) {
  Task task;
  const auto master = task.master_channel();
  const auto worker = task.worker_channel();
  const int port = task.server->port();
  for (int i = 0; i < 5; ++i) {
    CHECK(run_empty_step(*master).ok());
    Answered<GetStatusReply> status;
    worker->get_status(WhenDown::wait, {}, status.done());
    CHECK(status.wait().ok());
    CHECK(task.server->stop(aborted("restart")).ok());
    task.server.reset();
    task.serve(port);
  }
}

TEST_CASE("a client that is there first waits for its master") {
  TestTask first;
  const int port = first.server->port();
  const auto master = first.master_channel();
  first.server.reset();
  Answered<CreateSessionReply> answered;
  master->create_session({}, {}, answered.done());
  first.serve(port);
  CHECK(answered.wait().ok());
}

TEST_CASE("connections that come before the server wait for it") {
  auto socket = ListeningSocket::bind("127.0.0.1", 0).value();
  testing::FakeMaster fake_master;
  testing::FakeWorker fake_worker;
  GrpcThreads threads;
  const auto master = GrpcMasterChannel::create("grpc://127.0.0.1:" + std::to_string(socket.port()),
                                                threads, testing::test_host())
                          .value();
  Answered<RunStepReply> answered;
  master->run_step({}, {}, answered.done());
  const auto server = GrpcServer::start(testing::test_host(), std::move(socket), threads,
                                        testing::test_ops(), fake_master, fake_worker);
  CHECK(answered.wait().ok());
}

TEST_CASE("a step that ends in UNAVAILABLE is not repeated by clients that look at the status") {
  // TensorFlow's clients repeat a call whose gRPC status is UNAVAILABLE.
  TestTask task;
  std::atomic<int> runs{0};
  task.master.on_run_callable = [&](RunCallableRequest, const Call&, Done<RunCallableReply> done) {
    ++runs;
    done(unavailable("ps:0 is gone"));
  };
  Answered<RunCallableReply> answered;
  task.master_channel()->run_callable({}, {.waiting = true}, answered.done());
  CHECK(answered.wait().status() == unavailable("ps:0 is gone"));
  CHECK(runs == 1);
}

TEST_CASE("channels that outlive the threads answer with an error") {
  auto threads = std::make_unique<GrpcThreads>();
  GrpcDirectory directory(*threads, testing::test_host());
  const auto worker = directory.worker({"worker", 0, 0}, "127.0.0.1:1").value();
  threads.reset();
  Answered<GetStatusReply> answered;
  worker->get_status(WhenDown::wait, {}, answered.done());
  CHECK(answered.wait().status().code() == Code::unavailable);
}

TEST_CASE("a target or an address that can't be one is refused at once") {
  GrpcThreads threads;
  GrpcDirectory directory(threads, testing::test_host());
  for (const char* target : {"", "localhost:2222", "grpc://", "grpc://host", "grpc://host:0"}) {
    CAPTURE(target);
    CHECK(GrpcMasterChannel::create(target, threads, testing::test_host()).status().code() ==
          Code::invalid_argument);
  }
  for (const char* address : {"", "host", "host:0", "host:70000", "grpc://host:1"}) {
    CAPTURE(address);
    CHECK(directory.worker({}, address).status().code() == Code::invalid_argument);
  }
}

TEST_CASE("a thousand servers leave no thread and no descriptor behind") {
  testing::FakeMaster fake_master;
  testing::FakeWorker fake_worker;
  GrpcThreads threads;
  const auto one_life = [&](bool with_call) {
    auto socket = ListeningSocket::bind("127.0.0.1", 0);
    REQUIRE(socket.ok());
    auto server = GrpcServer::start(testing::test_host(), std::move(socket).value(), threads,
                                    testing::test_ops(), fake_master, fake_worker);
    REQUIRE(server.ok());
    if (with_call) {
      const auto master = GrpcMasterChannel::create(
          "grpc://127.0.0.1:" + std::to_string((*server)->port()), threads, testing::test_host());
      REQUIRE(run_empty_step(**master).ok());
    }
    REQUIRE((*server)->stop(aborted("done")).ok());
  };
  for (int i = 0; i < 20; ++i) one_life(true);
  const size_t descriptors = Footprint::now().descriptors;
  const size_t thread_count = Footprint::now().threads;
  for (int i = 0; i < 1000; ++i) one_life(i % 10 == 0);
  CHECK(Footprint::now().descriptors <= descriptors + 4);
  CHECK(Footprint::now().threads <= thread_count + 2);
}

TEST_CASE("threads come and go with all that belongs to them") {
  const auto one_life = [] {
    testing::DirectTask task;
    REQUIRE(run_empty_step(*task.master_channel()).ok());
  };
  for (int i = 0; i < 5; ++i) one_life();
  const size_t descriptors = Footprint::now().descriptors;
  for (int i = 0; i < 50; ++i) one_life();
  CHECK(Footprint::now().descriptors <= descriptors + 4);
}

}  // namespace
}  // namespace millrace
