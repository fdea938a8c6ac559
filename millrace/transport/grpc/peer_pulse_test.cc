#include "millrace/transport/protocol/peer_pulse.h"

#include <deque>
#include <latch>
#include <semaphore>
#include <vector>

#include "millrace/base/timer.h"
#include "millrace/transport/grpc/channel.h"
#include "millrace/transport/grpc/testing/test_task.h"
#include "millrace/transport/protocol/remote_worker.h"

namespace millrace::transport {
namespace {

using testing::Answered;
using testing::TestTask;

// A task that can fall silent, and a peer of it that makes its rounds by hand.
struct Lab {
  Lab() {
    task.worker.on_get_status = [this](const Call&, Done<GetStatusReply> done) {
      if (is_frozen) {
        MutexLock lock(mutex);
        unanswered.push_back(std::move(done));
      } else {
        done(GetStatusReply());
      }
      asked.release();
    };
    task.worker.on_run_graph = [this](RunGraphRequest, const Call&, Done<RunGraphReply> done) {
      {
        MutexLock lock(mutex);
        running.push_back(std::move(done));
      }
      runs.release();
    };
  }
  ~Lab() { thaw(); }

  Status get_status() {
    Answered<GetStatusReply> answered;
    worker.get_status(WhenDown::fail, {}, answered.done());
    asked.acquire();
    return answered.wait().status();
  }
  // A step that the task has got and not answered.
  std::unique_ptr<Answered<RunGraphReply>> run() {
    auto answered = std::make_unique<Answered<RunGraphReply>>();
    worker.run_graph({}, {}, answered->done());
    runs.acquire();
    return answered;
  }
  void answer_steps() {
    std::vector<Done<RunGraphReply>> ended;
    {
      MutexLock lock(mutex);
      ended.swap(running);
    }
    for (auto& done : ended) done(RunGraphReply());
  }
  void thaw() {
    std::vector<Done<GetStatusReply>> late;
    {
      MutexLock lock(mutex);
      is_frozen = false;
      late.swap(unanswered);
    }
    for (auto& done : late) done(GetStatusReply());
  }
  void go_round(int times) {
    for (int i = 0; i < times; ++i) channel->visit();
  }

  Mutex mutex;
  std::atomic<bool> is_frozen{false};
  std::counting_semaphore<> asked{0};
  std::counting_semaphore<> runs{0};
  std::vector<Done<GetStatusReply>> unanswered;
  std::vector<Done<RunGraphReply>> running;
  TestTask task;
  testing::StillHost still;  // rounds are gone by hand; the last call's end may still refer to it
  GrpcThreads threads;
  std::shared_ptr<Rounds> rounds = std::make_shared<Rounds>(still.host, std::chrono::seconds(15));
  std::shared_ptr<Channel> channel =
      Channel::create(task.address(), threads.queue(), {}, rounds, testing::test_host().metrics);
  RemoteWorker worker{Peer{"/job:ps/replica:0/task:0", task.address()}, channel};
};

constexpr int kWholeLimit = Silence::kGiveUpAfter;

TEST_CASE("a task that answers nothing any more is given up with a cause that names it") {
  Lab lab;
  CHECK(lab.get_status().ok());
  auto step = lab.run();
  lab.go_round(1);  // has heard of it
  lab.is_frozen = true;
  lab.go_round(kWholeLimit);
  const Status status = step->wait().status();
  CHECK(status.code() == Code::unavailable);
  CHECK(status.message() ==
        "/job:ps/replica:0/task:0 at " + lab.task.address() +
            " does not answer (RunGraph): nothing has been heard of it for 15 s, although the "
            "connection stands; it is frozen (stopped, or in a debugger), overloaded or cut off "
            "from here");

  // Who comes later does not wait all over again.
  Answered<void> refused;
  lab.worker.delete_worker_session({"session"}, {}, refused.done());
  CHECK(refused.wait().message().find("does not answer (DeleteWorkerSession)") !=
        std::string::npos);
}

TEST_CASE("a task that is heard of again is called again") {
  Lab lab;
  CHECK(lab.get_status().ok());
  auto step = lab.run();
  lab.is_frozen = true;
  lab.go_round(1 + kWholeLimit);
  CHECK(!step->wait().ok());
  lab.asked.acquire();  // the question has reached it
  lab.thaw();
  Answered<void> deleted;
  do {
    deleted = {};
    lab.worker.delete_worker_session({"session"}, {}, deleted.done());
  } while (!deleted.wait().ok());  // until its answer has come
}

TEST_CASE("a step may take as long as it likes while the task answers questions") {
  Lab lab;
  CHECK(lab.get_status().ok());
  auto step = lab.run();
  lab.go_round(1);
  for (int questions = 0; questions < 2 * kWholeLimit; ++questions) {
    lab.go_round(1);
    lab.asked.acquire();
    while (!lab.channel->was_heard()) std::this_thread::yield();
    lab.go_round(1);
  }
  lab.answer_steps();
  CHECK(step->wait().ok());
}

TEST_CASE("a task that owes nothing is asked nothing") {
  Lab lab;
  CHECK(lab.get_status().ok());
  lab.go_round(3 * kWholeLimit);
  CHECK(!lab.asked.try_acquire());
  CHECK(lab.get_status().ok());
}

TEST_CASE("a server that never promised to answer at once, as TensorFlow's, is never given up") {
  Lab lab;  // whose promise comes with the answer to GetStatus, which is not asked for here
  auto step = lab.run();
  lab.is_frozen = true;
  lab.go_round(3 * kWholeLimit);
  lab.answer_steps();
  CHECK(step->wait().ok());
}

TEST_CASE("rounds go on while somebody waits, wake by themselves, and end with stop()") {
  struct Waiter final : Visited {
    void visit() override {
      if (--visits_to_come == 0) waits = false;
      visited.release();
    }
    bool has_waiting_calls() const override { return waits; }
    void end_visits() override { has_ended = true; }
    std::atomic<int> visits_to_come{0};
    std::atomic<bool> waits{false};
    std::counting_semaphore<> visited{0};
    bool has_ended = false;
  };
  const testing::TestHost process;
  Rounds rounds(process.host, std::chrono::milliseconds(6));
  const auto waiter = std::make_shared<Waiter>();
  rounds.add(waiter);
  for (int i = 0; i < 100; ++i) {
    waiter->visits_to_come = 3;
    waiter->waits = true;
    rounds.wake();
    for (int visit = 0; visit < 3; ++visit) waiter->visited.acquire();
  }
  rounds.stop();
  CHECK(waiter->has_ended);
  CHECK(!waiter->visited.try_acquire());
}

TEST_CASE("a frozen task is given up by the clock, too") {
  Lab lab;
  const testing::TestHost process;
  GrpcDirectory directory(lab.threads, process.host, {.patience = {std::chrono::milliseconds(60)}});
  const auto worker = directory.worker({"ps", 0, 0}, lab.task.address()).value();
  Answered<GetStatusReply> known;
  worker->get_status(WhenDown::fail, {}, known.done());
  CHECK(known.wait().ok());
  lab.is_frozen = true;
  Answered<RunGraphReply> step;
  worker->run_graph({}, {}, step.done());
  CHECK(step.wait().status().message().find("does not answer (RunGraph)") != std::string::npos);
}

TEST_CASE("a question that a frozen task never answers keeps nobody from ending") {
  Lab lab;
  CHECK(lab.get_status().ok());
  auto step = lab.run();
  lab.is_frozen = true;
  lab.go_round(1 + kWholeLimit);
  CHECK(!step->wait().ok());
  lab.rounds->stop();
}

}  // namespace
}  // namespace millrace::transport
