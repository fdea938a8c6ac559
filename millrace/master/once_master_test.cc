// What a session that counts once asks of the master behind it, and when its heartbeats come. The
// master behind writes down what it is asked; time and threads are moved by hand.
#include "millrace/master/once_master.h"

#include <functional>

#include "doctest/doctest.h"

#include "millrace/base/testing/held_tasks.h"
#include "millrace/base/testing/test_host.h"
#include "millrace/cluster/testing/fake_services.h"
#include "millrace/master/named_graph.h"
#include "millrace/master/once_graph.h"
#include "millrace/ops/state/lease.h"
#include "millrace/plan/testing/whole_library.h"

namespace millrace {
namespace {

std::string lease_bytes(uint64_t number, uint64_t queue = 7) {
  return encode_lease(
      {.queue = queue, .number = number, .attempt = 1, .horizon = number + 1, .open = {number}});
}

class Stage {
 public:
  Stage() {
    behind.on_create_session = [this](CreateSessionRequest request, Call,
                                      Done<CreateSessionReply> done) {
      for (const wire::NodeDef& node : request.graph.nodes) sent_ += node.name + " ";
      done(CreateSessionReply{"s", 1});
    };
    behind.on_run_step = [this](RunStepRequest request, Call, Done<RunStepReply> done) {
      answer(describe(request.feeds, request.fetches, request.targets), std::move(done));
    };
    behind.on_make_callable = [this](MakeCallableRequest request, Call,
                                     Done<MakeCallableReply> done) {
      asked_ += str_cat("make ", ++callables_, ";");
      takes_.push_back(!request.fetches.empty() && request.fetches.back() == OnceGraph::kAfter);
      has_lease_.push_back(!request.feeds.empty() && request.feeds.back() == OnceGraph::kLease);
      done(MakeCallableReply{callables_, nullptr});
    };
    behind.on_run_callable = [this](RunCallableRequest request, Call, Done<RunCallableReply> done) {
      if (keeps_feeds) kept_.push_back(request.feeds.back());
      std::string text = str_cat("call ", request.handle);
      const bool leased = has_lease_[static_cast<size_t>(request.handle - 1)];
      if (leased) text += " under " + lease_text(request.feeds.back());
      asked_ += text + ";";
      RunCallableReply reply;
      if (leased && takes_[static_cast<size_t>(request.handle - 1)])
        reply.tensors.push_back(Tensor::scalar(after));
      done(std::move(reply));
    };
    behind.on_release_callable = [this](ReleaseCallableRequest request, Call, Done<void> done) {
      asked_ += str_cat("release ", request.handle, ";");
      done(Status());
    };
    CreateSessionRequest request;
    for (auto& [name, op, inputs] :
         std::vector<std::tuple<std::string, std::string, std::vector<std::string>>>{
             {"queue", "FIFOQueueV2", {}},
             {"take", "QueueDequeueV2", {"queue"}},
             {"other", "FIFOQueueV2", {}},
             {"take_other", "QueueDequeueV2", {"other"}},
             {"total", "VariableV2", {}},
             {"add", "AssignAdd", {"total", "total"}}}) {
      request.graph.nodes.push_back(
          {.name = name, .op = op, .device = {}, .inputs = inputs, .attrs = {}});
    }
    once.create_session(std::move(request), {}, Done<CreateSessionReply>([](auto) {}));
  }
  ~Stage() { once.stop(); }

  // What the master behind was asked by it; and the error, if there is one.
  std::string run(std::vector<std::string> fetches) {
    RunStepRequest request;
    request.session_handle = "s";
    request.fetches = std::move(fetches);
    Status status;
    size_t values = 0;
    once.run_step(std::move(request), {}, Done<RunStepReply>([&](Result<RunStepReply> reply) {
                    status = reply.status();
                    if (reply.ok()) values = reply->tensors.size();
                  }));
    if (!status.ok()) asked_ += status.to_string();
    return std::exchange(asked_, {});
  }
  std::string take(uint64_t number, const char* by = "take:0", uint64_t queue = 7) {
    after = lease_bytes(number, queue);
    return run({by});
  }
  int64_t make(std::vector<std::string> fetches) {
    int64_t handle = 0;
    once.make_callable(
        {"s", {}, std::move(fetches), {}, {}}, {},
        Done<MakeCallableReply>([&](Result<MakeCallableReply> reply) { handle = reply->handle; }));
    return handle;
  }
  std::string call(int64_t handle) {
    once.run_callable({"s", handle, {}}, {}, Done<RunCallableReply>([](auto) {}));
    return std::exchange(asked_, {});
  }
  std::string beat() {
    timers.fire();
    pool.run();
    return std::exchange(asked_, {});
  }
  std::string asked() { return std::exchange(asked_, {}); }
  const std::string& sent() const { return sent_; }
  // Of the leases that the master behind was fed and has not let go.
  std::string kept() const {
    std::string text;
    for (const Tensor& lease : kept_) text += lease_text(lease) + ";";
    return text;
  }

  testing::FakeMaster behind;
  testing::TestHost moving;
  testing::HeldTasks pool;
  testing::OneTimer timers;
  const Host host{moving.host.clock, timers,     moving.random,  pool,        moving.endings,
                  moving.blocking,   moving.log, moving.metrics, moving.files};
  OnceMaster once{behind, testing::whole_library(), host, {kUsualOnceLease}};
  std::string after;        // the lease that a step under one gives
  Status failure;           // of the next steps
  bool is_extended = true;  // what a heartbeat hears
  bool keeps_feeds = false;

 private:
  static std::string lease_text(const Tensor& bytes) {
    const Lease lease = decode_lease(bytes.item<std::string>()).value();
    return lease.has_element() ? str_cat("#", lease.number, " step ", lease.step) : "nothing";
  }
  std::string describe(const std::vector<NamedTensor>& feeds,
                       const std::vector<std::string>& fetches,
                       const std::vector<std::string>& targets) {
    std::string text;
    for (const std::string& fetch : fetches) text += fetch + " ";
    for (const std::string& target : targets) text += target + " ";
    for (const NamedTensor& feed : feeds) text += "under " + lease_text(feed.tensor) + " ";
    text.back() = ';';
    return text;
  }
  void answer(const std::string& step, Done<RunStepReply> done) {
    asked_ += step;
    if (!failure.ok()) return done(failure);
    RunStepReply reply;
    if (step.starts_with("_once/extend/")) {
      reply.tensors.push_back(Tensor::scalar(is_extended));
    } else {
      reply.tensors.push_back(Tensor::scalar(1));
      if (step.find("_once/after:0") != std::string::npos)
        reply.tensors.push_back(Tensor::scalar(after));
    }
    done(std::move(reply));
  }

  std::string asked_, sent_;
  int64_t callables_ = 0;
  std::vector<bool> has_lease_, takes_;  // of callables
  std::vector<Tensor> kept_;
};

TEST_CASE("what a session needs goes with the client's graph") {
  Stage stage;
  CHECK(stage.sent() ==
        "queue take other take_other total add _once/extend/take _once/end/take "
        "_once/extend/take_other _once/end/take_other _once/lease _once/after ");
}

TEST_CASE("steps are passed on as they are until something is taken") {
  Stage stage;
  CHECK(stage.run({"add:0"}) == "add:0;");
  CHECK(stage.run({"total:0"}) == "total:0;");
  CHECK_FALSE(stage.timers.is_set());
}

TEST_CASE("updates are made under what was taken, and the next take acknowledges it") {
  Stage stage;
  CHECK(stage.take(5) == "take:0 _once/after:0 under nothing;");
  CHECK(stage.run({"add:0"}) == "add:0 _once/after under #5 step 1;");
  CHECK(stage.run({"total:0"}) == "total:0;");
  CHECK(stage.take(6) == "take:0 _once/after:0 under #5 step 2;");
  stage.failure = out_of_range("closed");
  CHECK(stage.run({"take:0"}).starts_with("take:0 _once/after:0 under #6 step 1;OUT_OF_RANGE"));
  stage.failure = {};
  CHECK(stage.run({"add:0"}) == "add:0;");
}

TEST_CASE("a lease that a step has been fed stays as it is as long as anybody has it") {
  Stage stage;
  stage.take(5);
  const int64_t add = stage.make({"add:0"});
  stage.call(add);
  stage.keeps_feeds = true;
  stage.call(add);
  stage.call(add);
  CHECK(stage.kept() == "#5 step 2;#5 step 3;");
}

TEST_CASE("an element of another queue has the one before acknowledged at its own") {
  Stage stage;
  (void)stage.take(5);
  CHECK(stage.take(1, "take_other:0", 8) ==
        "take_other:0 _once/after:0 under #5 step 1;_once/end/take under #5 step 1;");
}

TEST_CASE("callables that update are made again for when something is held, once, and let go") {
  Stage stage;
  const int64_t add = stage.make({"add:0"}), take = stage.make({"take:0"}),
                total = stage.make({"total:0"});
  CHECK(stage.asked() == "make 1;make 2;make 3;");
  CHECK(stage.call(add) == "call 1;");
  stage.after = lease_bytes(5);
  CHECK(stage.call(take) == "call 2 under nothing;");
  CHECK(stage.call(add) == "make 4;call 4 under #5 step 1;");
  CHECK(stage.call(add) == "call 4 under #5 step 2;");
  CHECK(stage.call(total) == "call 3;");
  stage.once.release_callable({"s", add}, {}, Done<void>([](auto) {}));
  CHECK(stage.asked() == "release 4;release 1;");
}

TEST_CASE("heartbeats come while something is held, also after one that failed") {
  Stage stage;
  (void)stage.take(5);
  CHECK(stage.beat() == "_once/extend/take:0 under #5 step 0;");
  stage.failure = unavailable("no network");
  CHECK(stage.beat() == "_once/extend/take:0 under #5 step 0;");
  stage.failure = {};
  (void)stage.take(1, "take_other:0", 8);
  CHECK(stage.beat() == "_once/extend/take_other:0 under #1 step 0;");
  stage.failure = out_of_range("closed");
  (void)stage.run({"take_other:0"});
  CHECK(stage.beat().empty());
  CHECK_FALSE(stage.timers.is_set());
}

TEST_CASE("a lease that is lost is told in the log, and is not asked for again") {
  Stage stage;
  (void)stage.take(5);
  stage.is_extended = false;
  (void)stage.beat();
  CHECK_FALSE(stage.timers.is_set());
  REQUIRE(stage.moving.kept.lines().size() == 1);
  CHECK(stage.moving.kept.lines()[0].find("is over") != std::string::npos);
  // Updates go on: they happen once, whoever makes them.
  CHECK(stage.run({"add:0"}) == "add:0 _once/after under #5 step 1;");
  stage.is_extended = true;
  (void)stage.take(6);
  CHECK(stage.timers.is_set());
}

TEST_CASE("a session that is closed has no heartbeats") {
  Stage stage;
  (void)stage.take(5);
  stage.once.close_session({"s"}, {}, Done<void>([](auto) {}));
  CHECK_FALSE(stage.timers.is_set());
}

TEST_CASE("a step that comes while its session is being closed is made under its lease") {
  Stage stage;
  (void)stage.take(5);
  stage.behind.on_close_session = [&](CloseSessionRequest, Call, Done<void> done) {
    CHECK(stage.take(6) == "take:0 _once/after:0 under #5 step 1;");
    done(Status());
  };
  stage.once.close_session({"s"}, {}, Done<void>([](auto) {}));
  CHECK_FALSE(stage.timers.is_set());
}

TEST_CASE("sessions end with a reset, and go on counting once if it was refused") {
  Stage stage;
  (void)stage.take(5);
  Status outcome = unavailable("no way to reach a task");
  stage.behind.on_reset = [&](ResetRequest, Call, Done<void> done) { done(outcome); };
  stage.once.reset({}, {}, Done<void>([&](Status status) { CHECK(status == outcome); }));
  CHECK(stage.run({"add:0"}) == "add:0 _once/after under #5 step 1;");
  CHECK(stage.beat() == "_once/extend/take:0 under #5 step 1;");
  outcome = {};
  stage.once.reset({}, {}, Done<void>([](auto) {}));
  CHECK_FALSE(stage.timers.is_set());
}

TEST_CASE("partial runs that take, or update while something is held, are refused") {
  Stage stage;
  const auto set_up = [&](const char* fetch) {
    Status status;
    stage.once.partial_run_setup(
        {"s", {}, {fetch}, {}}, {},
        Done<PartialRunSetupReply>([&](auto reply) { status = reply.status(); }));
    return status.code();
  };
  CHECK(set_up("take:0") == Code::unimplemented);
  CHECK(set_up("add:0") == Code::ok);
  (void)stage.take(5);
  CHECK(set_up("add:0") == Code::unimplemented);
  CHECK(set_up("total:0") == Code::ok);
}

TEST_CASE("a session that names its steps itself is refused: each update has one name") {
  Stage stage;
  CreateSessionRequest request;
  request.graph.nodes.push_back({.name = std::string(kRetryStepNode),
                                 .op = "StepLease",
                                 .device = {},
                                 .inputs = {},
                                 .attrs = {}});
  Status status;
  stage.once.create_session(std::move(request), {},
                            Done<CreateSessionReply>([&](const Result<CreateSessionReply>& reply) {
                              status = reply.status();
                            }));
  CHECK(status.code() == Code::failed_precondition);
  CHECK(status.message().find("leave one of the two out") != std::string::npos);
}

}  // namespace
}  // namespace millrace
