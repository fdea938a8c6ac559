// Calls to a task that is found late, and moves, as transcripts of what happens and what is done:
//
//   a: GetStatus             a call named a; `looks` and `asks` are GetStatus without waiting and
//   with a: RecvTensor in 5       likewise, with a deadline in seconds at h:1 | lost why | ends
//   what is known of the task from now on h:1 answers RecvTensor OK cancel a CANCELLED why   its
//   caller gives up pass 3                   seconds describe | close
#include "millrace/cluster/moving_worker.h"

#include <deque>
#include <list>
#include <map>
#include <memory>
#include <sstream>

#include <doctest/doctest.h>

#include "millrace/base/testing/fake_clock.h"
#include "millrace/base/testing/script.h"
#include "millrace/base/testing/spoken_status.h"
#include "millrace/base/testing/test_host.h"
#include "millrace/cluster/late_members.h"
#include "millrace/cluster/member_workers.h"
#include "millrace/cluster/testing/fake_services.h"

namespace millrace {
namespace {

const TaskName kPs{"ps", 0, 0};

// Runs what was posted when it is told to.
class PatientRunner final : public Runner {
 public:
  void post(Task task) override { tasks_.push_back(std::move(task)); }
  bool run() {
    if (tasks_.empty()) return false;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    task();
    return true;
  }

 private:
  std::deque<Task> tasks_;
};

class HandTimers final : public Timers {
 public:
  Timer at(Clock::Time when, Task task) override {
    tasks_.emplace(Key{when, ++last_}, std::move(task));
    return handle({when, last_});
  }
  void run_until(Clock::Time now) {
    while (!tasks_.empty() && tasks_.begin()->first.when <= now) {
      Task task = std::move(tasks_.begin()->second);
      tasks_.erase(tasks_.begin());
      task();
    }
  }
  size_t size() const { return tasks_.size(); }

 private:
  void cancel(const Key& key) override { tasks_.erase(key); }
  std::map<Key, Task> tasks_;
  uint64_t last_ = 0;
};

// A worker at each address. Calls stay open there until the story answers them, or they are
// cancelled.
class Town final : public WorkerDirectory {
 public:
  explicit Town(std::string* out) : out_(*out) {}

  Result<std::shared_ptr<WorkerService>> worker(const TaskName&,
                                                std::string_view address) override {
    auto worker = std::make_shared<testing::FakeWorker>();
    const auto take = [this, at = std::string(address)](std::string_view method) {
      return [this, at, method](auto, const Call& call, auto done) {
        open(at, std::string(method), call, std::move(done));
      };
    };
    worker->on_get_status = [this, at = std::string(address)](const Call& call,
                                                              Done<GetStatusReply> done) {
      open(at, "GetStatus", call, std::move(done));
    };
    worker->on_recv_tensor = take("RecvTensor");
    worker->on_run_graph = take("RunGraph");
    worker->on_cleanup_graph = take("CleanupGraph");
    return std::shared_ptr<WorkerService>(worker);
  }
  void let_go(std::string_view address) override { str_append(&out_, "let go of ", address, "\n"); }

  void answer(const std::string& at, const std::string& method, const Status& status) {
    for (auto call = calls_.begin(); call != calls_.end(); ++call) {
      if (call->at != at || call->method != method) continue;
      auto answer = std::move(call->answer);
      call->cancelled.release();
      calls_.erase(call);
      return answer(status);
    }
    FAIL("no call ", method, " at ", at);
  }

 private:
  struct Open {
    std::string at, method;
    absl::AnyInvocable<void(Status)> answer;
    Cancellation::Registration cancelled;
  };
  template <class Reply>
  void open(const std::string& at, const std::string& method, const Call& call, Done<Reply> done) {
    str_append(&out_, at, " <- ", method, "\n");
    const auto it = calls_.insert(calls_.end(), {at,
                                                 method,
                                                 [done = std::move(done)](Status status) mutable {
                                                   if (!status.ok()) return done(std::move(status));
                                                   if constexpr (std::is_void_v<Reply>) {
                                                     done(Status());
                                                   } else {
                                                     done(Reply());
                                                   }
                                                 },
                                                 {}});
    it->cancelled = call.cancellation->on_cancel(
        [this, at, method](const Status& why) { answer(at, method, why); });
  }

  std::string& out_;
  std::list<Open> calls_;
};

class Story {
 public:
  std::string tell(const std::string& script) {
    testing::each_line(script, [this](const std::string& verb, std::istringstream& words) {
      happen(verb, words);
      while (pool_.run() || endings_.run()) continue;
    });
    workers_.reset();
    CHECK(timers_.size() == 0);
    return out_;
  }

 private:
  void happen(const std::string& verb, std::istringstream& words) {
    std::string word, rest;
    if (verb.ends_with(":") && verb.find(':') + 1 == verb.size()) {
      words >> word;
      int seconds = 0;
      if (words >> rest) words >> seconds;
      return call(verb.substr(0, verb.size() - 1), word, seconds);
    }
    if (verb == "cancel") {
      words >> word;
      return cancellations_[word].cancel(testing::spoken_status(words));
    }
    if (verb == "pass") {
      int seconds = 0;
      words >> seconds;
      clock_.advance(std::chrono::seconds(seconds));
      return timers_.run_until(clock_.now());
    }
    if (verb == "describe") {
      for (const std::string& line : workers_->describe_waits()) str_append(&out_, line, "\n");
      return;
    }
    if (verb == "close") return workers_.reset();
    if (verb == "ends") return must(members_->end(kPs));
    if (verb == "at" || verb == "lost") {
      std::getline(words >> std::ws, rest);
      return must(verb == "at" ? members_->set_address(kPs, rest)
                               : members_->lose_address(kPs, rest));
    }
    words >> rest >> word;
    town_.answer(verb, word, testing::spoken_status(words));
  }
  static void must(const Status& status) { CHECK_MESSAGE(status.ok(), status.to_string()); }

  void call(const std::string& name, const std::string& method, int seconds) {
    const Call call{.cancellation = &cancellations_[name],
                    .deadline = seconds > 0
                                    ? std::optional(clock_.now() + std::chrono::seconds(seconds))
                                    : std::nullopt};
    const auto told = [this, name](const Status& status) {
      str_append(&out_, name, ": ", status.to_string(), "\n");
    };
    const auto worker = workers_->worker(kPs).value();
    if (method == "looks" || method == "asks") {
      worker->get_status(
          method == "looks" ? WhenDown::fail : WhenDown::wait, call,
          Done<GetStatusReply>([told](const Result<GetStatusReply>& r) { told(r.status()); }));
    } else if (method == "RecvTensor") {
      worker->recv_tensor({}, call, Done<RecvTensorReply>([told](const Result<RecvTensorReply>& r) {
                            told(r.status());
                          }));
    } else if (method == "RunGraph") {
      worker->run_graph({}, call, Done<RunGraphReply>([told](const Result<RunGraphReply>& r) {
                          told(r.status());
                        }));
    } else {
      REQUIRE(method == "CleanupGraph");
      worker->cleanup_graph({}, call, Done<void>(told));
    }
  }

  std::string out_;
  testing::TestHost real_;
  FakeClock clock_;
  HandTimers timers_;
  PatientRunner pool_, endings_;
  const Host host_{clock_, timers_,   real_.random,  pool_,      endings_,
                   pool_,  real_.log, real_.metrics, real_.files};
  std::map<std::string, Cancellation> cancellations_;  // by the name of the call
  Town town_{&out_};
  const std::shared_ptr<LateMembers> members_ =
      LateMembers::create({{"ps", 1}, {"worker", 1}}).value();
  std::unique_ptr<MemberWorkers> workers_ = std::make_unique<MemberWorkers>(members_, town_, host_);
};

std::string told_by(const std::string& script) { return Story().tell(script); }

TEST_CASE("a question and a receive wait for the address, and then go there") {
  CHECK(told_by(R"(
    a: asks
    b: RecvTensor
    describe
    at h:1
    h:1 answers RecvTensor OK
    h:1 answers GetStatus OK
    c: RunGraph
    h:1 answers RunGraph INTERNAL no memory
    describe
    )") ==
        "1 call waits for /job:ps/replica:0/task:0, RecvTensor for 0 s: the address of "
        "/job:ps/replica:0/task:0 is not known yet\n"
        "h:1 <- GetStatus\n"
        "h:1 <- RecvTensor\n"
        "b: OK\n"
        "a: OK\n"
        "h:1 <- RunGraph\n"
        "c: INTERNAL: no memory\n");
}

TEST_CASE("what does not wait for a task that is down does not wait for its address") {
  const std::string unknown =
      "UNAVAILABLE: the address of /job:ps/replica:0/task:0 is not known yet\n";
  CHECK(told_by("a: looks\nb: RunGraph") == "a: " + unknown + "b: " + unknown);
}

TEST_CASE("who waits for an address is let off by its deadline, its caller and the end of all") {
  CHECK(told_by(R"(
    a: RecvTensor in 5
    b: CleanupGraph
    c: asks in 9
    pass 4
    describe
    cancel b CANCELLED nobody wants it
    pass 1
    lost no machine is free
    pass 3
    at h:1
    pass 1
    h:1 answers GetStatus OK
    lost again
    d: RecvTensor
    close
    )") ==
        "2 calls wait for /job:ps/replica:0/task:0, RecvTensor for 4 s: the address of "
        "/job:ps/replica:0/task:0 is not known yet\n"
        "b: CANCELLED: nobody wants it; the address of /job:ps/replica:0/task:0 is not known yet\n"
        "a: DEADLINE_EXCEEDED: the deadline of the call passed; the address of "
        "/job:ps/replica:0/task:0 is not known yet\n"
        "h:1 <- GetStatus\n"
        "c: OK\n"
        "let go of h:1\n"
        "d: CANCELLED: nobody looks for /job:ps/replica:0/task:0 any more\n");
}

TEST_CASE("a call that is over before it begins does not wait") {
  CHECK(told_by(R"(
    cancel a CANCELLED too early
    a: RecvTensor
    )") == "a: CANCELLED: too early\n");
}

TEST_CASE("when a task moves its old connection goes, and its calls end or are asked anew") {
  CHECK(told_by(R"(
    at h:1
    a: asks
    b: RunGraph
    c: RunGraph
    h:1 answers RunGraph OK
    at h:2
    d: RunGraph
    h:2 answers RunGraph OK
    h:2 answers GetStatus OK
    )") ==
        "h:1 <- GetStatus\n"
        "h:1 <- RunGraph\n"
        "h:1 <- RunGraph\n"
        "b: OK\n"
        "let go of h:1\n"
        "h:2 <- GetStatus\n"
        "c: UNAVAILABLE: /job:ps/replica:0/task:0 is no longer at h:1: it is at h:2\n"
        "h:2 <- RunGraph\n"
        "d: OK\n"
        "a: OK\n");
}

TEST_CASE("a question to a task that got lost waits for where it will be") {
  CHECK(told_by(R"(
    at h:1
    a: asks
    b: RecvTensor
    lost its machine is drained
    c: looks
    at h:1
    h:1 answers GetStatus OK
    )") ==
        "h:1 <- GetStatus\n"
        "h:1 <- RecvTensor\n"
        "let go of h:1\n"
        "b: UNAVAILABLE: /job:ps/replica:0/task:0 is no longer at h:1: the address of "
        "/job:ps/replica:0/task:0 is no longer known: its machine is drained\n"
        "c: UNAVAILABLE: the address of /job:ps/replica:0/task:0 is no longer known: its machine "
        "is drained\n"
        "h:1 <- GetStatus\n"
        "a: OK\n");
}

TEST_CASE("nobody waits for the address of a task that has ended") {
  CHECK(told_by(R"(
    a: RecvTensor
    ends
    b: asks
    )") ==
        "a: UNAVAILABLE: the address of /job:ps/replica:0/task:0 is gone: the task has ended\n"
        "b: UNAVAILABLE: the address of /job:ps/replica:0/task:0 is gone: the task has ended\n");
}

TEST_CASE("what the caller says ends a call, too, wherever it is") {
  CHECK(told_by(R"(
    at h:1
    a: asks
    cancel a CANCELLED enough
    b: RunGraph
    cancel b ABORTED the step is over
    )") ==
        "h:1 <- GetStatus\n"
        "a: CANCELLED: enough\n"
        "h:1 <- RunGraph\n"
        "b: ABORTED: the step is over\n");
}

TEST_CASE("where addresses stay, workers are those of the directory") {
  struct One final : WorkerDirectory {
    const std::shared_ptr<WorkerService> only = std::make_shared<testing::FakeWorker>();
    Result<std::shared_ptr<WorkerService>> worker(const TaskName&, std::string_view at) override {
      if (at != "h:1") return not_found("nobody at ", at);
      return only;
    }
  } directory;
  ClusterSpec cluster;
  REQUIRE(cluster.add_job("ps", {"h:1", "h:2"}).ok());
  MemberWorkers workers(constant_members(cluster), directory, testing::test_host());
  CHECK(workers.worker(kPs).value() == directory.only);
  CHECK(workers.worker({"ps", 0, 1}).status().message() == "nobody at h:2");
  CHECK(workers.worker({"ps", 0, 2}).status().message().find("no task") != std::string::npos);
}

TEST_CASE("a part that is registered at a task that may move is reached by its handle") {
  struct One final : WorkerDirectory {
    Result<std::shared_ptr<WorkerService>> worker(const TaskName&, std::string_view) override {
      struct Part final : RegisteredPart {
        void run(PartRun, Call, Done<RunGraphReply>) override {}
        void deregister(Call, Done<void>) override {}
      };
      auto fake = std::make_shared<testing::FakeWorker>();
      fake->on_register_graph = [](auto&&, const Call&, Done<RegisterGraphReply> done) {
        done(RegisterGraphReply{.graph_handle = "g", .part = std::make_shared<Part>()});
      };
      return std::shared_ptr<WorkerService>(fake);
    }
  } directory;
  const auto members = LateMembers::create({{"ps", 1}}).value();
  REQUIRE(members->set_address(kPs, "h:1").ok());
  MemberWorkers workers(members, directory, testing::test_host());
  Result<RegisterGraphReply> made = internal("not answered");
  workers.worker(kPs).value()->register_graph(
      {}, {}, Done<RegisterGraphReply>([&](Result<RegisterGraphReply> reply) { made = reply; }));
  REQUIRE(made.ok());
  CHECK(made->graph_handle == "g");
  CHECK(made->part == nullptr);
}

}  // namespace
}  // namespace millrace
