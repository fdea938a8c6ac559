// Sessions that count once, on a real task: what one took and did not acknowledge is the next
// one's, and what both did for it is done once.
#include <doctest/doctest.h>

#include "millrace/api/input.h"
#include "millrace/api/ops.h"
#include "millrace/base/testing/test_host.h"
#include "millrace/session/server.h"
#include "millrace/session/session.h"

namespace millrace {
namespace {

std::shared_ptr<Runtime> once_runtime() {
  static const std::shared_ptr<Runtime> kRuntime =
      Runtime::create({.threads = 2, .once = OnceTerms{std::chrono::hours(1)}});
  return kRuntime;
}

// The word count's graph: a shared queue, a total, a session.
struct Counter {
  explicit Counter(Server& server) : session(Session::create(server).value()) {
    REQUIRE(session->extend(builder).ok());
  }
  // The value, or the error's first word.
  std::string run(const Output& fetch, int fed = 0) {
    auto values = session->run({{number.name(), Tensor::scalar(fed)}}, {fetch.name()});
    return values.ok() ? values->front().to_string() : code_name(values.status().code());
  }
  void fill(std::initializer_list<int> elements) {
    REQUIRE(session->run({}, {}, {.targets = {zero.op().name()}}).ok());
    for (const int each : elements) {
      REQUIRE(session->run({{number.name(), Tensor::scalar(each)}}, {}, {.targets = {put.name()}})
                  .ok());
    }
    REQUIRE(session->run({}, {}, {.targets = {close.name()}}).ok());
  }

  GraphBuilder builder{once_runtime()->ops()};
  Scope root = builder.root();
  Output queue = ops::fifo_queue_v2(root, {DType::i32}, {.shared_name = "numbers"});
  Output number = ops::placeholder(root, DType::i32);
  Operation put = ops::queue_enqueue_v2(root, queue, {number});
  Operation close = ops::queue_close_v2(root, queue);
  Output take = ops::queue_dequeue_v2(root, queue, {DType::i32}).front();
  Output total = ops::variable_v2(root.with_name("total"), PartialShape::scalar(), DType::i32);
  Output zero = ops::assign(root, total, 0);
  Output add = ops::assign_add(root, total, number);
  Output add_taken = ops::assign_add(root, total, take);
  std::unique_ptr<Session> session;
};

std::unique_ptr<Server> once_server() {
  ServerOptions options;
  REQUIRE(options.cluster.add_job("solo", {"localhost:0"}).ok());
  options.job = "solo";
  return Server::start(std::move(options), once_runtime()).value();
}

TEST_CASE("what a session took and did not acknowledge is the next one's, and counts once") {
  auto server = once_server();
  Counter owner(*server);
  owner.fill({5, 6});
  {
    Counter first(*server);
    CHECK(first.run(first.take) == "int32[] 5");
    CHECK(first.run(first.add, 5) == "int32[] 5");
    CHECK(first.run(first.add, 5) == "int32[] 10");
  }
  Counter second(*server);
  CHECK(second.run(second.take) == "int32[] 5");
  CHECK(second.run(second.add, 5) == "int32[] 10");
  CHECK(second.run(second.add, 5) == "int32[] 10");
  CHECK(second.run(second.add, 5) == "int32[] 15");
  CHECK(second.run(second.take) == "int32[] 6");
  CHECK(second.run(second.take) == "OUT_OF_RANGE");
  // Nothing is held any more: updates are made as often as they are asked for.
  CHECK(second.run(second.add, 1) == "int32[] 16");
  CHECK(second.run(second.add, 1) == "int32[] 17");
}

TEST_CASE("callables count once, too, and a step that takes and updates is one") {
  auto server = once_server();
  Counter owner(*server);
  owner.fill({5, 6});
  {
    Counter first(*server);
    auto add = first.session->make_callable({first.number.name()}, {first.add.name()}).value();
    CHECK(add({Tensor::scalar(1)})->front().to_string() == "int32[] 1");
    CHECK(first.run(first.add_taken) == "int32[] 6");
    CHECK(add({Tensor::scalar(10)})->front().to_string() == "int32[] 16");
  }
  Counter second(*server);
  auto take = second.session->make_callable({}, {second.add_taken.name()}).value();
  auto add = second.session->make_callable({second.number.name()}, {second.add.name()}).value();
  CHECK(take()->front().to_string() == "int32[] 16");
  CHECK(add({Tensor::scalar(10)})->front().to_string() == "int32[] 16");
  CHECK(take()->front().to_string() == "int32[] 22");
  CHECK(take().status().code() == Code::out_of_range);
  CHECK(add({Tensor::scalar(1)})->front().to_string() == "int32[] 23");
}

TEST_CASE("a session without a target counts once as well") {
  auto session = Session::create("", {}, once_runtime()).value();
  GraphBuilder builder(once_runtime()->ops());
  const Output queue = ops::fifo_queue_v2(builder.root(), {DType::i32});
  const Output take = ops::queue_dequeue_v2(builder.root(), queue, {DType::i32}).front();
  const Output many = ops::queue_size_v2(builder.root(), queue);
  const Operation put = ops::queue_enqueue_v2(builder.root(), queue, {constant(builder.root(), 5)});
  REQUIRE(session->extend(builder).ok());
  REQUIRE(session->run({}, {}, {.targets = {put.name()}}).ok());
  CHECK(session->run({}, {take.name()})->front().to_string() == "int32[] 5");
  CHECK(session->run({}, {many.name()})->front().to_string() == "int32[] 0");
}

TEST_CASE("the environment says whether sessions count once, and for how long they borrow") {
  testing::KeptLines lines;
  const Log log(lines);
  const auto lease = [&](const char* once, const char* length) {
    return once_terms(once, length, log).lease.count();
  };
  CHECK(lease(nullptr, "500") == 0);
  CHECK(lease("", nullptr) == 0);
  CHECK(lease("0", nullptr) == 0);
  CHECK(lease("1", nullptr) == 30'000);
  CHECK(lease("1", "") == 30'000);
  CHECK(lease("1", "500") == 500);
  CHECK(lines.lines().empty());
  CHECK(lease("yes", "500") == 500);
  CHECK(lease("1", "0") == 30'000);
  CHECK(lease("1", "5s") == 30'000);
  CHECK(lease("1", "99999999999999999999") == 30'000);
  CHECK(lines.lines().size() == 4);
}

}  // namespace
}  // namespace millrace
