// Steps of one kind, so many times and nothing else: for counting what one costs where a clock
// would not tell, as on a machine that others use too. The difference of two counts is the steps
// alone.
//
//   valgrind --tool=callgrind build/bin/count_steps callable 1000      instructions, and so for
//   2000
//
//   callable    1 feed, 1 fetch, made ready once      run         the same by their names
//   constant    a callable that fetches a constant    add         a callable that adds two feeds
//   pointer     a value goes from one task to another in this process, and back
//   wire        the same over gRPC, servers and client in this process
//   devices     eight values go from one device of a task to another
//   device      the same on one device: what the devices share
//   update      an update of a variable               once        the same under a lease, made once
//   far_update, far_once                              the same by remote calls to this process
//   lend        a dequeue that acknowledges the last one, and lends the next
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string_view>

#include "bench/must.h"

#include "millrace/graph/import.h"
#include "millrace/millrace.h"
#include "millrace/session/local_task.h"
#include "millrace/transport/sockets/listening_socket.h"

namespace millrace::bench {
namespace {

constexpr size_t kTensor = 64;

// One kind of step, which keeps what it needs.
using Step = std::function<void()>;

struct OneGraph {
  std::shared_ptr<Runtime> runtime = Runtime::create();
  GraphBuilder builder{runtime->ops()};
  std::unique_ptr<Session> session;

  void open(const SessionTarget& target) {
    session = must(Session::create(target, {}, runtime));
    must(session->extend(builder));
  }
};

Step a_constant() {
  auto one = std::make_shared<OneGraph>();
  const Output value = constant(one->builder.root(), Tensor::scalar(3.0f));
  one->open("");
  auto step = std::make_shared<Callable>(must(one->session->make_callable({}, {value.name()})));
  return [one, step] { must((*step)().status()); };
}

Step callable() {
  auto one = std::make_shared<OneGraph>();
  const Output in = ops::placeholder(one->builder.root(), DType::f32);
  const Output out = ops::identity(one->builder.root(), in);
  one->open("");
  auto step =
      std::make_shared<Callable>(must(one->session->make_callable({in.name()}, {out.name()})));
  return [one, step, value = Tensor::scalar(1.0f)] { must((*step)({value}).status()); };
}

Step run() {
  auto one = std::make_shared<OneGraph>();
  const Output in = ops::placeholder(one->builder.root(), DType::f32);
  const Output out = ops::identity(one->builder.root(), in);
  one->open("");
  return [one, feed = in.name(), fetch = out.name(), value = Tensor::scalar(1.0f)] {
    must(one->session->run({{feed, value}}, {fetch}).status());
  };
}

Step add() {
  auto one = std::make_shared<OneGraph>();
  const Output a = ops::placeholder(one->builder.root(), DType::f32);
  const Output b = ops::placeholder(one->builder.root(), DType::f32);
  const Output sum = ops::add(one->builder.root(), a, b);
  one->open("");
  auto step = std::make_shared<Callable>(
      must(one->session->make_callable({a.name(), b.name()}, {sum.name()})));
  return [one, step] {
    std::vector<Tensor> feeds;
    for (int i = 0; i < 2; ++i) feeds.push_back(must(Tensor::allocate(DType::f32, {kTensor})));
    must((*step)(feeds).status());
  };
}

// Task 1 makes a value, task 0 returns it.
std::string exchange(GraphBuilder& builder) {
  const Scope root = builder.root();
  const Scope here = root.device("/job:worker/task:0"), there = root.device("/job:worker/task:1");
  const Output held = ops::variable_v2(there, PartialShape::scalar(), DType::f32);
  const Output set = ops::assign(there, held, 1.0f);
  (void)set;
  return ops::identity(here, ops::identity(there, held)).name();
}

ClusterSpec two_tasks(const std::vector<std::string>& addresses) {
  ClusterSpec cluster;
  must(cluster.add_job("worker", addresses));
  return cluster;
}

// Tasks by pointer.
class Neighbours final : public WorkerDirectory {
 public:
  Result<std::shared_ptr<WorkerService>> worker(const TaskName& task, std::string_view) override {
    // The task keeps its worker; nobody asks once it is gone.
    Worker& worker = tasks.at(static_cast<size_t>(task.task))->worker();
    return std::shared_ptr<WorkerService>(std::shared_ptr<void>(), &worker);
  }
  std::vector<std::shared_ptr<LocalTask>> tasks;
};

struct Pointers {
  std::shared_ptr<Runtime> runtime = Runtime::create();
  Neighbours neighbours;
  std::string session, fetch;

  Pointers() {
    const ClusterSpec cluster = two_tasks({"here:1", "there:1"});
    for (int i = 0; i < 2; ++i) {
      LocalTaskOptions options{.task = {"worker", 0, i}, .members = constant_members(cluster)};
      neighbours.tasks.push_back(must(LocalTask::create(runtime, std::move(options), &neighbours)));
    }
    GraphBuilder builder(runtime->ops());
    fetch = exchange(builder);
    CreateSessionRequest request;
    request.graph = export_graph(builder.graph());
    session = wait<CreateSessionReply>([&](const Call& call, auto done) {
                master().create_session(std::move(request), call, std::move(done));
              }).session_handle;
    (void)step({}, {"Assign"});
  }
  ~Pointers() {
    for (const auto& task : neighbours.tasks) task->stop(cancelled("enough"));
    for (auto& task : neighbours.tasks) task.reset();
  }
  MasterService& master() { return neighbours.tasks.front()->master(); }
  RunStepReply step(std::vector<std::string> fetches, std::vector<std::string> targets) {
    RunStepRequest request;
    request.session_handle = session;
    request.fetches = std::move(fetches);
    request.targets = std::move(targets);
    return wait<RunStepReply>([&](const Call& call, auto done) {
      master().run_step(std::move(request), call, std::move(done));
    });
  }
  template <class Reply, class Ask>
  static Reply wait(Ask ask) {
    CallerThread caller;
    std::optional<Result<Reply>> reply;
    ask(Call{.runner = &caller, .waiting = true}, Done<Reply>([&](Result<Reply> given) {
          reply = std::move(given);
          caller.finish();
        }));
    caller.wait();
    return must(*std::move(reply));
  }
};

Step pointer() {
  auto tasks = std::make_shared<Pointers>();
  return [tasks] { (void)tasks->step({tasks->fetch}, {}); };
}

struct Wired {
  std::vector<std::unique_ptr<Server>> servers;
  OneGraph one;
  std::string fetch;

  Wired() {
    std::vector<ListeningSocket> sockets;
    std::vector<std::string> addresses;
    for (int i = 0; i < 2; ++i) {
      sockets.push_back(must(ListeningSocket::bind("127.0.0.1", 0)));
      addresses.push_back(str_cat("127.0.0.1:", sockets.back().port()));
    }
    sockets.clear();
    for (int i = 0; i < 2; ++i)
      servers.push_back(must(Server::start(
          {.cluster = two_tasks(addresses), .job = "worker", .task = i, .bind_host = "127.0.0.1"},
          one.runtime)));
    fetch = exchange(one.builder);
    one.open(servers.front()->target());
    must(one.session->run({}, {}, {.targets = {"Assign"}}).status());
  }
};

Step wire() {
  auto wired = std::make_shared<Wired>();
  return [wired] { must(wired->one.session->run({}, {wired->fetch}).status()); };
}

// Eight variables on one device, summed on another one of the task.
struct Devices {
  OneGraph one;
  std::unique_ptr<Server> server;
  std::unique_ptr<Callable> sum;

  explicit Devices(std::string_view of_values) {
    ServerOptions options{.cluster = {}, .job = "worker", .bind_host = "127.0.0.1"};
    must(options.cluster.add_job("worker", {"127.0.0.1:0"}));
    options.cpu_devices = 2;
    server = must(Server::start(std::move(options), one.runtime));
    const Scope root = one.builder.root();
    const Scope here = root.device("/device:CPU:0"), there = root.device(of_values);
    std::vector<Output> values;
    std::vector<std::string> starts;
    for (int i = 0; i < 8; ++i) {
      const Output held = ops::variable_v2(there, PartialShape::scalar(), DType::f32);
      starts.push_back(ops::assign(there, held, 1.0f).name());
      values.push_back(ops::identity(there, held));
    }
    const Output added = ops::add_n(here, InputList(values.begin(), values.end()));
    one.session = must(Session::create(*server));
    must(one.session->extend(one.builder));
    (void)must(one.session->run({}, starts));
    sum = std::make_unique<Callable>(must(one.session->make_callable({}, {added.name()})));
  }
};

Step devices(std::string_view of_values) {
  auto devices = std::make_shared<Devices>(of_values);
  return [devices] { must((*devices->sum)({}).status()); };
}

// A queue that is full enough for all steps, and a total, in a session of a task of this process.
struct Counted {
  std::shared_ptr<Runtime> runtime;
  std::unique_ptr<Server> server;
  std::unique_ptr<Session> session;
  std::optional<Callable> take, add;

  enum class From : uint8_t { here, afar };
  Counted(std::chrono::milliseconds lease, int elements, From from)
      : runtime(Runtime::create({.once = OnceTerms{lease}})) {
    ServerOptions options{.cluster = {}, .job = "solo", .bind_host = "127.0.0.1"};
    must(options.cluster.add_job("solo", {"127.0.0.1:0"}));
    server = must(Server::start(std::move(options), runtime));
    const SessionTarget there = server->target();
    session =
        must(Session::create(from == From::here ? SessionTarget(*server) : there, {}, runtime));
    GraphBuilder builder(runtime->ops());
    const Scope root = builder.root();
    const Output queue = ops::fifo_queue_v2(
        root, {DType::i32}, {.shapes = std::vector<PartialShape>{PartialShape::scalar()}});
    const Operation fill =
        ops::queue_enqueue_many_v2(root, queue, {ops::fill(root, {elements}, 1)});
    const Output taken = ops::queue_dequeue_v2(root, queue, {DType::i32}).front();
    const Output total = ops::variable_v2(root, PartialShape::scalar(), DType::i32);
    const Output zero = ops::assign(root, total, 0);
    const Output sum = ops::assign_add(root, total, constant(root, 1));
    must(session->extend(builder));
    must(session->run({}, {}, {.targets = {zero.op().name(), fill.name()}}).status());
    take = must(session->make_callable({}, {taken.name()}));
    add = must(session->make_callable({}, {}, {.targets = {sum.op().name()}}));
  }
};

Step update(std::chrono::milliseconds lease, Counted::From from = Counted::From::here) {
  auto counted = std::make_shared<Counted>(lease, 1, from);
  must((*counted->take)().status());
  return [counted] { must((*counted->add)().status()); };
}

Step lend(int steps) {
  auto counted = std::make_shared<Counted>(kUsualOnceLease, steps, Counted::From::here);
  return [counted] { must((*counted->take)().status()); };
}

Step named(std::string_view name, int steps) {
  if (name == "constant") return a_constant();
  if (name == "callable") return callable();
  if (name == "run") return run();
  if (name == "add") return add();
  if (name == "pointer") return pointer();
  if (name == "wire") return wire();
  if (name == "devices") return devices("/device:CPU:1");
  if (name == "device") return devices("/device:CPU:0");
  if (name == "update") return update(std::chrono::milliseconds(0));
  if (name == "once") return update(kUsualOnceLease);
  if (name == "far_update") return update(std::chrono::milliseconds(0), Counted::From::afar);
  if (name == "far_once") return update(kUsualOnceLease, Counted::From::afar);
  if (name == "lend") return lend(steps);
  return nullptr;
}

}  // namespace
}  // namespace millrace::bench

int main(int argc, char** argv) {
  setenv("MILLRACE_LOG", "warning", 0);
  const int steps = argc == 3 ? std::atoi(argv[2]) : 0;
  const auto step = steps > 0 ? millrace::bench::named(argv[1], steps) : nullptr;
  if (!step) {
    std::fputs(
        "usage: count_steps constant|callable|run|add|pointer|wire|devices|device|update|once|lend|"
        "far_update|far_once STEPS\n",
        stderr);
    return 2;
  }
  for (int left = steps; left > 0; --left) step();
}
