#include "millrace/worker/testing/test_cluster.h"

#include <chrono>

#include "millrace/base/shared_memory.h"
#include "millrace/cluster/testing/fake_services.h"

namespace millrace::testing {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

TaskName task_name(int task) { return {.job = "worker", .replica = 0, .task = task}; }

}  // namespace

TestCluster::TestCluster(int tasks, int cpus)
    : cpus_(cpus), has_session_(static_cast<size_t>(tasks)) {
  for (int i = 0; i < tasks; ++i) REQUIRE(spec.add_task("worker", i, str_cat("test:", i + 1)).ok());
  std::vector<TaskName> names;
  for (int i = 0; i < tasks; ++i) names.push_back(task_name(i));
  departures = std::make_unique<Departures>(std::move(names));
  for (int i = 0; i < tasks; ++i) workers_.push_back(make_worker(i));
}

TestCluster::~TestCluster() {
  for (const auto& worker : workers_) worker->stop(cancelled("the test is over"));
}

std::shared_ptr<Worker> TestCluster::make_worker(int task) {
  return std::make_shared<Worker>(WorkerOptions{.task = task_name(task),
                                                .members = constant_members(spec),
                                                .cpu_devices = cpus_,
                                                .host = process.host,
                                                .peers = peers_,
                                                .departures = departures.get(),
                                                .machine = this_machine(),
                                                .abort_delay = std::chrono::milliseconds(20)});
}

void TestCluster::restart(int task) {
  const auto index = static_cast<size_t>(task);
  workers_[index]->stop(unavailable("the task stopped"));
  workers_[index] = make_worker(task);
  has_session_[index] = false;
}

Result<std::shared_ptr<WorkerService>> TestCluster::Peers::worker(const TaskName& task,
                                                                  std::string_view) {
  // Whoever has the address now, as over a wire.
  auto peer = std::make_shared<FakeWorker>();
  peer->on_recv_tensor = [cluster = cluster, index = task.task](RecvTensorRequest request,
                                                                const Call& call,
                                                                Done<RecvTensorReply> done) {
    cluster->worker(index).recv_tensor(std::move(request), call, std::move(done));
  };
  return std::shared_ptr<WorkerService>(std::move(peer));
}

std::string TestCluster::device(int task, int cpu) {
  return DeviceName::on(task_name(task), "CPU", cpu).to_string();
}

std::string TestCluster::channel(const std::string& name, int from, int to, int from_cpu,
                                 int to_cpu) {
  const uint64_t incarnation = worker(from).devices()[static_cast<size_t>(from_cpu)].incarnation;
  return str_cat("tensor_name=\"", name, "\", send_device=\"", device(from, from_cpu),
                 "\", recv_device=\"", device(to, to_cpu),
                 "\", send_device_incarnation=", static_cast<int64_t>(incarnation));
}

std::string TestCluster::key(const std::string& name, int from, int to, int from_cpu, int to_cpu) {
  return RendezvousKey::make(device(from, from_cpu),
                             worker(from).devices()[static_cast<size_t>(from_cpu)].incarnation,
                             device(to, to_cpu), name)
      .text;
}

std::string TestCluster::client_key(const std::string& name, int task) {
  return key(name, task, task);
}

void TestCluster::open_session(int task) {
  if (has_session_[static_cast<size_t>(task)]) return;
  has_session_[static_cast<size_t>(task)] = true;
  CHECK(outcome_of([&](Done<void> done) {
          CreateWorkerSessionRequest request;
          request.session_handle = "s";
          worker(task).create_worker_session(std::move(request), {}, std::move(done));
        }).ok());
}

Result<std::string> TestCluster::try_add_graph(int task, const std::string& text,
                                               const std::vector<std::string>& feeds,
                                               const std::vector<std::string>& fetches) {
  open_session(task);
  std::string whole;
  for (const std::string& feed : feeds)
    str_append(&whole, feed, " = _Recv(tensor_type=int32, client_terminated=true, ",
               channel(feed, task, task), ")\n");
  whole += text;
  for (const std::string& fetch : fetches) {
    std::string node = fetch;
    if (const size_t colon = node.find(':'); colon != std::string::npos) node[colon] = '_';
    str_append(&whole, "\nfetch_", node, " = _Send(", fetch, ", client_terminated=true, ",
               channel(fetch, task, task), ")");
  }
  for (int t = static_cast<int>(workers_.size()); t-- > 0;) {
    for (int cpu = cpus_; cpu-- >= 0;) {
      const std::string short_name = cpu < 0 ? str_cat("$", t) : str_cat("$", t, ".", cpu);
      for (size_t at; (at = whole.find(short_name)) != std::string::npos;)
        whole.replace(at, short_name.size(), device(t, std::max(cpu, 0)));
    }
  }
  MR_ASSIGN(Graph graph, parse_graph(whole, lab.ops));
  for (const Node& node : graph.nodes())
    if (node.device().empty() && node.requested_device().empty())
      graph.set_device(node.id, device(task));
  Result<std::string> handle = internal("register_graph was not answered at once");
  worker(task).register_graph(
      {.session_handle = "s", .graph = std::make_shared<const Graph>(std::move(graph))}, {},
      Done<RegisterGraphReply>([&](Result<RegisterGraphReply> reply) {
        if (reply.ok()) {
          handle = reply->graph_handle;
        } else {
          handle = reply.status();
        }
      }));
  return handle;
}

std::string TestCluster::add_graph(int task, const std::string& text,
                                   const std::vector<std::string>& feeds,
                                   const std::vector<std::string>& fetches) {
  auto handle = try_add_graph(task, text, feeds, fetches);
  REQUIRE_MESSAGE(handle.ok(), handle.status().to_string());
  return *handle;
}

RunGraphRequest TestCluster::request(int task, const std::string& graph, const Values& values) {
  auto keys = std::make_shared<StepKeys>();
  RunGraphRequest request;
  for (const auto& [name, value] : values.feeds) {
    keys->send.push_back(client_key(name, task));
    request.values.push_back(value);
  }
  for (const std::string& fetch : values.fetches) keys->receive.push_back(client_key(fetch, task));
  request.session_handle = "s";
  request.graph_handle = graph;
  request.step_id = values.step;
  request.keys = std::move(keys);
  request.trace = values.trace;
  request.record_partition_graphs = values.record_partition_graphs;
  request.is_partial = values.leg != Values::Leg::none;
  request.is_last_partial_run = values.leg == Values::Leg::last;
  request.request_id = values.request_id;
  return request;
}

std::unique_ptr<TestCluster::Running> TestCluster::start(int task, const std::string& graph,
                                                         const Values& values) {
  auto running = std::make_unique<Running>();
  running->fetches_ = values.fetches;
  worker(task).run_graph(
      request(task, graph, values),
      {.cancellation = &running->cancellation, .runner = &running->caller_},
      Done<RunGraphReply>([running = running.get()](Result<RunGraphReply> reply) {
        {
          MutexLock lock(running->mutex_);
          running->reply_ = std::move(reply);
        }
        running->caller_.finish();
      }));
  return running;
}

bool TestCluster::Running::is_done() {
  MutexLock lock(mutex_);
  return reply_.has_value();
}

TestCluster::Running::Outcome TestCluster::Running::wait() {
  REQUIRE(caller_.wait(std::chrono::steady_clock::now() + kPatience));
  MutexLock lock(mutex_);
  if (!reply_->ok()) return {reply_->status(), {}, fetches_};
  return {{}, **reply_, fetches_};
}

const Delivery& TestCluster::Running::Outcome::at(const std::string& name) const {
  REQUIRE_MESSAGE(status.ok(), status.to_string());
  for (size_t i = 0; i < fetches.size(); ++i)
    if (fetches[i] == name) return reply.values.at(i);
  FAIL("not fetched: " << name);
  return reply.values.front();
}

std::unique_ptr<TestCluster::Receiving> TestCluster::receive(int task, const std::string& key,
                                                             int64_t step, int64_t request_id) {
  auto receiving = std::make_unique<Receiving>();
  worker(task).recv_tensor(
      {.step_id = step, .rendezvous_key = key, .request_id = request_id},
      {.cancellation = &receiving->cancellation},
      Done<RecvTensorReply>([r = receiving.get()](Result<RecvTensorReply> reply) {
        MutexLock lock(r->mutex);
        r->reply = std::move(reply);
        r->changed.notify_all();
      }));
  return receiving;
}

bool TestCluster::Receiving::is_done() {
  MutexLock lock(mutex);
  return reply.has_value();
}

Result<RecvTensorReply> TestCluster::Receiving::wait() {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  MutexLock lock(mutex);
  while (!reply) REQUIRE(changed.wait_until(mutex, deadline));
  return *reply;
}

void TestCluster::cleanup(int task, int64_t step) {
  CHECK(outcome_of([&](Done<void> done) {
          worker(task).cleanup_graph({step}, {}, std::move(done));
        }).ok());
}

}  // namespace millrace::testing
