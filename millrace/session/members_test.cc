// Servers that learn from their programs where the others are, late, and anew.
#include <cstdio>
#include <fstream>
#include <optional>
#include <thread>

#include "millrace/base/testing/scratch_directory.h"
#include "millrace/cluster/late_members.h"
#include "millrace/cluster/roster.h"
#include "millrace/session/testing/fleet.h"

namespace millrace {
namespace {

using namespace testing;

// A task "a:0" or "b:0" as its own process would have it: with members that nobody else changes.
struct LateTask {
  explicit LateTask(const std::string& job)
      : members(LateMembers::create({{"a", 1}, {"b", 1}}).value()) {
    auto started = Server::start(
        {.members = members, .own_address = "localhost:0", .job = job, .bind_host = "localhost"},
        runtime());
    REQUIRE_MESSAGE(started.ok(), started.status().to_string());
    server = std::move(*started);
  }
  void learns_of(const LateTask& other) {
    CHECK(members->set_address(other.server->task(), other.server->address()).ok());
  }
  bool waits_for(const std::string& what) const {
    return to_text(server->describe()).find(what) != std::string::npos;
  }
  void wait_until_it_waits_for(const std::string& what) const {
    while (!waits_for(what)) std::this_thread::yield();
  }

  const std::shared_ptr<LateMembers> members;
  std::unique_ptr<Server> server;
};

// A value that travels from a to b.
Output over_both(GraphBuilder& builder) {
  const Scope a = builder.root().device("/job:a/task:0"),
              b = builder.root().device("/job:b/task:0");
  const Output x = ops::fifo_queue(a, {DType::i32}, {.shared_name = "x"});
  const Operation put = ops::queue_enqueue(a, x, {constant(a, 40)});
  const Output taken = ops::queue_dequeue(a.after({put}), x, {DType::i32})[0];
  return ops::identity(b, taken) + constant(b, 2);
}

TEST_CASE("a session waits for a task that is nowhere yet, and begins when its address is known") {
  LateTask a("a");
  CHECK(a.server->cluster().empty());
  CHECK(a.members->address({"a", 0, 0}).value() == a.server->address());
  GraphBuilder builder(runtime()->ops());
  const Output y = over_both(builder);
  auto session = Session::create(*a.server).value();
  CHECK(session->extend(builder).ok());
  std::string outcome;
  std::thread running([&] { outcome = text(session->run({}, {y.name()})); });
  a.wait_until_it_waits_for(
      "CreateSession waits for /job:b/replica:0/task:0 (UNAVAILABLE: the address of "
      "/job:b/replica:0/task:0 is not known yet)");
  LateTask b("b");
  a.learns_of(b);
  // It does not know yet where a is, and has to get a value from there.
  b.wait_until_it_waits_for("1 call waits for /job:a/replica:0/task:0, RecvTensor for ");
  b.learns_of(a);
  running.join();
  CHECK(outcome == "int32[] 42");
  CHECK(text(session->run({}, {y.name()})) == "int32[] 42");
}

TEST_CASE("a wait for an address ends in time, and says what it was for") {
  LateTask a("a");
  GraphBuilder builder(runtime()->ops());
  const Output y = over_both(builder);
  auto session =
      Session::create(*a.server, {.operation_timeout = std::chrono::milliseconds(500)}).value();
  CHECK(session->extend(builder).ok());
  const Status status = session->run({}, {y.name()}).status();
  CHECK(status.code() == Code::deadline_exceeded);
  CHECK_MESSAGE(
      status.message().find("not there: /job:b/replica:0/task:0 (UNAVAILABLE: the address of "
                            "/job:b/replica:0/task:0 is not known yet)") != std::string::npos,
      status.to_string());
}

TEST_CASE("a task that moves ends the steps it takes part in, and the next session finds it") {
  LateTask a("a");
  LateTask b("b");
  a.learns_of(b);
  b.learns_of(a);
  GraphBuilder builder(runtime()->ops());
  const Output y = over_both(builder);
  const Scope there = builder.root().device("/job:b/task:0");
  const Output queue = ops::fifo_queue(there, {DType::i32}, {.shared_name = "q"});
  const Output taken = ops::queue_dequeue(there, queue, {DType::i32})[0];
  auto session = Session::create(*a.server).value();
  CHECK(session->extend(builder).ok());
  CHECK(text(session->run({}, {y.name()})) == "int32[] 42");
  Status ended = internal("not run");
  std::thread waits([&] { ended = session->run({}, {taken.name()}).status(); });
  b.wait_until_it_waits_for(" runs since ");
  // The old one is not even gone, as when its machine was cut off.
  LateTask elsewhere("b");
  elsewhere.learns_of(a);
  a.learns_of(elsewhere);
  waits.join();
  CHECK(ended.code() == Code::unavailable);
  CHECK_MESSAGE(ended.message().find(str_cat("/job:b/replica:0/task:0 is no longer at ",
                                             b.server->address(), ": it is at ",
                                             elsewhere.server->address())) != std::string::npos,
                ended.to_string());
  // The session was with the old one; as after a restart, it has to be made anew.
  const Status lost = session->run({}, {y.name()}).status();
  CHECK_MESSAGE(lost.code() == Code::aborted, lost.to_string());
  session = Session::create(*a.server).value();
  CHECK(session->extend(builder).ok());
  CHECK(text(session->run({}, {y.name()})) == "int32[] 42");
}

TEST_CASE("nobody waits for a task that its job's manager knows to have ended, until it is back") {
  LateTask a("a");
  const auto run = [&](const char* device) {
    GraphBuilder builder(runtime()->ops());
    const Output x = constant(builder.root().device(device), 20) + 22;
    auto session = Session::create(*a.server).value();
    CHECK(session->extend(builder).ok());
    return text(session->run({}, {x.name()}));
  };
  std::string outcome;
  std::thread running([&] { outcome = run("/job:a"); });
  a.wait_until_it_waits_for("CreateSession waits for /job:b/replica:0/task:0");
  CHECK(a.members->end({"b", 0, 0}).ok());
  running.join();
  CHECK(outcome == "int32[] 42");
  LateTask b("b");
  a.learns_of(b);
  CHECK(run("/job:b") == "int32[] 42");
}

// A file that says who is absent, as a launcher keeps it.
class KeptRoster {
 public:
  void write(const AbsentTasks& absent) const {
    const std::string fresh = path() + ".new";
    std::ofstream(fresh) << to_roster(absent);
    REQUIRE(std::rename(fresh.c_str(), path().c_str()) == 0);
  }
  std::string path() const { return folder_.path("roster"); }

 private:
  const testing::ScratchDirectory folder_;
};

std::string sum_at(Server& server, const char* device) {
  GraphBuilder builder(runtime()->ops());
  const Output x = constant(builder.root().device(device), 20) + 22;
  auto session = Session::create(server).value();
  CHECK(session->extend(builder).ok());
  return text(session->run({}, {x.name()}));
}

TEST_CASE(
    "a session waits for nobody who is absent in the roster, and begins when one is taken away") {
  const KeptRoster roster;
  Fleet fleet({"a", "b", "c"}, Runtime::create({.threads = 2, .roster = roster.path()}));
  const std::string b = fleet.cluster.address({"b", 0, 0}).value();
  const std::string c = fleet.cluster.address({"c", 0, 0}).value();
  roster.write({{"b:0", b}});
  Server& a = fleet.start("a");
  std::string outcome;
  std::thread running([&] { outcome = sum_at(a, "/job:a"); });
  while (to_text(a.describe()).find("CreateSession waits for /job:c") == std::string::npos)
    std::this_thread::yield();
  roster.write({{"b:0", b}, {"c:0", c}});
  running.join();
  CHECK(outcome == "int32[] 42");
}

TEST_CASE("who is absent in the roster and answers all the same takes part") {
  const KeptRoster roster;
  Fleet fleet({"a", "b"}, Runtime::create({.threads = 2, .roster = roster.path()}));
  roster.write({{"b:0", fleet.cluster.address({"b", 0, 0}).value()}});
  Server& a = fleet.start("a");
  fleet.start("b");
  CHECK(sum_at(a, "/job:b") == "int32[] 42");
}

TEST_CASE("the roster of another cluster says nothing of this one") {
  const KeptRoster roster;
  roster.write({{"b:0", "localhost:1"}});
  Fleet fleet({"a", "b"}, Runtime::create({.threads = 2, .roster = roster.path()}));
  Server& a = fleet.start("a");
  std::string outcome;
  std::thread running([&] { outcome = sum_at(a, "/job:b"); });
  while (to_text(a.describe()).find("CreateSession waits for /job:b") == std::string::npos)
    std::this_thread::yield();
  fleet.start("b");
  running.join();
  CHECK(outcome == "int32[] 42");
}

TEST_CASE("a server with members has to know where it is itself") {
  const auto members = LateMembers::create({{"a", 1}}).value();
  const auto refused = [](ServerOptions options) {
    return Server::start(std::move(options), runtime()).status();
  };
  const Status nowhere = refused({.members = members, .job = "a"});
  CHECK(nowhere.code() == Code::unavailable);
  CHECK(nowhere.message().find("own_address") != std::string::npos);
  CHECK(refused({.members = members, .own_address = "localhost:0", .job = "b"}).code() ==
        Code::not_found);
  ServerOptions both = alone();
  both.members = members;
  CHECK(refused(std::move(both)).code() == Code::invalid_argument);
  ServerOptions neither = alone();
  neither.own_address = "localhost:0";
  CHECK(refused(std::move(neither)).code() == Code::invalid_argument);
}

}  // namespace
}  // namespace millrace
