// A task whose state is kept on its disk, seen by sessions over several lives of it.
#include <atomic>
#include <fstream>
#include <thread>

#include "millrace/api/durable.h"
#include "millrace/base/testing/scratch_directory.h"
#include "millrace/base/testing/test_host.h"
#include "millrace/session/testing/fleet.h"

namespace millrace {
namespace {

// A server with a folder, and a program that counts and queues on it.
struct KeptTask {
  explicit KeptTask(std::string folder) : folder(std::move(folder)) {}

  Status start() {
    ServerOptions options = testing::alone();
    options.state_folder = folder;
    MR_ASSIGN(server, Server::start(std::move(options), testing::runtime()));
    MR_ASSIGN(session, Session::create(*server));
    return session->extend(builder);
  }
  void stop() {
    session.reset();
    server.reset();
  }
  std::string run(const std::string& name) { return testing::text(session->run({}, {name})); }
  Status run_op(const std::string& name) {
    return session->run({}, {}, {.targets = {name}}).status();
  }

  const std::string folder;
  GraphBuilder builder{testing::runtime()->ops()};
  const Scope root = builder.root();
  const Output total =
      ops::variable_v2(root.with_name("total"), PartialShape::scalar(), DType::i32);
  const Output init = ops::assign(root, total, 0);
  const Output add = ops::assign_add(root, total, 1, {.use_locking = true});
  const Output queue = ops::fifo_queue(root, {DType::i32}, {.shared_name = "numbers"});
  const Operation put = ops::queue_enqueue(root, queue, {total});
  const Output take = ops::queue_dequeue(root, queue, {DType::i32})[0];
  const Output size = ops::queue_size(root, queue);
  std::unique_ptr<Server> server;
  std::unique_ptr<Session> session;
};

TEST_CASE("a server that is started again goes on with its variables and named queues") {
  const testing::ScratchDirectory scratch;
  KeptTask task(scratch.path("state"));
  REQUIRE(task.start().ok());
  CHECK(task.run(task.init.name()) == "int32[] 0");
  for (int i = 0; i < 3; ++i) {
    CHECK(task.run(task.add.name()) == str_cat("int32[] ", i + 1));
    CHECK(task.run_op(task.put.name()).ok());
  }
  CHECK(task.run(task.take.name()) == "int32[] 1");
  task.stop();
  REQUIRE(task.start().ok());
  CHECK(task.run(task.total.name()) == "int32[] 3");
  CHECK(task.run(task.size.name()) == "int32[] 2");
  CHECK(task.run(task.take.name()) == "int32[] 2");
  CHECK(task.run(task.take.name()) == "int32[] 3");
}

// A server that counts once and keeps its state where the runtime says, as by the environment.
struct OnceTask {
  explicit OnceTask(const std::string& folder)
      : runtime(Runtime::create(
            {.threads = 2, .once = OnceTerms{std::chrono::hours(1)}, .state_folder = folder})) {}

  void start() {
    server = Server::start(testing::alone(), runtime).value();
    session = Session::create(*server).value();
    REQUIRE(session->extend(builder).ok());
  }
  void stop() {
    session.reset();
    server.reset();
  }
  std::string run(const Output& fetch, int fed = 0) {
    return testing::text(session->run({{number.name(), Tensor::scalar(fed)}}, {fetch.name()}));
  }
  Status run_op(const std::string& name, int fed = 0) {
    return session->run({{number.name(), Tensor::scalar(fed)}}, {}, {.targets = {name}}).status();
  }

  const std::shared_ptr<Runtime> runtime;
  GraphBuilder builder{testing::runtime()->ops()};
  const Scope root = builder.root();
  const Output number = ops::placeholder(root, DType::i32);
  const Output queue = ops::fifo_queue_v2(root, {DType::i32}, {.shared_name = "numbers"});
  const Operation put = ops::queue_enqueue_v2(root, queue, {number});
  const Operation close = ops::queue_close_v2(root, queue);
  const Output take = ops::queue_dequeue_v2(root, queue, {DType::i32}).front();
  const Output results = ops::fifo_queue_v2(root, {DType::i32}, {.shared_name = "results"});
  const Operation put_result = ops::queue_enqueue_v2(root, results, {number});
  const Output num_results = ops::queue_size_v2(root, results);
  const Output total =
      ops::variable_v2(root.with_name("total"), PartialShape::scalar(), DType::i32);
  const Output init = ops::assign(root, total, 0);
  const Output add = ops::assign_add(root, total, number, {.use_locking = true});
  std::unique_ptr<Server> server;
  std::unique_ptr<Session> session;
};

TEST_CASE("what a session has not acknowledged is taken again in the next life, and counts once") {
  const testing::ScratchDirectory scratch;
  OnceTask task(scratch.path("state"));
  task.start();
  CHECK(task.run(task.init) == "int32[] 0");
  for (const int each : {5, 6}) CHECK(task.run_op(task.put.name(), each).ok());
  CHECK(task.run_op(task.close.name()).ok());
  CHECK(task.run(task.take) == "int32[] 5");
  CHECK(task.run(task.add, 5) == "int32[] 5");
  CHECK(task.run_op(task.put_result.name(), 5).ok());
  task.stop();
  task.start();
  CHECK(task.run(task.take) == "int32[] 5");
  CHECK(task.run(task.add, 5) == "int32[] 5");
  CHECK(task.run_op(task.put_result.name(), 5).ok());
  CHECK(task.run(task.num_results) == "int32[] 1");
  CHECK(task.run(task.take) == "int32[] 6");
  CHECK(task.run(task.add, 6) == "int32[] 11");
  task.stop();
  task.start();
  CHECK(task.run(task.take) == "int32[] 6");
  CHECK(task.run(task.add, 6) == "int32[] 11");
  CHECK(task.run(task.take).find("closed and has insufficient elements") != std::string::npos);
  CHECK(task.run(task.total) == "int32[] 11");
  CHECK(task.run(task.num_results) == "int32[] 1");
}

TEST_CASE("sessions that add at one time are kept, each once") {
  const testing::ScratchDirectory scratch;
  KeptTask task(scratch.path("state"));
  REQUIRE(task.start().ok());
  CHECK(task.run(task.init.name()) == "int32[] 0");
  constexpr int kThreads = 6, kSteps = 50;
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kSteps; ++i)
        failures +=
            !task.session->run({}, {task.add.name()}).ok() || !task.run_op(task.put.name()).ok();
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == 0);
  task.stop();
  REQUIRE(task.start().ok());
  CHECK(task.run(task.total.name()) == "int32[] 300");
  CHECK(task.run(task.size.name()) == "int32[] 300");
}

TEST_CASE("what a reset drops is gone in the next life, too") {
  const testing::ScratchDirectory scratch;
  KeptTask task(scratch.path("state"));
  REQUIRE(task.start().ok());
  CHECK(task.run(task.init.name()) == "int32[] 0");
  CHECK(task.run_op(task.put.name()).ok());
  REQUIRE(Session::reset(task.server->target()).ok());
  task.stop();
  REQUIRE(task.start().ok());
  CHECK(task.run(task.total.name()).find("uninitialized") != std::string::npos);
  CHECK(task.run(task.size.name()) == "int32[] 0");
}

TEST_CASE("a server that keeps what asks has that in its next life, and nothing else") {
  const testing::ScratchDirectory scratch;
  GraphBuilder builder(testing::runtime()->ops());
  const Scope root = builder.root();
  const auto variable = [&](const char* name) {
    return ops::variable_v2(root.with_name(name), PartialShape::scalar(), DType::i32);
  };
  const Output kept = durable(variable("kept")), plain = variable("plain");
  const Output set_kept = ops::assign(root, kept, 7), set_plain = ops::assign(root, plain, 7);
  const Output names = durable(ops::fifo_queue_v2(root.with_name("names"), {DType::i32}));
  const Operation put = ops::queue_enqueue_v2(root, names, {constant(root, 3)});
  const Output size = ops::queue_size_v2(root, names);
  std::unique_ptr<Server> server;
  std::unique_ptr<Session> session;
  const auto begin = [&](std::string folder) {
    session.reset();
    server.reset();
    ServerOptions options = testing::alone();
    options.state_folder = std::move(folder);
    options.state_keeps = Keep::asked;
    server = Server::start(std::move(options), testing::runtime()).value();
    session = Session::create(*server).value();
    REQUIRE(session->extend(builder).ok());
  };
  const auto run = [&](const Output& fetch) {
    return testing::text(session->run({}, {fetch.name()}));
  };
  begin(scratch.path("state"));
  CHECK(run(set_kept) == "int32[] 7");
  CHECK(run(set_plain) == "int32[] 7");
  CHECK(session->run({}, {}, {.targets = {put.name()}}).ok());
  begin(scratch.path("state"));
  CHECK(run(kept) == "int32[] 7");
  CHECK(run(plain).find("uninitialized") != std::string::npos);
  CHECK(run(size) == "int32[] 1");
  begin("");
  const std::string refused = run(set_kept);
  CHECK(refused.find("'kept' is to be kept (durable=True), and its task keeps nothing") !=
        std::string::npos);
  CHECK(run(set_plain) == "int32[] 7");
}

TEST_CASE("the environment says what is kept, and a word that says nothing keeps all") {
  testing::KeptLines lines;
  const Log log(lines);
  CHECK(state_keeps(nullptr, log) == Keep::all);
  CHECK(state_keeps("", log) == Keep::all);
  CHECK(state_keeps("all", log) == Keep::all);
  CHECK(state_keeps("asked", log) == Keep::asked);
  CHECK(lines.lines().empty());
  CHECK(state_keeps("none", log) == Keep::all);
  CHECK(lines.lines().size() == 1);
}

TEST_CASE("a folder that another server has, and one that is damaged, are refused by name") {
  const testing::ScratchDirectory scratch;
  KeptTask task(scratch.path("state"));
  REQUIRE(task.start().ok());
  KeptTask second(scratch.path("state"));
  CHECK(second.start().message().find("another process has it locked") != std::string::npos);
  task.stop();
  const std::string journal = scratch.path("state/solo-0/journal-0000000000000001");
  std::fstream(journal, std::ios::in | std::ios::out).seekp(10).put('x');
  const Status refused = task.start();
  CHECK(refused.code() == Code::data_loss);
  CHECK(refused.message().find(journal) != std::string::npos);
}

}  // namespace
}  // namespace millrace
