// Servers of one process whose state a second one has, named by options and by the environment.
#include "millrace/session/witnessed.h"

#include <future>
#include <thread>

#include "millrace/base/testing/scratch_directory.h"
#include "millrace/session/testing/fleet.h"
#include "millrace/transport/all.h"

namespace millrace {
namespace {

using namespace std::chrono_literals;

// A witness, an owner, and a task that may stand by for it; a program that counts on the owner.
struct Followed {
  explicit Followed(RuntimeOptions options = {}) : runtime(Runtime::create(std::move(options))) {
    for (const char* job : {"chief", "ps", "spare"})
      REQUIRE(cluster.add_job(job, {ports[job].address()}).ok());
  }
  ServerOptions options(const std::string& job) {
    ServerOptions made;
    made.cluster = cluster;
    made.job = job;
    made.listen_fd = ports[job].hand_over();
    made.state_folder = scratch.path("state");
    made.suspect_after = 300ms;
    return made;
  }
  void start(const std::string& job, ServerOptions options) {
    auto made = Server::start(std::move(options), runtime);
    REQUIRE_MESSAGE(made.ok(), made.status().to_string());
    servers[job] = *std::move(made);
  }
  Term term() {
    const auto witness =
        runtime->transports().between_tasks().standby(ports["chief"].address(), {}).value();
    std::promise<Result<WitnessReply>> promise;
    witness->witness({.state = "/job:ps/replica:0/task:0"}, {},
                     Done<WitnessReply>(
                         [&](Result<WitnessReply> reply) { promise.set_value(std::move(reply)); }));
    const Result<WitnessReply> reply = promise.get_future().get();
    return reply.ok() && !reply->states.empty() ? reply->states[0].term : Term();
  }
  void wait_until_paired() {
    while (term().standby == 0) std::this_thread::sleep_for(10ms);
  }
  // Through the chief's master, by whatever session can be had.
  std::string run(const Output& fetch) {
    while (true) {
      auto session = Session::create(*servers["chief"]);
      const bool is_there = session.ok() && (*session)->extend(builder).ok();
      if (!is_there) continue;
      const auto result = (*session)->run({}, {fetch.name()});
      if (result.ok()) return testing::text(result);
    }
  }

  const testing::ScratchDirectory scratch;
  const std::shared_ptr<Runtime> runtime;
  std::map<std::string, testing::Port> ports;
  ClusterSpec cluster;
  GraphBuilder builder{testing::runtime()->ops()};
  const Scope ps = builder.root().device("/job:ps/task:0");
  const Output total = ops::variable_v2(ps.with_name("total"), PartialShape::scalar(), DType::i32);
  const Output init = ops::assign(ps, total, 41);
  std::map<std::string, std::unique_ptr<Server>> servers;
};

void check_that_the_spare_follows(Followed& tasks) {
  CHECK(tasks.servers["ps"]->task() == TaskName{"ps", 0, 0});
  CHECK(tasks.servers["spare"]->task() == TaskName{"ps", 0, 0});
  CHECK(tasks.run(tasks.init) == "int32[] 41");
  tasks.wait_until_paired();
  tasks.servers["ps"].reset();
  CHECK(tasks.run(tasks.total) == "int32[] 41");
  CHECK(tasks.servers["spare"]->failure().ok());
  CHECK(tasks.servers["spare"]->stop().ok());
  CHECK(tasks.servers["spare"]->join());
}

TEST_CASE("a server that is told for whom it stands by takes over what was acknowledged") {
  Followed tasks;
  ClusterSpec cluster;
  for (const char* job : {"chief", "ps"})
    REQUIRE(cluster.add_job(job, {tasks.ports[job].address()}).ok());
  for (const char* job : {"chief", "ps", "spare"}) {
    ServerOptions options = tasks.options(job);
    options.cluster = cluster;
    options.witness = "/job:chief/task:0";
    if (std::string_view(job) == "spare") {
      // Nobody else knows of it.
      options.job = "ps";
      REQUIRE(options.cluster.move_task({"ps", 0, 0}, tasks.ports[job].address()).ok());
      options.stands_by_for = "/job:ps/task:0";
      options.state_folder = tasks.scratch.path("second");
    }
    tasks.start(job, std::move(options));
  }
  check_that_the_spare_follows(tasks);
}

TEST_CASE("servers that the environment tells of a witness need no words of their own") {
  Followed tasks({.witness = "/job:chief/task:0", .standbys = "spare=ps"});
  for (const char* job : {"chief", "ps", "spare"}) tasks.start(job, tasks.options(job));
  check_that_the_spare_follows(tasks);
}

TEST_CASE(
    "a session of this process is served by an owner, and one that stands by tells its name") {
  Followed tasks({.witness = "/job:chief/task:0", .standbys = "spare=ps"});
  for (const char* job : {"chief", "ps", "spare"}) tasks.start(job, tasks.options(job));
  CHECK(tasks.run(tasks.init) == "int32[] 41");
  const auto session = Session::create(*tasks.servers["ps"]).value();
  REQUIRE(session->extend(tasks.builder).ok());
  CHECK(testing::text(session->run({}, {tasks.total.name()})) == "int32[] 41");
  CHECK(tasks.servers["spare"]->describe().task == "/job:ps/replica:0/task:0");
}

TEST_CASE("what is said wrongly of a witness is refused before anything is bound") {
  Followed tasks({.witness = "", .standbys = ""});
  const auto refused = [&](ServerOptions options) {
    return Server::start(std::move(options), tasks.runtime).status();
  };
  ServerOptions options = tasks.options("ps");
  options.stands_by_for = "/job:ps/task:0";
  CHECK(refused(options).message().find("needs a witness") != std::string::npos);
  options = tasks.options("ps");
  options.witness = "chief";
  CHECK(refused(options).message().find("'chief' names no task") != std::string::npos);
  options = tasks.options("ps");
  options.witness = "/job:chief/task:7";
  CHECK(refused(options).code() == Code::not_found);
  options = tasks.options("chief");
  options.witness = "/job:chief/task:0";
  options.state_folder.clear();
  CHECK(refused(options).message().find("the witness needs a folder") != std::string::npos);
  options = tasks.options("spare");
  options.witness = options.stands_by_for = "/job:chief/task:0";
  CHECK(refused(options).message().find("which is the witness") != std::string::npos);
}

TEST_CASE("a task that is told for whom it stands by does, whatever is said of others") {
  Followed tasks({.witness = "/job:chief/task:0", .standbys = "reserve=files"});
  const auto taken = [&](const std::string& job, const std::string& stands_by_for) {
    ServerOptions options;
    options.cluster = tasks.cluster;
    options.job = job;
    options.state_folder = tasks.scratch.path("state");
    options.stands_by_for = stands_by_for;
    return take_witness(options, tasks.runtime).value();
  };
  const Witnessed spare = taken("spare", "/job:ps/task:0");
  CHECK(spare.is_side);
  CHECK_FALSE(spare.is_first);
  CHECK_FALSE(taken("ps", "").is_side);
}

}  // namespace
}  // namespace millrace
