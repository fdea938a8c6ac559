// Sessions that count once over tasks that keep their state: they go on when such a task was lost.
#include <filesystem>
#include <thread>

#include "millrace/base/testing/scratch_directory.h"
#include "millrace/session/testing/fleet.h"

namespace millrace {
namespace {

// A queue of numbers and their total on the task "files", and a program that works from "map".
struct Counting {
  Counting()
      : fleet({"files", "map"}, Runtime::create({.threads = 4,
                                                 .once = OnceTerms{std::chrono::hours(1)},
                                                 .state_folder = scratch.path("state")})) {
    fleet.start("files");
    session = Session::create(fleet.start("map")).value();
    REQUIRE(session->extend(builder).ok());
    CHECK(run(init) == "int32[] 0");
    for (const int each : {5, 6, 7}) CHECK(run_op(put.name(), each).ok());
  }
  void lose_files() { fleet.servers.erase("files"); }
  std::string run(const Output& fetch, int fed = 0) {
    return testing::text(session->run({{number.name(), Tensor::scalar(fed)}}, {fetch.name()}));
  }
  Status run_op(const std::string& name, int fed = 0) {
    return session->run({{number.name(), Tensor::scalar(fed)}}, {}, {.targets = {name}}).status();
  }

  const testing::ScratchDirectory scratch;
  testing::Fleet fleet;
  GraphBuilder builder{testing::runtime()->ops()};
  const Scope root = builder.root();
  const Scope files = root.device("/job:files/task:0");
  const Output number = ops::placeholder(root, DType::i32);
  const Output queue = ops::fifo_queue_v2(files, {DType::i32}, {.shared_name = "numbers"});
  const Operation put = ops::queue_enqueue_v2(files, queue, {number});
  const Output take = ops::queue_dequeue_v2(files, queue, {DType::i32}).front();
  const Output total =
      ops::variable_v2(files.with_name("total"), PartialShape::scalar(), DType::i32);
  const Output init = ops::assign(files, total, 0);
  const Output add = ops::assign_add(files, total, number, {.use_locking = true});
  std::unique_ptr<Session> session;
};

TEST_CASE("steps under a lease and reads go on in the next life of the task") {
  Counting program;
  CHECK(program.run(program.take) == "int32[] 5");
  CHECK(program.run(program.add, 5) == "int32[] 5");
  program.lose_files();
  program.fleet.start("files");
  // The answer might have been lost: it is known to have been made.
  CHECK(program.run(program.total) == "int32[] 5");
  CHECK(program.run(program.take) == "int32[] 6");
  program.lose_files();
  program.fleet.start("files");
  CHECK(program.run(program.add, 6) == "int32[] 11");
  CHECK(program.run(program.take) == "int32[] 7");
  CHECK(program.run(program.add, 7) == "int32[] 18");
}

TEST_CASE("a step waits for a task that is away") {
  Counting program;
  CHECK(program.run(program.take) == "int32[] 5");
  program.lose_files();
  std::string added;
  std::thread worker([&] { added = program.run(program.add, 5); });
  program.fleet.start("files");
  worker.join();
  CHECK(added == "int32[] 5");
}

TEST_CASE("callables, extensions and lists of devices outlast a task as well") {
  Counting program;
  Session& session = *program.session;
  CHECK(program.run(program.take) == "int32[] 5");
  const auto add = session.make_callable({program.number.name()}, {program.add.name()}).value();
  const auto read = session.make_callable({}, {program.total.name()}).value();
  CHECK(testing::text(add({Tensor::scalar(5)})) == "int32[] 5");
  program.lose_files();
  program.fleet.start("files");
  CHECK(testing::text(read()) == "int32[] 5");
  const Output twice = ops::add(program.root, program.total, program.total);
  REQUIRE(session.extend(program.builder).ok());
  CHECK(program.run(twice) == "int32[] 10");
  CHECK(testing::text(add({Tensor::scalar(5)})) == "int32[] 10");
  CHECK(session.list_devices().value().size() == 2);
}

TEST_CASE("an update without a lease fails when its task is lost, and the one after it goes on") {
  Counting program;
  program.lose_files();
  program.fleet.start("files");
  CHECK_FALSE(program.run_op(program.put.name(), 8).ok());
  CHECK(program.run_op(program.put.name(), 9).ok());
  CHECK(program.run(program.take) == "int32[] 5");
}

TEST_CASE("a session is lost with a task whose state is gone, and the error says so") {
  Counting program;
  CHECK(program.run(program.take) == "int32[] 5");
  program.lose_files();
  std::filesystem::remove_all(program.scratch.path("state/files-0"));
  program.fleet.start("files");
  CHECK(program.run(program.add, 5).find("has started again without the state that it had") !=
        std::string::npos);
}

}  // namespace
}  // namespace millrace
