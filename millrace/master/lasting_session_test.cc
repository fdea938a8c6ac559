// How a session goes on when a task was lost, seen by the master behind it, which writes down what
// it is asked; and by who waits.
#include "millrace/master/lasting_session.h"

#include "doctest/doctest.h"

#include "millrace/base/testing/held_tasks.h"
#include "millrace/base/testing/test_host.h"
#include "millrace/cluster/kept_device.h"
#include "millrace/cluster/testing/fake_services.h"
#include "millrace/master/lasting_step.h"
#include "millrace/plan/testing/whole_library.h"

namespace millrace {
namespace {

// A session on a queue of /job:files, before a master that makes session s1, s2 … when it is told
// to.
class LastingStage {
 public:
  LastingStage() {
    behind.on_create_session = [this](CreateSessionRequest request, Call call,
                                      Done<CreateSessionReply> done) {
      asked_ += str_cat("create ", request.graph.nodes.size(), ";");
      CHECK(call.cancellation != nullptr);
      create_ = std::move(done);
    };
    behind.on_list_devices = [this](ListDevicesRequest, Call, Done<ListDevicesReply> done) {
      ListDevicesReply reply;
      reply.remote.push_back({.name = "/job:files/replica:0/task:0/device:CPU:0",
                              .type = "CPU",
                              .incarnation = incarnation,
                              .description = kept_device_description(identity)});
      done(std::move(reply));
    };
    behind.on_close_session = [this](CloseSessionRequest request, Call, Done<void> done) {
      asked_ += str_cat("close ", request.session_handle, ";");
      done(Status());
    };
    behind.on_extend_session = [this](ExtendSessionRequest request, Call,
                                      Done<ExtendSessionReply> done) {
      asked_ += str_cat("extend ", request.session_handle, " ", request.current_graph_version, ";");
      if (holds_extensions) {
        extend_ = std::move(done);
      } else {
        done(ExtendSessionReply{request.current_graph_version + 1});
      }
    };
    CreateSessionRequest asked;
    asked.graph.nodes.push_back({.name = "names",
                                 .op = "FIFOQueueV2",
                                 .device = "/job:files/task:0",
                                 .inputs = {},
                                 .attrs = {{"shared_name", "names"}}});
    session = std::make_shared<LastingSession>(behind, testing::whole_library(), host, under_way,
                                               std::chrono::seconds(60), std::move(asked));
    session->begin({"s1", 1}, {},
                   Done<bool>([](Result<bool> can_last) { CHECK(can_last.value()); }));
  }
  ~LastingStage() {
    session->end();
    if (create_) create_(cancelled("the master stops"));
    under_way.wait();
  }

  std::string asked() { return std::exchange(asked_, {}); }
  // The master has made the session that it was asked for.
  void made(int number) {
    auto done = std::exchange(create_, {});
    done(CreateSessionReply{str_cat("s", number), 1});
  }
  void not_made(Status why) {
    auto done = std::exchange(create_, {});
    done(std::move(why));
  }
  void extended(int64_t version) {
    auto done = std::exchange(extend_, {});
    done(ExtendSessionReply{version});
  }

  // A step that is made by naming the life it is made in, and fails as often as `failures` has it.
  void step(Again again) {
    make_lasting<std::string>(
        session, again, {}, Done<std::string>([this](Result<std::string> reply) {
          told += reply.ok() ? *reply + ";" : reply.status().to_string() + ";";
        }),
        [this](const LastingSession::Life& life, const Call&, Done<std::string> done) {
          asked_ += str_cat("step ", life.handle, ";");
          if (failures.empty()) return done(str_cat("done in ", life.handle));
          const Status failure = failures.front();
          failures.erase(failures.begin());
          done(failure);
        });
  }
  void extend() {
    ExtendSessionRequest request{"s1", {}, version};
    request.graph.nodes.push_back(
        {.name = "more", .op = "NoOp", .device = {}, .inputs = {}, .attrs = {}});
    session->extend(std::move(request), {},
                    Done<ExtendSessionReply>([this](Result<ExtendSessionReply> reply) {
                      version = reply.value().new_graph_version;
                    }));
  }

  testing::FakeMaster behind;
  testing::TestHost moving;
  testing::OneTimer timers;
  testing::HeldTasks endings;
  testing::HeldTasks pool;
  const Host host{moving.host.clock, timers,     moving.random,  pool,        endings,
                  moving.blocking,   moving.log, moving.metrics, moving.files};
  InFlight under_way;
  std::shared_ptr<LastingSession> session;
  uint64_t incarnation = 1;
  std::string identity = "f";
  std::vector<Status> failures;
  bool holds_extensions = false;
  int64_t version = 1;
  std::string told;

 private:
  std::string asked_;
  Done<CreateSessionReply> create_;
  Done<ExtendSessionReply> extend_;
};

const Status kFilesDown = unavailable("files is down");

TEST_CASE("a step that may be made again waits for the task, and is made in the next life") {
  LastingStage stage;
  stage.failures = {kFilesDown};
  stage.step(Again::yes);
  CHECK(stage.asked() == "step s1;create 1;");
  CHECK(stage.told.empty());
  // Others wait with it, whether they failed or come only now.
  stage.step(Again::no);
  CHECK(stage.asked().empty());
  stage.incarnation = 2;
  stage.made(2);
  CHECK(stage.asked() == "step s2;step s2;");
  CHECK(stage.told == "done in s2;done in s2;");
  // What the life before had borrowed stays borrowed until it is not needed.
  stage.session->let_go_of_earlier();
  CHECK(stage.asked() == "close s1;");
}

TEST_CASE("what a take has borrowed goes back before it is made again") {
  LastingStage stage;
  stage.failures = {kFilesDown};
  stage.step(Again::takes);
  CHECK(stage.asked() == "step s1;create 1;");
  stage.incarnation = 2;
  stage.made(2);
  CHECK(stage.asked() == "close s1;step s2;");
}

TEST_CASE("a step that changes state and has no name is not made again, but the next one goes on") {
  LastingStage stage;
  stage.failures = {kFilesDown};
  stage.step(Again::no);
  CHECK(stage.told == "UNAVAILABLE: files is down;");
  CHECK(stage.asked() == "step s1;create 1;");
  stage.step(Again::no);
  stage.incarnation = 2;
  stage.made(2);
  CHECK(stage.told == "UNAVAILABLE: files is down;done in s2;");
}

TEST_CASE("a task that comes back without its state is the end, and is told so from then on") {
  LastingStage stage;
  stage.failures = {kFilesDown, kFilesDown};
  stage.step(Again::yes);
  stage.incarnation = 2;
  stage.identity = "another";
  stage.made(2);
  CHECK(stage.told.find("UNAVAILABLE: files is down; the session could not go on: /job:files") ==
        0);
  CHECK(stage.asked() == "step s1;create 1;close s2;");
  stage.told.clear();
  stage.step(Again::yes);
  CHECK(stage.asked() == "step s1;");
  CHECK(stage.told.find("UNAVAILABLE: files is down; the session is lost: ") == 0);
}

TEST_CASE("a task that does not come in time fails the steps that wait; later ones wait again") {
  LastingStage stage;
  stage.failures = {kFilesDown, kFilesDown};
  stage.step(Again::yes);
  stage.not_made(error(Code::deadline_exceeded, "files did not answer"));
  CHECK(stage.told ==
        "UNAVAILABLE: files is down; the session could not go on: files did not answer;");
  stage.asked();
  stage.told.clear();
  stage.step(Again::yes);
  CHECK(stage.asked() == "step s1;create 1;");
  stage.incarnation = 2;
  stage.made(2);
  CHECK(stage.told == "done in s2;");
}

TEST_CASE("a task that dies while others come back is waited for as well") {
  LastingStage stage;
  stage.failures = {kFilesDown};
  stage.step(Again::yes);
  stage.not_made(unavailable("reduce is down"));
  CHECK(stage.told.empty());
  CHECK(stage.asked() == "step s1;create 1;");
  stage.timers.fire();
  stage.pool.run();
  CHECK(stage.asked() == "create 1;");
  stage.incarnation = 2;
  stage.made(2);
  CHECK(stage.told == "done in s2;");
}

TEST_CASE("a session that is closed in a pause answers who waits") {
  LastingStage stage;
  stage.failures = {kFilesDown};
  stage.step(Again::yes);
  stage.not_made(unavailable("reduce is down"));
  stage.session->end();
  CHECK(stage.told ==
        "UNAVAILABLE: files is down; the session could not go on: the session was closed;");
}

TEST_CASE("an error that is the step's own comes back as it was, once nothing is found lost") {
  LastingStage stage;
  stage.failures = {aborted("the group was formed anew")};
  stage.step(Again::yes);
  stage.made(2);
  CHECK(stage.told == "ABORTED: the group was formed anew;");
  stage.told.clear();
  stage.failures = {invalid("no such node")};
  stage.step(Again::yes);
  CHECK(stage.told == "INVALID_ARGUMENT: no such node;");
}

TEST_CASE("a broken connection is no loss: the step is made again, but not without end") {
  LastingStage stage;
  stage.failures = std::vector<Status>(100, kFilesDown);
  stage.step(Again::yes);
  for (int life = 2; stage.told.empty(); ++life) {
    REQUIRE(life < 100);
    stage.made(life);
  }
  CHECK(stage.told == "UNAVAILABLE: files is down;");
}

TEST_CASE("what extends the graph is in every life, and its client goes on counting") {
  LastingStage stage;
  stage.extend();
  CHECK(stage.asked() == "extend s1 1;");
  CHECK(stage.version == 2);
  stage.failures = {kFilesDown};
  stage.step(Again::yes);
  CHECK(stage.asked() == "step s1;create 2;");
  stage.extend();  // waits
  CHECK(stage.asked().empty());
  stage.incarnation = 2;
  stage.made(2);
  CHECK(stage.asked() == "extend s2 1;step s2;");
  CHECK(stage.version == 3);
}

TEST_CASE("an extension under way is in the next life as well") {
  LastingStage stage;
  stage.holds_extensions = true;
  stage.extend();
  stage.failures = {kFilesDown};
  stage.step(Again::yes);
  CHECK(stage.asked() == "extend s1 1;step s1;");
  stage.extended(2);
  CHECK(stage.asked() == "create 2;");
}

TEST_CASE("a session that is closed while it is extended asks for no other one") {
  LastingStage stage;
  stage.holds_extensions = true;
  stage.extend();
  stage.failures = {kFilesDown};
  stage.step(Again::yes);
  stage.session->end();
  stage.extended(2);
  CHECK(stage.asked() == "extend s1 1;step s1;");
  CHECK(stage.told ==
        "UNAVAILABLE: files is down; the session could not go on: the session was closed;");
}

TEST_CASE("who gives up waiting is answered at once, and the others go on waiting") {
  LastingStage stage;
  Cancellation gave_up;
  stage.failures = {kFilesDown};
  stage.step(Again::yes);
  std::string told;
  stage.session->life({.cancellation = &gave_up},
                      Done<LastingSession::Life>([&](Result<LastingSession::Life> life) {
                        told = life.status().to_string();
                      }));
  gave_up.cancel(cancelled("the program ends"));
  stage.endings.run();
  CHECK(told == "CANCELLED: the program ends");
  stage.incarnation = 2;
  stage.made(2);
  CHECK(stage.told == "done in s2;");
}

TEST_CASE("a session that is closed waits for nothing more") {
  LastingStage stage;
  stage.failures = {kFilesDown};
  stage.step(Again::yes);
  stage.session->close({}, Done<void>([](Status) {}));
  stage.session->end();
  stage.not_made(cancelled("the session was closed"));
  CHECK(stage.told ==
        "UNAVAILABLE: files is down; the session could not go on: the session was closed;");
  CHECK(stage.asked() == "step s1;create 1;close s1;");
}

}  // namespace
}  // namespace millrace
