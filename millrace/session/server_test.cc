// Several servers in one process, talking over real sockets.
#include "millrace/session/server.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <thread>

#include "millrace/base/testing/footprint.h"
#include "millrace/session/ask_task.h"
#include "millrace/session/testing/fleet.h"

namespace millrace {
namespace {

using namespace testing;

// Asks until the answer has these words no more, for a minute at most.
template <class Ask>
void ask_while(std::string_view words, Ask ask) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  for (std::string answer = ask(); answer.find(words) != std::string::npos; answer = ask()) {
    if (std::chrono::steady_clock::now() > end) {
      FAIL_CHECK("asked for a minute, it still says '", words, "': ", answer);
      return;
    }
    std::this_thread::yield();
  }
}

TEST_CASE("a server on port 0 announces the port it got, and answers there") {
  auto server = Server::start(alone(), runtime());
  REQUIRE(server.ok());
  CHECK((*server)->target() == str_cat("grpc://", (*server)->address()));
  CHECK((*server)->cluster().address({"solo", 0, 0}).value() == (*server)->address());
  CHECK(!(*server)->address().ends_with(":0"));

  GraphBuilder builder(runtime()->ops());
  const Output y = constant(builder.root(), 20) + 22;
  auto session = Session::create((*server)->target(), {}, runtime()).value();
  CHECK(session->extend(builder).ok());
  CHECK(text(session->run({}, {y.name()})) == "int32[] 42");
  // The same from within the process, by pointer.
  auto inside = Session::create(**server).value();
  CHECK(inside->extend(builder).ok());
  CHECK(text(inside->run({}, {y.name()})) == "int32[] 42");
}

TEST_CASE("a callable that is the last to need its Runtime ends it") {
  auto server = Server::start(alone(), runtime());
  REQUIRE(server.ok());
  GraphBuilder builder(runtime()->ops());
  const Output y = constant(builder.root(), 20) + 22;
  // Without a Runtime it makes its own.
  auto made = Session::create((*server)->target());
  REQUIRE(made.ok());
  CHECK((*made)->extend(builder).ok());
  auto callable = (*made)->make_callable({}, {y.name()});
  REQUIRE(callable.ok());
  CHECK(text((*callable)({})) == "int32[] 42");
  made = invalid("gone");
  callable = invalid("gone, too");
}

TEST_CASE("nobody waits for a task that has ended well, until it is there again") {
  Fleet fleet({"a", "b"});
  Server& a = fleet.start("a");
  const auto named = [&](const char* device) {
    GraphBuilder builder(runtime()->ops());
    const Output x = constant(builder.root().device(device), 20) + 22;
    auto session = Session::create(a).value();
    if (Status status = session->extend(builder); !status.ok()) return status.to_string();
    return text(session->run({}, {x.name()}, {.timeout = std::chrono::seconds(20)}));
  };
  fleet.start("b").end({});
  CHECK(named("/job:a") == "int32[] 42");
  fleet.servers.erase("b");
  CHECK(named("/job:a") == "int32[] 42");
  CHECK(named("/job:b/task:0").find("/job:b/replica:0/task:0 had ended") != std::string::npos);
  fleet.start("b");
  // Found by the next session, although the connection to its address has just failed.
  CHECK(named("/job:b/task:0") == "int32[] 42");
  // A task that failed may come back: its farewell is none.
  fleet.servers["b"]->end(internal("lost"));
  CHECK(named("/job:b/task:0") == "int32[] 42");
}

TEST_CASE("a task that runs can be asked over its port what it waits for") {
  Fleet fleet({"a", "b"});
  Server& a = fleet.start("a");
  const auto ask = [&] {
    auto told = ask_task(a.target(), runtime(), std::chrono::seconds(20));
    return told.ok() ? to_text(*told) : told.status().to_string();
  };
  CHECK(ask() == "a:0: waits for nothing");
  auto session = Session::create(a).value();
  GraphBuilder builder(runtime()->ops());
  const Output x = constant(builder.root(), 20) + 22;
  CHECK(session->extend(builder).ok());
  std::thread running([&] { CHECK(text(session->run({}, {x.name()})) == "int32[] 42"); });
  ask_while("waits for nothing", ask);
  CHECK(ask().starts_with("a:0\n  CreateSession waits for /job:b/replica:0/task:0 at localhost:"));
  fleet.start("b").end({});
  running.join();
  CHECK(ask() == "a:0: waits for nothing\n  knows that b:0 has ended");
  const Status other = ask_task("a:1", runtime(), std::chrono::seconds(1)).status();
  CHECK(other.code() == Code::invalid_argument);
}

TEST_CASE("a task that is not in the cluster is told what is") {
  ServerOptions options = alone();
  options.job = "worker";
  const Status status = Server::start(std::move(options), runtime()).status();
  CHECK(status.code() == Code::not_found);
  CHECK(status.message().find("solo") != std::string::npos);
}

TEST_CASE("a port in use is an error that names it") {
  auto first = Server::start(alone(), runtime()).value();
  ServerOptions options;
  CHECK(options.cluster.add_job("solo", {first->address()}).ok());
  options.job = "solo";
  const Status status = Server::start(std::move(options), runtime()).status();
  CHECK(status.code() == Code::already_exists);
  CHECK(status.message().find(first->address().substr(first->address().rfind(':') + 1)) !=
        std::string::npos);
}

TEST_CASE("a socket that is handed over must be of the port that the cluster says") {
  Port port, other;
  ServerOptions options;
  CHECK(options.cluster.add_job("solo", {port.address()}).ok());
  options.job = "solo";
  options.listen_fd = other.hand_over();
  const Status status = Server::start(std::move(options), runtime()).status();
  CHECK(status.code() == Code::invalid_argument);
  CHECK(status.message().find(str_cat(other.number())) != std::string::npos);
}

TEST_CASE("a session's nodes run where they are put, and tasks may start in any order") {
  Fleet fleet({"files", "map", "reduce"});
  Server& map = fleet.start("map");
  GraphBuilder builder(runtime()->ops());
  const Scope root = builder.root();
  const Scope reduce = root.device("/job:reduce/task:0");
  const Output total =
      ops::variable_v2(reduce.with_name("total"), PartialShape::scalar(), DType::i32);
  const Output init = ops::assign(reduce, total, 0);
  const Output count = ops::placeholder(root, DType::i32);
  const Output add = ops::assign_add(reduce, total, count, {.use_locking = true});
  const Output queue = ops::fifo_queue(root.device("/job:files/task:0"), {DType::string},
                                       {.capacity = 10, .shared_name = "names"});
  const Output name = ops::placeholder(root, DType::string);
  const Operation put = ops::queue_enqueue(root, queue, {name});
  const Output take = ops::queue_dequeue(root, queue, {DType::string})[0];

  auto session = Session::create(map.target(), {}, runtime()).value();
  CHECK(session->extend(builder).ok());
  Result<std::vector<Tensor>> first = internal("not run");
  std::thread early([&] { first = session->run({}, {init.name()}); });
  fleet.start("reduce");
  fleet.start("files");
  early.join();
  CHECK(text(first) == "int32[] 0");
  CHECK(text(session->run({{count.name(), Tensor::scalar(5)}}, {add.name()})) == "int32[] 5");
  CHECK(session
            ->run({{name.name(), Tensor::scalar(std::string("x.txt"))}}, {},
                  {.targets = {put.name()}})
            .ok());

  // Another client, at another master, sees the same variable and queue.
  GraphBuilder other(runtime()->ops());
  const Scope there = other.root();
  const Output shared = ops::variable_v2(there.device("/job:reduce/task:0").with_name("total"),
                                         PartialShape::scalar(), DType::i32);
  const Output same_queue = ops::fifo_queue(there.device("/job:files/task:0"), {DType::string},
                                            {.capacity = 10, .shared_name = "names"});
  const Output taken = ops::queue_dequeue(there, same_queue, {DType::string})[0];
  auto second = Session::create(fleet.servers["files"]->target(), {}, runtime()).value();
  CHECK(second->extend(other).ok());
  CHECK(text(second->run({}, {shared.name(), taken.name()})) == "int32[] 5 | string[] \"x.txt\"");
  CHECK(take.has_value());

  auto devices = session->list_devices();
  REQUIRE(devices.ok());
  CHECK(devices->size() == 3);
}

TEST_CASE("device filters keep a session from waiting for tasks that it does not need") {
  Fleet fleet({"a", "b"});
  Server& a = fleet.start("a");  // b never comes
  GraphBuilder builder(runtime()->ops());
  const Output x = constant(builder.root(), 1);
  auto session = Session::create(a.target(), {.device_filters = {"/job:a"}}, runtime()).value();
  CHECK(session->extend(builder).ok());
  CHECK(text(session->run({}, {x.name()})) == "int32[] 1");

  auto waits =
      Session::create(a.target(), {.operation_timeout = std::chrono::milliseconds(50)}, runtime())
          .value();
  CHECK(waits->extend(builder).ok());
  CHECK(waits->run({}, {x.name()}).status().code() == Code::deadline_exceeded);
}

TEST_CASE(
    "a task that dies mid-step ends the step with its name; the next session finds the new one") {
  Fleet fleet({"a", "b"});
  Server& a = fleet.start("a");
  fleet.start("b");
  GraphBuilder builder(runtime()->ops());
  const Scope there = builder.root().device("/job:b/task:0");
  const Output queue = ops::fifo_queue(there, {DType::i32}, {.shared_name = "q"});
  const Output taken = ops::queue_dequeue(there, queue, {DType::i32})[0];
  const Output here = ops::identity(builder.root().device("/job:a/task:0"), taken);
  const Output plain =
      ops::identity(builder.root().device("/job:a/task:0"), ops::queue_size(there, queue));
  auto session = Session::create(a.target(), {}, runtime()).value();
  CHECK(session->extend(builder).ok());
  CHECK(text(session->run({}, {plain.name()})) == "int32[] 0");

  Result<std::vector<Tensor>> ended = internal("not run");
  std::thread waits([&] { ended = session->run({}, {here.name()}); });
  fleet.servers.erase("b");
  waits.join();
  CHECK(!ended.ok());
  CHECK(ended.status().message().find("/job:b/replica:0/task:0") != std::string::npos);

  fleet.start("b");
  const Status restarted = session->run({}, {plain.name()}).status();
  CHECK((restarted.code() == Code::aborted || restarted.code() == Code::unavailable));
  CHECK(restarted.message().find("/job:b/replica:0/task:0") != std::string::npos);
  auto renewed = Session::create(a.target(), {}, runtime()).value();
  CHECK(renewed->extend(builder).ok());
  CHECK(text(renewed->run({}, {plain.name()})) == "int32[] 0");
}

TEST_CASE("a task that is stopped in the middle of a step ends it with its own word for why") {
  Fleet fleet({"a", "b"});
  Server& a = fleet.start("a");
  Server& b = fleet.start("b");
  GraphBuilder builder(runtime()->ops());
  const Scope there = builder.root().device("/job:b/task:0");
  const Scope here = builder.root().device("/job:a/task:0");
  const Output queue = ops::fifo_queue(there, {DType::i32}, {.shared_name = "q"});
  const Output began = ops::fifo_queue(there, {DType::i32}, {.shared_name = "began"});
  const Operation says = ops::queue_enqueue(there, began, {constant(builder.root(), 1)});
  const Output taken = ops::queue_dequeue(there.after({says}), queue, {DType::i32})[0];
  const Output passed_on = ops::identity(here, taken);
  const Output has_begun = ops::queue_dequeue(there, began, {DType::i32})[0];
  auto session = Session::create(a.target(), {}, runtime()).value();
  CHECK(session->extend(builder).ok());
  Status ended = internal("not run");
  std::thread waits([&] { ended = session->run({}, {passed_on.name()}).status(); });
  CHECK(session->run({}, {has_begun.name()}).ok());
  CHECK(b.stop(unavailable("/job:b/replica:0/task:0 was stopped by SIGTERM (signal 15)")).ok());
  waits.join();
  CHECK(ended.code() == Code::unavailable);
  CHECK_MESSAGE(
      ended.message().starts_with("From /job:b/replica:0/task:0:\n/job:b/replica:0/task:0 "
                                  "was stopped by SIGTERM (signal 15)"),
      ended.to_string());
  CHECK_MESSAGE(ended.message().find("_S") == std::string_view::npos, ended.to_string());
}

TEST_CASE("the wrong task at an address is named instead of being used") {
  Fleet fleet({"a", "b"});
  Server& a = fleet.start("a");
  // At b's address somebody answers who is called c.
  ServerOptions options;
  CHECK(options.cluster.add_job("c", {fleet.ports["b"]->address()}).ok());
  options.job = "c";
  options.listen_fd = fleet.ports["b"]->hand_over();
  auto wrong = Server::start(std::move(options), runtime()).value();
  GraphBuilder builder(runtime()->ops());
  const Output x = constant(builder.root(), 1);
  auto session = Session::create(a.target(), {}, runtime()).value();
  CHECK(session->extend(builder).ok());
  const Status status = session->run({}, {x.name()}).status();
  CHECK(status.code() == Code::failed_precondition);
  CHECK(status.message().find(
            str_cat("expected /job:b/replica:0/task:0 at ", fleet.ports["b"]->address(),
                    ", but /job:c/replica:0/task:0 answers there")) != std::string::npos);
}

TEST_CASE("stopping a server ends what waits on it, with the reason, and wakes who joined") {
  auto server = Server::start(alone(), runtime()).value();
  GraphBuilder builder(runtime()->ops());
  const Output queue = ops::fifo_queue(builder.root(), {DType::i32});
  const Output began = ops::fifo_queue(builder.root(), {DType::i32}, {.shared_name = "began"});
  const Operation says = ops::queue_enqueue(builder.root(), began, {constant(builder.root(), 1)});
  const Output taken = ops::queue_dequeue(builder.root().after({says}), queue, {DType::i32})[0];
  const Output has_begun = ops::queue_dequeue(builder.root(), began, {DType::i32})[0];
  auto session = Session::create(server->target(), {}, runtime()).value();
  auto inside = Session::create(*server).value();
  CHECK(session->extend(builder).ok());
  CHECK(inside->extend(builder).ok());
  Result<std::vector<Tensor>> one = internal("not run"), two = internal("not run");
  std::thread waits_outside([&] { one = session->run({}, {taken.name()}); });
  std::thread waits_inside([&] { two = inside->run({}, {taken.name()}); });
  std::thread joins([&] { CHECK(server->join()); });
  CHECK(!server->join(Clock::real().now()));
  for (int step = 0; step < 2; ++step) CHECK(inside->run({}, {has_begun.name()}).ok());
  CHECK(server->stop(unavailable("maintenance")).ok());
  CHECK(server->stop().ok());
  waits_outside.join();
  waits_inside.join();
  joins.join();
  CHECK(one.status().message().find("maintenance") != std::string::npos);
  CHECK(text(two) == "UNAVAILABLE: maintenance");
  // What comes now is not waited for: the session is gone with the server.
  const Status late = session->run({}, {taken.name()}).status();
  CHECK(late.code() == Code::unavailable);
  CHECK(late.message().find("the master at localhost:") != std::string::npos);
}

TEST_CASE("resetting drops variables and sessions of the whole cluster") {
  Fleet fleet({"a", "b"});
  Server& a = fleet.start("a");
  fleet.start("b");
  GraphBuilder builder(runtime()->ops());
  const Scope there = builder.root().device("/job:b/task:0");
  const Output v = ops::variable_v2(there.with_name("v"), PartialShape::scalar(), DType::i32);
  const Output init = ops::assign(there, v, 4);
  auto session = Session::create(a.target(), {}, runtime()).value();
  CHECK(session->extend(builder).ok());
  CHECK(text(session->run({}, {init.name()})) == "int32[] 4");
  CHECK(Session::reset(a.target()).ok());
  CHECK(session->run({}, {v.name()}).status().code() == Code::aborted);
  auto next = Session::create(a.target(), {}, runtime()).value();
  CHECK(next->extend(builder).ok());
  CHECK(text(next->run({}, {v.name()})).find("uninitialized") != std::string::npos);
}

TEST_CASE("a thousand servers start, serve and stop without leaving anything behind") {
  GraphBuilder builder(runtime()->ops());
  const Output x = constant(builder.root(), 1);
  const auto cycle = [&] {
    auto server = Server::start(alone(), runtime()).value();
    auto session = Session::create(server->target(), {}, runtime()).value();
    CHECK(session->extend(builder).ok());
    CHECK(session->run({}, {x.name()}).ok());
    CHECK(session->close().ok());
    CHECK(server->stop().ok());
  };
  for (int i = 0; i < 50; ++i) cycle();
  const Footprint before = Footprint::now();
  for (int i = 0; i < 1000; ++i) cycle();
  const Footprint after = Footprint::now();
  CHECK(after.descriptors <= before.descriptors + 4);
  // gRPC may still start one or the other of its own threads, of which there is a fixed number.
  CHECK(after.threads <= before.threads + 8);
}

}  // namespace
}  // namespace millrace
