// What a session that makes steps again asks of its master, and what of it counts. The master
// writes down what it is asked, and breaks its connections; time and threads are moved by hand.
// Then the same with a real task behind.
#include "millrace/session/retried_master.h"

#include <deque>

#include "doctest/doctest.h"

#include "millrace/base/testing/held_tasks.h"
#include "millrace/base/testing/test_host.h"
#include "millrace/cluster/testing/fake_services.h"
#include "millrace/graph/import.h"
#include "millrace/ops/state/lease.h"
#include "millrace/session/testing/fleet.h"
#include "millrace/session/wait_for.h"

namespace millrace {
namespace {

class BrokenWay {
 public:
  BrokenWay() {
    behind->on_create_session = [this](CreateSessionRequest request, Call,
                                       Done<CreateSessionReply> done) {
      for (const wire::NodeDef& node : request.graph.nodes) told_ += node.name + " ";
      answer(CreateSessionReply{"s", 1}, std::move(done));
    };
    behind->on_extend_session = [this](ExtendSessionRequest, Call, Done<ExtendSessionReply> done) {
      told_ += "extend;";
      answer(ExtendSessionReply{2}, std::move(done));
    };
    behind->on_run_step = [this](RunStepRequest request, Call, Done<RunStepReply> done) {
      told_ += "step";
      for (const NamedTensor& feed : request.feeds)
        told_ += feed.name == RetryGraph::kName ? shown(feed.tensor) : " " + feed.name;
      told_ += request.targets == std::vector<std::string>{std::string(RetryGraph::kStepNode)}
                   ? " named;"
                   : ";";
      answer(RunStepReply(), std::move(done));
    };
    behind->on_make_callable = [this](MakeCallableRequest request, Call,
                                      Done<MakeCallableReply> done) {
      told_ += str_cat("make with ", request.feeds.size(), " feeds;");
      answer(MakeCallableReply{5, nullptr}, std::move(done));
    };
    behind->on_run_callable = [this](RunCallableRequest request, Call,
                                     Done<RunCallableReply> done) {
      told_ += str_cat("call ", request.handle);
      for (const Tensor& feed : request.feeds) told_ += shown(feed);
      told_ += ";";
      answer(RunCallableReply(), std::move(done));
    };
    CreateSessionRequest request;
    for (auto& [name, op, inputs] :
         std::vector<std::tuple<std::string, std::string, std::vector<std::string>>>{
             {"queue", "FIFOQueueV2", {}},
             {"take", "QueueDequeueV2", {"queue"}},
             {"total", "VariableV2", {}},
             {"add", "AssignAdd", {"total", "total"}}}) {
      request.graph.nodes.push_back(
          {.name = name, .op = op, .device = {}, .inputs = inputs, .attrs = {}});
    }
    created_ = outcome_of<CreateSessionReply>(
        [&](auto done) { master.create_session(std::move(request), {}, std::move(done)); });
  }

  // What the master was asked, and what came of it, with pauses in between passed over.
  std::string run(std::vector<std::string> fetches, const Call& call = {}) {
    RunStepRequest request;
    request.session_handle = "s";
    request.fetches = std::move(fetches);
    return outcome_of<RunStepReply>(
        [&](auto done) { master.run_step(std::move(request), call, std::move(done)); });
  }
  template <class Reply, class Ask>
  std::string outcome_of(Ask ask) {
    std::string outcome = "no answer";
    ask(Done<Reply>(
        [&outcome](const auto& reply) { outcome = Status(status_of(reply)).to_string(); }));
    while (timers.is_set()) {
      timers.fire();
      pool.run();
    }
    return std::exchange(told_, {}) + outcome;
  }
  const std::string& created() const { return created_; }

  std::deque<Status> breaks;  // what the next calls end with; OK when there are none left
  std::shared_ptr<testing::FakeMaster> behind = std::make_shared<testing::FakeMaster>();
  testing::TestHost moving;
  testing::HeldTasks pool;
  testing::OneTimer timers;
  const Host host{moving.host.clock, timers,     moving.random,  pool,        moving.endings,
                  moving.blocking,   moving.log, moving.metrics, moving.files};
  RetriedMaster master{behind, *standard_ops(), host, {.times = 3}};

 private:
  template <class T>
  static Status status_of(const Result<T>& reply) {
    return reply.status();
  }
  // " #1 a2": the step's number, and which attempt it is.
  static std::string shown(const Tensor& name) {
    const Lease lease = decode_lease(name.item<std::string>()).value();
    return str_cat(" #", lease.number, " a", lease.attempt);
  }
  template <class Reply>
  void answer(Reply reply, Done<Reply> done) {
    if (breaks.empty()) return done(std::move(reply));
    Status status = breaks.front();
    breaks.pop_front();
    if (!status.ok()) return done(std::move(status));
    done(std::move(reply));
  }
  std::string told_, created_;
};

TEST_CASE("a step that updates is made again under one name; the next one has another") {
  BrokenWay way;
  CHECK(way.created() == "queue take total add _retry/name _retry/step OK");
  way.breaks = {unavailable("cut"), unavailable("cut")};
  CHECK(way.run({"add:0"}) == "step #1 a1 named;step #1 a2 named;step #1 a3 named;OK");
  CHECK(way.run({"add:0"}) == "step #2 a1 named;OK");
}

TEST_CASE("a step that reads is made again as it is, and one that takes is not") {
  BrokenWay way;
  way.breaks = {unavailable("cut")};
  CHECK(way.run({"total:0"}) == "step;step;OK");
  way.breaks = {unavailable("cut")};
  CHECK(way.run({"take:0"}) ==
        "step;UNAVAILABLE: cut; it was not made again, because 'take' (QueueDequeueV2) changes "
        "what can't be changed once");
}

TEST_CASE("callables have names as well, each call its own") {
  BrokenWay way;
  CHECK(way.outcome_of<MakeCallableReply>([&](auto done) {
    way.master.make_callable({"s", {}, {"add:0"}, {}, {}}, {}, std::move(done));
  }) == "make with 1 feeds;OK");
  const auto call = [&] {
    return way.outcome_of<RunCallableReply>([&](auto done) {
      way.master.run_callable({"s", 5, {}}, {}, std::move(done));
    });
  };
  way.breaks = {unavailable("cut")};
  CHECK(call() == "call 5 #1 a1;call 5 #1 a2;OK");
  CHECK(call() == "call 5 #2 a1;OK");
}

TEST_CASE("when its terms are used up, or its session is gone, a step says what is not known") {
  BrokenWay way;
  way.breaks = {4, unavailable("cut")};
  CHECK(way.run({"add:0"}).ends_with(
      "step #1 a4 named;UNAVAILABLE: cut; it was made 3 times more, and nobody knows whether its "
      "updates were made"));
  way.breaks = {unavailable("cut"), aborted("Session 's' is not found"),
                aborted("Session 's' is not found")};
  CHECK(
      way.run({"add:0"}).ends_with("nobody knows whether its updates were made; at first: "
                                   "UNAVAILABLE: cut"));
}

TEST_CASE("an extension whose answer was lost has been made, and its version is known") {
  BrokenWay way;
  const auto extend = [&] {
    ExtendSessionRequest request;
    request.session_handle = "s";
    request.current_graph_version = 1;
    return way.outcome_of<ExtendSessionReply>(
        [&](auto done) { way.master.extend_session(std::move(request), {}, std::move(done)); });
  };
  way.breaks = {unavailable("cut"), aborted("Current version is 2 but caller expected 1.")};
  CHECK(extend() == "extend;extend;OK");
  way.breaks = {unavailable("cut"), aborted("Current version is 7 but caller expected 1."),
                aborted("Current version is 7 but caller expected 1.")};
  CHECK(extend().starts_with("extend;extend;extend;ABORTED: Current version is 7"));
}

TEST_CASE("a step that is given up is not made again") {
  BrokenWay way;
  Cancellation cancellation;
  cancellation.cancel(cancelled("enough"));
  way.breaks = {unavailable("cut")};
  CHECK(way.run({"add:0"}, {.cancellation = &cancellation}) == "step #1 a1 named;UNAVAILABLE: cut");
}

TEST_CASE("a session that is closed ends what waits to be made again, and makes nothing again") {
  BrokenWay way;
  way.breaks = {unavailable("cut")};
  RunStepRequest request;
  request.session_handle = "s";
  request.fetches = {"add:0"};
  WaitFor<RunStepReply> resting(way.host.clock);
  way.master.run_step(std::move(request), resting.call(), resting.done());
  REQUIRE(way.timers.is_set());
  WaitFor<void> closing(way.host.clock);
  way.master.close_session({"s"}, closing.call(), closing.done());
  CHECK(closing.get().ok());
  CHECK(resting.get().status().to_string() ==
        "CANCELLED: Step was cancelled by an explicit call to `Session::Close()`.; at first: "
        "UNAVAILABLE: cut");
  // As a master ends what is under way.
  way.breaks = {cancelled("closed")};
  CHECK(way.run({"add:0"}) == "step #1 a1 named;step #2 a1 named;CANCELLED: closed");
}

TEST_CASE(
    "a server that knows no names of steps refuses the session, with a word what to leave out") {
  auto other = std::make_shared<testing::FakeMaster>();
  other->on_create_session = [](CreateSessionRequest, Call, Done<CreateSessionReply> done) {
    done(invalid("Illegal op name '_retry/name'"));
  };
  RetriedMaster master(other, *standard_ops(), testing::test_host(), {.times = 3});
  WaitFor<CreateSessionReply> wait(testing::test_host().clock);
  master.create_session({}, wait.call(), wait.done());
  const Status status = wait.get().status();
  CHECK(status.code() == Code::invalid_argument);
  CHECK(status.message().ends_with("leave out its retries (MILLRACE_RETRIES) to work with others"));
}

TEST_CASE("a step whose time is over ends in the midst of a pause, and tells what it waited for") {
  testing::TestHost real;
  auto gone = std::make_shared<testing::FakeMaster>();
  gone->on_run_step = [](RunStepRequest, Call, Done<RunStepReply> done) {
    done(unavailable("cut"));
  };
  RetriedMaster master(gone, *standard_ops(), real.host, {.times = kMostRetries});
  WaitFor<RunStepReply> wait(real.host.clock);
  master.run_step({}, wait.call(nullptr, real.host.clock.now() + std::chrono::milliseconds(300)),
                  wait.done());
  const Status status = wait.get().status();
  CHECK(status.code() == Code::deadline_exceeded);
  CHECK(status.message().starts_with("Timed out waiting for a broken connection"));
  CHECK(status.message().ends_with("; at first: UNAVAILABLE: cut"));
}

// ---- A real task -------------------------------------------------------------------------------

// Passes on to a real master, and loses questions and answers.
class LosingMaster final : public MasterService {
 public:
  explicit LosingMaster(std::shared_ptr<MasterService> master) : master_(std::move(master)) {}
  bool loses_question = false, loses_answer = false;

  void run_step(RunStepRequest request, Call call, Done<RunStepReply> done) override {
    if (std::exchange(loses_question, false)) return done(unavailable("lost before"));
    if (std::exchange(loses_answer, false)) {
      return master_->run_step(std::move(request), call,
                               Done<RunStepReply>([done = std::move(done)](const auto&) mutable {
                                 done(unavailable("lost after"));
                               }));
    }
    master_->run_step(std::move(request), call, std::move(done));
  }
  void create_session(CreateSessionRequest request, Call call,
                      Done<CreateSessionReply> done) override {
    master_->create_session(std::move(request), call, std::move(done));
  }
  void close_session(CloseSessionRequest request, Call call, Done<void> done) override {
    master_->close_session(std::move(request), call, std::move(done));
  }
  void extend_session(ExtendSessionRequest, Call, Done<ExtendSessionReply>) override {}
  void partial_run_setup(PartialRunSetupRequest, Call, Done<PartialRunSetupReply>) override {}
  void list_devices(ListDevicesRequest, Call, Done<ListDevicesReply>) override {}
  void reset(ResetRequest, Call, Done<void>) override {}
  void make_callable(MakeCallableRequest, Call, Done<MakeCallableReply>) override {}
  void run_callable(RunCallableRequest, Call, Done<RunCallableReply>) override {}
  void release_callable(ReleaseCallableRequest, Call, Done<void>) override {}

 private:
  const std::shared_ptr<MasterService> master_;
};

TEST_CASE("whether the question or the answer is lost, a real variable is added to once") {
  auto server = Server::start(testing::alone(), testing::runtime()).value();
  auto losing = std::make_shared<LosingMaster>(server->master());
  RetriedMaster master(losing, testing::runtime()->ops(), testing::runtime()->host(), {.times = 3});
  GraphBuilder builder(testing::runtime()->ops());
  const Output total = ops::variable_v2(builder.root(), PartialShape::scalar(), DType::i32);
  const Output zero = ops::assign(builder.root(), total, 0);
  const Output add = ops::assign_add(builder.root(), total, 1);
  const auto handle = [&] {
    WaitFor<CreateSessionReply> wait(testing::runtime()->host().clock);
    master.create_session({export_graph(builder.graph()), {}, server->target()}, wait.call(),
                          wait.done());
    return wait.get().value().session_handle;
  }();
  const auto run = [&](const Output& fetch) {
    RunStepRequest request;
    request.session_handle = handle;
    request.fetches = {fetch.name()};
    WaitFor<RunStepReply> wait(testing::runtime()->host().clock);
    master.run_step(std::move(request), wait.call(), wait.done());
    const Result<RunStepReply> reply = wait.get();
    return reply.ok() ? reply->tensors.front().to_string() : reply.status().to_string();
  };
  CHECK(run(zero) == "int32[] 0");
  losing->loses_question = true;
  CHECK(run(add) == "int32[] 1");
  losing->loses_answer = true;
  CHECK(run(add) == "int32[] 2");
  CHECK(run(add) == "int32[] 3");
}

TEST_CASE(
    "a session is asked for retries it can make, and a run only in a session that makes them") {
  const auto created = [](int times) {
    return Session::create("grpc://localhost:1", {}, testing::runtime(), nullptr,
                           RetryTerms{.times = times});
  };
  CHECK(created(-1).status().message() == "a step may be made again -1 times; give 0 to 1000000");
  CHECK(created(kMostRetries + 1).status().code() == Code::invalid_argument);
  auto none = created(0).value();
  CHECK(none->run({}, {"x"}, {.retry = RetryTerms{.times = 2}})
            .status()
            .message()
            .starts_with("a run is to be made again 2 times in a session that makes none again"));
}

TEST_CASE("the environment says how often steps are made again") {
  testing::KeptLines lines;
  const Log log(lines);
  CHECK(retry_terms(nullptr, log).times == 0);
  CHECK(retry_terms("", log).times == 0);
  CHECK(retry_terms("10", log).times == 10);
  CHECK(lines.lines().empty());
  CHECK(retry_terms("often", log).times == 0);
  CHECK(retry_terms("-1", log).times == 0);
  CHECK(lines.lines().size() == 2);
}

}  // namespace
}  // namespace millrace
