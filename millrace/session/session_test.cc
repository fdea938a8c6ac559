// A session on a cluster of one: the whole path, in one process and without a port.
#include "millrace/session/session.h"

#include <atomic>
#include <latch>
#include <thread>

#include <doctest/doctest.h>

#include "millrace/api/input.h"
#include "millrace/api/ops.h"
#include "millrace/base/testing/footprint.h"

namespace millrace {
namespace {

std::shared_ptr<Runtime> runtime() {
  static const std::shared_ptr<Runtime> kRuntime = Runtime::create({.threads = 2});
  return kRuntime;
}

struct Program {
  GraphBuilder builder{runtime()->ops()};
  Scope root = builder.root();
  std::unique_ptr<Session> session = Session::create("", {}, runtime()).value();

  Status sync() { return session->extend(builder); }
  Result<Tensor> run(const Output& fetch, Session::Feeds feeds = {}, RunArgs args = {}) {
    MR_TRY(sync());
    MR_ASSIGN(auto values, session->run(std::move(feeds), {fetch.name()}, std::move(args)));
    return values.front();
  }
};

// The value, or the error as text: so that a failed check shows why.
template <class T>
std::string text(const Result<T>& result) {
  if (!result.ok()) return result.status().to_string();
  if constexpr (std::is_same_v<T, Tensor>) {
    return result->to_string();
  } else {
    std::string all;
    for (const Tensor& tensor : *result)
      str_append(&all, all.empty() ? "" : " | ", tensor.to_string());
    return all;
  }
}

TEST_CASE("the runtimes of a process have one registry of ops") {
  CHECK(&Runtime::create()->ops() == &Runtime::create()->ops());
}

TEST_CASE("a constant comes back") {
  Program program;
  CHECK(text(program.run(constant(program.root, 2.5))) == "float[] 2.5");
}

TEST_CASE("feeds go in, fetches come out in their own order, also twice") {
  Program program;
  const Output x = ops::placeholder(program.root, DType::f32);
  const Output y = x * 2 + 1;
  CHECK(text(program.run(y, {{x.name(), Tensor::scalar(3.0f)}})) == "float[] 7");
  CHECK(text(program.session->run({{x.name(), Tensor::scalar(1.0f)}},
                                  {y.name(), y.op().name(), y.name()})) ==
        "float[] 3 | float[] 3 | float[] 3");
}

TEST_CASE("any tensor of the graph may be fed, and what it stands for is not run") {
  Program program;
  const Output x = ops::placeholder(program.root, DType::f32);
  const Output y = -x;
  const Output z = y + 1;
  CHECK(text(program.run(z, {{y.name(), Tensor::scalar(5.0f)}})) == "float[] 6");
}

TEST_CASE("a variable keeps its value from run to run, and a graph may grow meanwhile") {
  Program program;
  const Output total =
      ops::variable_v2(program.root.with_name("total"), PartialShape::scalar(), DType::i32);
  const Output init = ops::assign(program.root, total, 0);
  CHECK(text(program.run(total)).find("Attempting to use uninitialized value total") !=
        std::string::npos);
  CHECK(text(program.run(init)) == "int32[] 0");
  const Output amount = ops::placeholder(program.root, DType::i32);
  const Output added = ops::assign_add(program.root, total, amount, {.use_locking = true});
  for (int i = 1; i <= 3; ++i) CHECK(program.run(added, {{amount.name(), Tensor::scalar(i)}}).ok());
  CHECK(text(program.run(total)) == "int32[] 6");
}

TEST_CASE("targets run for their effect") {
  Program program;
  const Output v = ops::variable_v2(program.root, PartialShape::scalar(), DType::i32);
  const Output init = ops::assign(program.root, v, 7);
  CHECK(program.sync().ok());
  CHECK(text(program.session->run({}, {}, {.targets = {init.op().name()}})) == "");
  CHECK(text(program.run(v)) == "int32[] 7");
}

TEST_CASE("what can't be run is refused with TensorFlow's words") {
  Program program;
  const Output x = ops::placeholder(program.root.with_name("x"), DType::f32);
  const Output y = -x;
  CHECK(program.sync().ok());
  CHECK(text(program.session->run({}, {})) ==
        "INVALID_ARGUMENT: Must specify at least one target to fetch or execute.");
  CHECK(text(program.session->run({}, {"nobody:0"})) ==
        "NOT_FOUND: FetchOutputs node nobody:0: not found");
  CHECK(text(program.session->run({{"x:0", Tensor::scalar(1.0f)}}, {"x:0"})) ==
        "INVALID_ARGUMENT: x:0 is both fed and fetched.");
  CHECK(text(program.run(y)).find("You must feed a value for placeholder tensor 'x'") !=
        std::string::npos);
  CHECK(!program.run(y, {{"x:0", Tensor::scalar(1)}}).ok());  // an int32
}

TEST_CASE("a graph that was built wrongly says so when it is given to a session") {
  Program program;
  const Output x = ops::placeholder(program.root, DType::f32);
  ops::add_v2(program.root.with_name("sum"), x, constant(program.root, "text"));
  CHECK(program.sync().message().starts_with("node 'sum': "));
}

TEST_CASE("a callable gives what run gives") {
  Program program;
  const Output x = ops::placeholder(program.root, DType::f32);
  const Output y = ops::placeholder(program.root, DType::f32);
  const Output z = x - y;
  CHECK(program.sync().ok());
  auto minus = program.session->make_callable({y.name(), x.name()}, {z.name()});
  REQUIRE(minus.ok());
  CHECK(text((*minus)({Tensor::scalar(1.0f), Tensor::scalar(5.0f)})) == "float[] 4");
  CHECK(text((*minus)({Tensor::scalar(1.0f)})).starts_with("INVALID_ARGUMENT: got 1 feed values"));
  CHECK(program.session->close().ok());
  CHECK(text((*minus)({Tensor::scalar(1.0f), Tensor::scalar(5.0f)})).starts_with("ABORTED"));
}

TEST_CASE("one thread has many steps of a callable under way, and each is answered once") {
  Program program;
  const Output queue = ops::fifo_queue(program.root, {DType::i32});
  const Output x = ops::placeholder(program.root, DType::i32);
  const Operation put = ops::queue_enqueue(program.root, queue, {x});
  const Output taken = ops::queue_dequeue(program.root, queue, {DType::i32})[0];
  CHECK(program.sync().ok());
  auto take = program.session->make_callable({}, {taken.name()});
  REQUIRE(take.ok());
  constexpr int kSteps = 20;
  std::latch left(kSteps);
  std::atomic<int> sum{0};
  for (int i = 0; i < kSteps; ++i) {
    take->start({}, Done<std::vector<Tensor>>([&](Result<std::vector<Tensor>> values) {
                  if (values.ok()) sum += values->front().item<int32_t>();
                  left.count_down();
                }));
  }
  for (int i = 1; i <= kSteps; ++i) {
    const RunArgs targets{.targets = {put.name()}};
    CHECK(program.session->run({{x.name(), Tensor::scalar(i)}}, {}, targets).ok());
  }
  left.wait();
  CHECK(sum == kSteps * (kSteps + 1) / 2);
}

TEST_CASE("many threads run one session at once") {
  Program program;
  const Output v = ops::variable_v2(program.root, PartialShape::scalar(), DType::i32);
  const Output init = ops::assign(program.root, v, 0);
  const Output add = ops::assign_add(program.root, v, 1, {.use_locking = true});
  CHECK(program.run(init).ok());
  CHECK(program.sync().ok());
  constexpr int kThreads = 4, kSteps = 200;
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kSteps; ++i) failures += !program.session->run({}, {add.name()}).ok();
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == 0);
  CHECK(text(program.run(v)) == "int32[] 800");
}

struct QueueProgram : Program {
  Output queue = ops::fifo_queue(root, {DType::string}, {.capacity = 2});
  Output item = ops::placeholder(root, DType::string);
  Operation enqueue = ops::queue_enqueue(root, queue, {item});
  Output dequeue = ops::queue_dequeue(root, queue, {DType::string})[0];
};

TEST_CASE("a step writes into the memory of feeds that are given away, and of no others") {
  Program program;
  const Output x = ops::placeholder(program.root, DType::f32);
  const Output y = ops::neg(program.root, x);
  REQUIRE(program.sync().ok());
  const auto negate = program.session->make_callable({x.name()}, {y.name()});
  REQUIRE(negate.ok());
  const auto ones = [] {
    Tensor made = Tensor::allocate(DType::f32, {1000}).value();
    for (float& element : made.mutable_flat<float>()) element = 1;
    return made;
  };

  std::vector<Tensor> given{ones()};
  const void* memory = given.front().data();
  auto values = (*negate)(std::move(given));
  REQUIRE(values.ok());
  CHECK(values->front().data() == memory);
  CHECK(values->front().flat<float>()[999] == -1);

  const Tensor lent = ones();
  values = (*negate)({lent});
  REQUIRE(values.ok());
  CHECK(values->front().data() != lent.data());
  CHECK(lent.flat<float>()[999] == 1);

  // Somebody else has it still.
  given = {lent};
  values = (*negate)(std::move(given));
  REQUIRE(values.ok());
  CHECK(values->front().data() != lent.data());
  CHECK(lent.flat<float>()[999] == 1);
}

TEST_CASE("a feed that two nodes read and one that is fetched as it is are not written to") {
  Program program;
  const Output x = ops::placeholder(program.root, DType::f32);
  const Output y = ops::neg(program.root, x);
  const Output z = ops::add(program.root, x, y);
  REQUIRE(program.sync().ok());
  const auto both = program.session->make_callable({x.name()}, {y.name(), z.name()});
  REQUIRE(both.ok());
  CHECK(text((*both)(std::vector<Tensor>{Tensor::scalar(3.0f)})) == "float[] -3 | float[] 0");
}

TEST_CASE("a run that waits ends with its timeout and leaves nothing behind") {
  QueueProgram program;
  const Result<Tensor> late =
      program.run(program.dequeue, {}, {.timeout = std::chrono::milliseconds(20)});
  CHECK(late.status().code() == Code::deadline_exceeded);
  CHECK(late.status().message().starts_with("Timed out waiting for step "));
  // The element goes to whoever asks next, not to the step that was given up.
  CHECK(program.session
            ->run({{program.item.name(), Tensor::scalar(std::string("a.txt"))}}, {},
                  {.targets = {program.enqueue.name()}})
            .ok());
  CHECK(text(program.run(program.dequeue)) == "string[] \"a.txt\"");
}

TEST_CASE("steps that time out cost neither threads nor descriptors") {
  QueueProgram program;
  const auto time_out = [&] {
    return program.run(program.dequeue, {}, {.timeout = std::chrono::milliseconds(1)}).status();
  };
  CHECK(time_out().code() == Code::deadline_exceeded);
  const Footprint before = Footprint::now();
  int failures = 0;
  for (int i = 0; i < 500; ++i) failures += time_out().code() != Code::deadline_exceeded;
  CHECK(failures == 0);
  const Footprint after = Footprint::now();
  // The pool's threads start when they are first needed side by side, maybe only now.
  CHECK(after.threads <= before.threads + std::thread::hardware_concurrency());
  // Of tests before this one something may still be closing.
  CHECK(after.descriptors <= before.descriptors);
}

TEST_CASE("a run can be cancelled, and closing the session ends the runs that wait") {
  QueueProgram program;
  CHECK(program.sync().ok());
  Cancellation cancellation;
  std::thread canceller([&] { cancellation.cancel(cancelled("changed my mind")); });
  const Result<Tensor> stopped = program.run(program.dequeue, {}, {.cancellation = &cancellation});
  canceller.join();
  CHECK(text(stopped) == "CANCELLED: changed my mind");

  // Both orders of closing and running end the run.
  Result<std::vector<Tensor>> ended = internal("not run");
  std::thread runner([&] { ended = program.session->run({}, {program.dequeue.name()}); });
  CHECK(program.session->close().ok());
  runner.join();
  CHECK(!ended.ok());
  CHECK(text(program.session->run({}, {program.dequeue.name()})) ==
        "FAILED_PRECONDITION: Session is closed.");
}

TEST_CASE("a session's timeout bounds every run") {
  QueueProgram program;
  program.session =
      Session::create("", {.operation_timeout = std::chrono::milliseconds(20)}, runtime()).value();
  CHECK(program.run(program.dequeue).status().code() == Code::deadline_exceeded);
}

TEST_CASE("a partial run takes feeds and fetches bit by bit") {
  Program program;
  const Output a = ops::placeholder(program.root.with_name("a"), DType::f32);
  const Output b = ops::placeholder(program.root.with_name("b"), DType::f32);
  const Output twice = a * 2;
  const Output sum = twice + b;
  CHECK(program.sync().ok());
  auto handle =
      program.session->partial_run_setup({a.name(), b.name()}, {twice.name(), sum.name()});
  REQUIRE(handle.ok());
  CHECK(text(program.session->partial_run(*handle, {{a.name(), Tensor::scalar(3.0f)}},
                                          {twice.name()})) == "float[] 6");
  CHECK(text(program.session->partial_run(*handle, {{b.name(), Tensor::scalar(4.0f)}},
                                          {sum.name()})) == "float[] 10");
  CHECK(text(program.session->partial_run(*handle, {}, {sum.name()})) ==
        "INVALID_ARGUMENT: Must run PartialRunSetup before performing partial runs");
}

TEST_CASE("a session allows so many partial runs that have not ended, and no more") {
  constexpr size_t kMost = 10'000;
  Program program;
  const Output a = ops::placeholder(program.root.with_name("a"), DType::f32);
  const Output twice = a * 2;
  CHECK(program.sync().ok());
  const auto set_up = [&] {
    return program.session->partial_run_setup({a.name()}, {twice.name()});
  };
  const Result<std::string> first = set_up();
  REQUIRE(first.ok());
  size_t failed = 0;
  for (size_t i = 1; i < kMost; ++i) failed += !set_up().ok();
  CHECK(failed == 0);
  const Status refused = set_up().status();
  CHECK(refused.code() == Code::resource_exhausted);
  CHECK(refused.message().find("10000 partial runs that have not ended") != std::string::npos);
  // One that ends makes room for another.
  CHECK(text(program.session->partial_run(*first, {{a.name(), Tensor::scalar(3.0f)}},
                                          {twice.name()})) == "float[] 6");
  CHECK(set_up().ok());
  CHECK(set_up().status().code() == Code::resource_exhausted);
}

TEST_CASE("a trace tells when nodes ran") {
  Program program;
  const Output x = ops::placeholder(program.root, DType::f32);
  const Output y = (-x).op().has_value() ? ops::square(program.root.with_name("squared"), x) : x;
  RunMetadata metadata;
  CHECK(program
            .run(y, {{x.name(), Tensor::scalar(2.0f)}}, {.trace = Trace::on, .metadata = &metadata})
            .ok());
  REQUIRE(metadata.traces.size() == 1);
  bool found = false;
  for (const NodeTiming& node : metadata.traces[0].nodes) {
    CHECK(node.start_micros <= node.end_micros);
    found |= node.node_name == "squared";
  }
  CHECK(found);
}

TEST_CASE("a cluster of one has one device, named as TensorFlow names it") {
  Program program;
  auto devices = program.session->list_devices();
  REQUIRE(devices.ok());
  REQUIRE(devices->size() == 1);
  CHECK(devices->front().name == "/job:localhost/replica:0/task:0/device:CPU:0");
}

TEST_CASE("two private sessions share nothing") {
  Program one, two;
  for (Program* program : {&one, &two}) {
    const Output v =
        ops::variable_v2(program->root.with_name("v"), PartialShape::scalar(), DType::i32);
    CHECK(v.has_value());
    CHECK(program->sync().ok());
  }
  const Output init = ops::assign(one.root, constant(one.root, 0), 1);
  CHECK(!init.has_value());  // a constant is no variable
  CHECK(text(two.session->run({}, {"v:0"})).find("uninitialized") != std::string::npos);
}

TEST_CASE("a target of another form is refused") {
  CHECK(Session::create("http://host:1", {}, runtime()).status().code() == Code::invalid_argument);
  CHECK(Session::create("grpc://nowhere", {}, runtime()).status().code() == Code::invalid_argument);
}

}  // namespace
}  // namespace millrace
