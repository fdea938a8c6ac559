// What every way to a master or worker must do, whether it passes pointers or bytes: the request
// that goes in is the request that arrives, the reply that is given is the reply that comes out, an
// error stays what it is, and a cancellation gets through. A new transport joins with one more type
// in TRANSPORTS.
#include <atomic>
#include <numeric>
#include <thread>

#include "millrace/graph/text.h"
#include "millrace/transport/grpc/test_task.h"

namespace millrace {
namespace {

using testing::Answered;
using testing::FakeMaster;
using testing::FakeWorker;

// The fakes themselves: what the suite takes for granted must hold without any transport.
struct ByPointer {
  FakeMaster master_behind;
  FakeWorker worker_behind;
  MasterService& master() { return master_behind; }
  WorkerService& worker() { return worker_behind; }
};

struct OverGrpc {
  testing::TestTask task;
  FakeMaster& master_behind = task.master;
  FakeWorker& worker_behind = task.worker;
  std::unique_ptr<GrpcMasterChannel> master_channel = task.master_channel();
  std::shared_ptr<WorkerService> worker_channel = task.worker_channel();
  MasterService& master() { return *master_channel; }
  WorkerService& worker() { return *worker_channel; }
};

#define TRANSPORTS ByPointer, OverGrpc

// Makes the call and waits for its outcome.
template <class Reply, class Service, class Request>
Outcome<Reply> ask(Service& service, void (Service::*method)(Request, Call, Done<Reply>),
                   Request request, Call call = {}) {
  Answered<Reply> answered;
  (service.*method)(std::move(request), call, answered.done());
  return answered.wait();
}

template <class Request, class Reply>
testing::Answer<Request, Reply> keep(Request& seen, Reply reply) {
  return [&seen, reply](Request request, const Call&, Done<Reply> done) {
    seen = std::move(request);
    done(reply);
  };
}
template <class Request>
testing::Answer<Request, void> keep(Request& seen) {
  return [&seen](Request request, const Call&, Done<void> done) {
    seen = std::move(request);
    done(Status());
  };
}

wire::GraphDef small_graph() {
  wire::GraphDef graph;
  wire::NodeDef& node = graph.nodes.emplace_back();
  node.name = "c";
  node.op = "Const";
  node.device = "/job:ps";
  node.attrs = {{"dtype", DType::f32}, {"value", Tensor::scalar(2.5f)}};
  graph.versions.producer = 2313;
  return graph;
}

std::vector<DeviceAttributes> two_devices() {
  std::vector<DeviceAttributes> devices(2);
  devices[0].name = "/job:worker/replica:0/task:0/device:CPU:0";
  devices[0].type = "CPU";
  devices[0].incarnation = 0xffffffffffffffff;
  devices[1].name = "/job:worker/replica:0/task:1/device:CPU:0";
  devices[1].memory_limit = int64_t{1} << 40;
  devices[1].description = "spare";
  return devices;
}

void check_same(const std::vector<DeviceAttributes>& a, const std::vector<DeviceAttributes>& b) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].name == b[i].name);
    CHECK(a[i].type == b[i].type);
    CHECK(a[i].memory_limit == b[i].memory_limit);
    CHECK(a[i].incarnation == b[i].incarnation);
    CHECK(a[i].description == b[i].description);
  }
}

RunMetadata some_metadata() {
  RunMetadata metadata;
  DeviceTrace& trace = metadata.traces.emplace_back();
  trace.device = "/job:worker/replica:0/task:0/device:CPU:0";
  trace.nodes.push_back({"x/sum", "Add", 1'700'000'000'000'000, 1'700'000'000'000'042, 7});
  metadata.partition_graphs.push_back(small_graph());
  return metadata;
}

void check_same(const RunMetadata& a, const RunMetadata& b) {
  REQUIRE(a.traces.size() == b.traces.size());
  for (size_t i = 0; i < a.traces.size(); ++i) {
    CHECK(a.traces[i].device == b.traces[i].device);
    REQUIRE(a.traces[i].nodes.size() == b.traces[i].nodes.size());
    for (size_t j = 0; j < a.traces[i].nodes.size(); ++j) {
      const NodeTiming& left = a.traces[i].nodes[j];
      const NodeTiming& right = b.traces[i].nodes[j];
      CHECK(left.node_name == right.node_name);
      CHECK(left.op == right.op);
      CHECK(left.start_micros == right.start_micros);
      CHECK(left.end_micros == right.end_micros);
      CHECK(left.thread == right.thread);
    }
  }
  REQUIRE(a.partition_graphs.size() == b.partition_graphs.size());
}

Tensor large_tensor(int64_t elements) {
  Tensor tensor = Tensor::allocate(DType::i32, Shape{elements}).value();
  auto values = tensor.mutable_flat<int32_t>();
  std::iota(values.begin(), values.end(), 0);
  return tensor;
}

// ---- The master ---------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("create_session carries the graph and every option", Transport, TRANSPORTS) {
  Transport transport;
  CreateSessionRequest seen;
  transport.master_behind.on_create_session =
      keep(seen, CreateSessionReply{.session_handle = "abc", .graph_version = 7});
  CreateSessionRequest request;
  request.graph = small_graph();
  request.target = "grpc://host:1";
  request.options.device_filters = {"/job:ps", "/job:worker/task:3"};
  request.options.allow_soft_placement = true;
  request.options.isolate_session_state = true;
  request.options.disable_optimizer = true;
  request.options.operation_timeout = std::chrono::milliseconds(1500);
  REQUIRE(request.options.cluster.add_job("worker", {"a:1", "b:2"}).ok());
  request.options.share_state_in_sent_cluster = true;
  request.options.names_thread_pools = true;
  const auto reply = ask(transport.master(), &MasterService::create_session, request);
  REQUIRE(reply.ok());
  CHECK(reply->session_handle == "abc");
  CHECK(reply->graph_version == 7);
  REQUIRE(seen.graph.nodes.size() == 1);
  CHECK(seen.graph.nodes[0].device == "/job:ps");
  CHECK(*seen.graph.nodes[0].attr("value")->as_tensor() == Tensor::scalar(2.5f));
  CHECK(seen.graph.versions.producer == 2313);
  CHECK(seen.target == "grpc://host:1");
  CHECK(seen.options.device_filters == request.options.device_filters);
  CHECK(seen.options.allow_soft_placement);
  CHECK_FALSE(seen.options.log_device_placement);
  CHECK(seen.options.isolate_session_state);
  CHECK(seen.options.disable_optimizer);
  CHECK(seen.options.operation_timeout == std::chrono::milliseconds(1500));
  CHECK(seen.options.cluster == request.options.cluster);
  CHECK(seen.options.share_state_in_sent_cluster);
  CHECK_FALSE(seen.options.use_per_session_threads);
  CHECK(seen.options.names_thread_pools);
}

TEST_CASE_TEMPLATE("extend_session carries the graph and its version", Transport, TRANSPORTS) {
  Transport transport;
  ExtendSessionRequest seen;
  transport.master_behind.on_extend_session =
      keep(seen, ExtendSessionReply{.new_graph_version = 9});
  ExtendSessionRequest request{"abc", small_graph(), 8};
  const auto reply = ask(transport.master(), &MasterService::extend_session, request);
  REQUIRE(reply.ok());
  CHECK(reply->new_graph_version == 9);
  CHECK(seen.session_handle == "abc");
  CHECK(seen.current_graph_version == 8);
  CHECK(seen.graph.nodes.size() == 1);
}

TEST_CASE_TEMPLATE("run_step carries tensors of all kinds both ways", Transport, TRANSPORTS) {
  Transport transport;
  RunStepRequest seen;
  RunStepReply given;
  given.tensors = {Tensor::scalar(int64_t{-1}), large_tensor(100'000),
                   Tensor::vector<std::string>({"a", "", "a longer string"}),
                   Tensor::allocate(DType::f32, {0, 3}).value()};
  given.metadata = some_metadata();
  transport.master_behind.on_run_step = keep(seen, given);
  RunStepRequest request;
  request.session_handle = "abc";
  request.feeds = {{"x:0", Tensor::of<float>({2, 2}, {1, 2, 3, 4})},
                   {"big:1", large_tensor(3'000'000)},
                   {"s:0", Tensor::scalar(std::string("text"))}};
  request.fetches = {"a:0", "b:0", "c:0", "d:0"};
  request.targets = {"train", "init"};
  request.options.trace = Trace::on;
  request.options.timeout = std::chrono::milliseconds(250);
  request.options.output_partition_graphs = true;
  request.partial_run_handle = "leg";
  for (const bool waiting : {false, true}) {
    const auto reply =
        ask(transport.master(), &MasterService::run_step, request, {.waiting = waiting});
    REQUIRE_MESSAGE(reply.ok(), reply.status().to_string());
    CHECK(reply->tensors == given.tensors);
    check_same(reply->metadata, given.metadata);
    CHECK(seen.session_handle == "abc");
    REQUIRE(seen.feeds.size() == 3);
    for (size_t i = 0; i < 3; ++i) {
      CHECK(seen.feeds[i].name == request.feeds[i].name);
      CHECK(seen.feeds[i].tensor == request.feeds[i].tensor);
    }
    CHECK(seen.fetches == request.fetches);
    CHECK(seen.targets == request.targets);
    CHECK(seen.options.trace == Trace::on);
    CHECK(seen.options.timeout == std::chrono::milliseconds(250));
    CHECK(seen.options.output_partition_graphs);
    CHECK(seen.partial_run_handle == "leg");
  }
}

TEST_CASE_TEMPLATE("a step without feeds and fetches is a step", Transport, TRANSPORTS) {
  Transport transport;
  RunStepRequest seen;
  seen.options.trace = Trace::on;
  transport.master_behind.on_run_step = keep(seen, RunStepReply());
  RunStepRequest request;
  request.targets = {"init"};
  const auto reply = ask(transport.master(), &MasterService::run_step, request);
  REQUIRE(reply.ok());
  CHECK(reply->tensors.empty());
  CHECK(seen.feeds.empty());
  CHECK(seen.options.trace == Trace::off);
}

TEST_CASE_TEMPLATE("partial_run_setup carries all names", Transport, TRANSPORTS) {
  Transport transport;
  PartialRunSetupRequest seen;
  transport.master_behind.on_partial_run_setup = keep(seen, PartialRunSetupReply{"17"});
  const auto reply = ask(transport.master(), &MasterService::partial_run_setup,
                         PartialRunSetupRequest{"abc", {"x:0"}, {"y:0", "z:0"}, {"t"}});
  REQUIRE(reply.ok());
  CHECK(reply->partial_run_handle == "17");
  CHECK(seen.session_handle == "abc");
  CHECK(seen.feeds == std::vector<std::string>{"x:0"});
  CHECK(seen.fetches == std::vector<std::string>{"y:0", "z:0"});
  CHECK(seen.targets == std::vector<std::string>{"t"});
}

TEST_CASE_TEMPLATE("close_session, list_devices and reset arrive", Transport, TRANSPORTS) {
  Transport transport;
  CloseSessionRequest closed;
  ListDevicesRequest listed;
  ResetRequest reset;
  transport.master_behind.on_close_session = keep(closed);
  transport.master_behind.on_list_devices =
      keep(listed, ListDevicesReply{two_devices(), two_devices()});
  transport.master_behind.on_reset = keep(reset);
  CHECK(ask(transport.master(), &MasterService::close_session, CloseSessionRequest{"abc"}).ok());
  CHECK(closed.session_handle == "abc");
  const auto devices =
      ask(transport.master(), &MasterService::list_devices, ListDevicesRequest{"def"});
  REQUIRE(devices.ok());
  CHECK(listed.session_handle == "def");
  check_same(devices->local, two_devices());
  check_same(devices->remote, two_devices());
  CHECK(
      ask(transport.master(), &MasterService::reset, ResetRequest{{"c1", "c2"}, {"/job:ps"}}).ok());
  CHECK(reset.containers == std::vector<std::string>{"c1", "c2"});
  CHECK(reset.device_filters == std::vector<std::string>{"/job:ps"});
}

TEST_CASE_TEMPLATE("a callable is made, run and released", Transport, TRANSPORTS) {
  Transport transport;
  MakeCallableRequest made;
  RunCallableRequest run;
  ReleaseCallableRequest released;
  transport.master_behind.on_make_callable = keep(made, MakeCallableReply{42});
  transport.master_behind.on_run_callable =
      keep(run, RunCallableReply{{large_tensor(5), Tensor::scalar(true)}, some_metadata()});
  transport.master_behind.on_release_callable = keep(released);
  MakeCallableRequest request{"abc", {"x:0"}, {"y:0", "z:0"}, {"t"}, {}};
  request.options.timeout = std::chrono::milliseconds(3);
  const auto handle = ask(transport.master(), &MasterService::make_callable, request);
  REQUIRE(handle.ok());
  CHECK(handle->handle == 42);
  CHECK(made.feeds == request.feeds);
  CHECK(made.fetches == request.fetches);
  CHECK(made.targets == request.targets);
  CHECK(made.options.timeout == std::chrono::milliseconds(3));
  const auto reply = ask(transport.master(), &MasterService::run_callable,
                         RunCallableRequest{"abc", 42, {large_tensor(1'000'000)}});
  REQUIRE(reply.ok());
  CHECK(reply->tensors == std::vector<Tensor>{large_tensor(5), Tensor::scalar(true)});
  check_same(reply->metadata, some_metadata());
  CHECK(run.handle == 42);
  CHECK(run.feeds == std::vector<Tensor>{large_tensor(1'000'000)});
  CHECK(ask(transport.master(), &MasterService::release_callable, ReleaseCallableRequest{"abc", 42})
            .ok());
  CHECK(released.handle == 42);
}

// ---- The worker ---------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("get_status reports devices", Transport, TRANSPORTS) {
  Transport transport;
  transport.worker_behind.on_get_status = [](const Call&, Done<GetStatusReply> done) {
    done(GetStatusReply{two_devices()});
  };
  Answered<GetStatusReply> answered;
  transport.worker().get_status(WhenDown::wait, {}, answered.done());
  const auto reply = answered.wait();
  REQUIRE(reply.ok());
  check_same(reply->devices, two_devices());
}

TEST_CASE_TEMPLATE("worker sessions are made and deleted", Transport, TRANSPORTS) {
  Transport transport;
  CreateWorkerSessionRequest made;
  DeleteWorkerSessionRequest deleted;
  transport.worker_behind.on_create_worker_session = keep(made);
  transport.worker_behind.on_delete_worker_session = keep(deleted);
  CreateWorkerSessionRequest request;
  request.session_handle = "abc";
  request.task = {"ps", 1, 3};
  REQUIRE(request.cluster.add_task("ps", 3, "h:1,h:2").ok());
  request.isolate_session_state = true;
  request.master_task = "/job:worker/replica:0/task:0";
  request.master_incarnation = 0xfedcba9876543210;
  CHECK(ask(transport.worker(), &WorkerService::create_worker_session, request).ok());
  CHECK(made.session_handle == "abc");
  CHECK(made.task == request.task);
  CHECK(made.cluster == request.cluster);
  CHECK(made.isolate_session_state);
  CHECK(made.master_task == request.master_task);
  CHECK(made.master_incarnation == request.master_incarnation);
  CHECK(ask(transport.worker(), &WorkerService::delete_worker_session,
            DeleteWorkerSessionRequest{"abc"})
            .ok());
  CHECK(deleted.session_handle == "abc");
}

TEST_CASE_TEMPLATE("a registered graph is the graph that was sent", Transport, TRANSPORTS) {
  Transport transport;
  RegisterGraphRequest seen;
  DeregisterGraphRequest gone;
  transport.worker_behind.on_register_graph = keep(seen, RegisterGraphReply{"g1"});
  transport.worker_behind.on_deregister_graph = keep(gone);
  auto graph = parse_graph(
      "a = Placeholder(dtype=float) -> /job:worker/replica:0/task:1/device:CPU:0\n"
      "b = Identity(a) ^a -> /job:worker/replica:0/task:1/device:CPU:0\n",
      testing::test_ops());
  REQUIRE_MESSAGE(graph.ok(), graph.status().to_string());
  RegisterGraphRequest request;
  request.session_handle = "abc";
  request.graph = std::make_shared<const Graph>(std::move(graph).value());
  for (const bool session_created : {true, false}) {
    request.create_worker_session_called = session_created;
    const auto reply = ask(transport.worker(), &WorkerService::register_graph, request);
    REQUIRE_MESSAGE(reply.ok(), reply.status().to_string());
    CHECK(reply->graph_handle == "g1");
    CHECK(seen.create_worker_session_called == session_created);
    CHECK(to_text(*seen.graph, {.devices = PrintOptions::Devices::hidden}) ==
          to_text(*request.graph, {.devices = PrintOptions::Devices::hidden}));
  }
  CHECK(ask(transport.worker(), &WorkerService::deregister_graph,
            DeregisterGraphRequest{"abc", true, "g1"})
            .ok());
  CHECK(gone.graph_handle == "g1");
  CHECK(gone.create_worker_session_called);
}

TEST_CASE_TEMPLATE("run_graph carries values, dead ones and statistics", Transport, TRANSPORTS) {
  Transport transport;
  RunGraphRequest seen;
  RunGraphReply given;
  given.values = {{large_tensor(2'000'000), false}, {Tensor(), true}, {Tensor::scalar(1.5), false}};
  given.traces = some_metadata().traces;
  given.partition_graphs = {small_graph()};
  transport.worker_behind.on_run_graph = keep(seen, given);
  RunGraphRequest request;
  request.session_handle = "abc";
  request.graph_handle = "g1";
  request.step_id = int64_t{1} << 56;
  request.keys = std::make_shared<const StepKeys>(StepKeys{{"k1", "k2"}, {"r1", "r2", "r3"}});
  request.values = {Tensor::scalar(1.0f), large_tensor(70'000)};
  request.trace = Trace::on;
  request.record_partition_graphs = true;
  request.is_partial = true;
  request.is_last_partial_run = true;
  request.request_id = -5;
  const auto reply = ask(transport.worker(), &WorkerService::run_graph, request);
  REQUIRE_MESSAGE(reply.ok(), reply.status().to_string());
  REQUIRE(reply->values.size() == 3);
  CHECK(reply->values[0].tensor == given.values[0].tensor);
  CHECK_FALSE(reply->values[0].is_dead);
  CHECK(reply->values[1].is_dead);
  CHECK(reply->values[2].tensor == given.values[2].tensor);
  CHECK(reply->traces.size() == 1);
  CHECK(reply->partition_graphs.size() == 1);
  CHECK(seen.session_handle == "abc");
  CHECK(seen.create_worker_session_called);
  CHECK(seen.graph_handle == "g1");
  CHECK(seen.step_id == int64_t{1} << 56);
  CHECK(seen.keys->send == request.keys->send);
  CHECK(seen.keys->receive == request.keys->receive);
  CHECK(seen.values == request.values);
  CHECK(seen.trace == Trace::on);
  CHECK(seen.record_partition_graphs);
  CHECK(seen.is_partial);
  CHECK(seen.is_last_partial_run);
  CHECK(seen.request_id == -5);
}

TEST_CASE_TEMPLATE("steps and containers are cleaned up", Transport, TRANSPORTS) {
  Transport transport;
  CleanupGraphRequest step;
  CleanupAllRequest containers;
  transport.worker_behind.on_cleanup_graph = keep(step);
  transport.worker_behind.on_cleanup_all = keep(containers);
  CHECK(ask(transport.worker(), &WorkerService::cleanup_graph, CleanupGraphRequest{77}).ok());
  CHECK(step.step_id == 77);
  CHECK(ask(transport.worker(), &WorkerService::cleanup_all, CleanupAllRequest{{"a", "b"}}).ok());
  CHECK(containers.containers == std::vector<std::string>{"a", "b"});
}

TEST_CASE_TEMPLATE("recv_tensor gives the tensor, whatever its size", Transport, TRANSPORTS) {
  Transport transport;
  RecvTensorRequest seen;
  for (const int64_t elements : {0, 1, 100, 300'000, 1'048'576, 5'000'001}) {
    RecvTensorReply given;
    given.delivery.tensor = large_tensor(elements);
    given.send_start_micros = 123;
    transport.worker_behind.on_recv_tensor = keep(seen, given);
    const auto reply = ask(transport.worker(), &WorkerService::recv_tensor,
                           RecvTensorRequest{9, "src;0;dst;t;0:0", 33});
    REQUIRE_MESSAGE(reply.ok(), reply.status().to_string());
    CHECK(reply->delivery.tensor.shape() == given.delivery.tensor.shape());
    CHECK((reply->delivery.tensor == given.delivery.tensor));
    CHECK_FALSE(reply->delivery.is_dead);
    CHECK(reply->send_start_micros == 123);
    CHECK(seen.step_id == 9);
    CHECK(seen.rendezvous_key == "src;0;dst;t;0:0");
    CHECK(seen.request_id == 33);
  }
}

TEST_CASE_TEMPLATE("a dead value arrives dead", Transport, TRANSPORTS) {
  Transport transport;
  RecvTensorRequest seen;
  RecvTensorReply given;
  given.delivery.is_dead = true;
  transport.worker_behind.on_recv_tensor = keep(seen, given);
  const auto reply =
      ask(transport.worker(), &WorkerService::recv_tensor, RecvTensorRequest{9, "k", 33});
  REQUIRE(reply.ok());
  CHECK(reply->delivery.is_dead);
}

// ---- Errors -------------------------------------------------------------------------------------

void check_same_error(const Status& given, const Status& got) {
  CHECK(got.code() == given.code());
  CHECK(got.message() == given.message());
  CHECK(got.is_consequence() == given.is_consequence());
  for (const auto& [url, bytes] : given.payloads())
    CHECK(got.payloads().find(url)->second == bytes);
}

TEST_CASE_TEMPLATE("every code, message, payload and consequence comes back", Transport,
                   TRANSPORTS) {
  Transport transport;
  const std::vector<Status> errors = {
      out_of_range("FIFOQueue '_1_q' is closed and has insufficient elements"),
      failed_precondition("Attempting to use uninitialized value w"),
      aborted("restarted").with_payload(kWorkerPossiblyRestartedUrl, ""),
      cancelled("step was cancelled").as_consequence(),
      unavailable("the worker is gone"),
      invalid("non-ASCII: \xc3\xa4\xe2\x82\xac, and a line\nbreak"),
  };
  for (const Status& given : errors) {
    CAPTURE(given.to_string());
    transport.master_behind.on_run_step = [&](RunStepRequest, const Call&,
                                              Done<RunStepReply> done) { done(given); };
    transport.master_behind.on_run_callable = [&](RunCallableRequest, const Call&,
                                                  Done<RunCallableReply> done) { done(given); };
    transport.master_behind.on_reset = [&](ResetRequest, const Call&, Done<void> done) {
      done(given);
    };
    transport.worker_behind.on_run_graph = [&](RunGraphRequest, const Call&,
                                               Done<RunGraphReply> done) { done(given); };
    transport.worker_behind.on_recv_tensor = [&](RecvTensorRequest, const Call&,
                                                 Done<RecvTensorReply> done) { done(given); };
    check_same_error(given, ask(transport.master(), &MasterService::run_step, {}).status());
    check_same_error(given, ask(transport.master(), &MasterService::run_callable, {}).status());
    check_same_error(given, ask(transport.master(), &MasterService::reset, {}));
    check_same_error(given, ask(transport.worker(), &WorkerService::run_graph, {}).status());
    check_same_error(given, ask(transport.worker(), &WorkerService::recv_tensor, {}).status());
  }
}

TEST_CASE_TEMPLATE("a long message of a step is not cut", Transport, TRANSPORTS) {
  Transport transport;
  const Status given = internal(std::string(100'000, 'x'));
  transport.master_behind.on_run_step = [&](RunStepRequest, const Call&, Done<RunStepReply> done) {
    done(given);
  };
  CHECK(ask(transport.master(), &MasterService::run_step, {}).status() == given);
}

TEST_CASE_TEMPLATE("a call that its service drops is answered", Transport, TRANSPORTS) {
  Transport transport;
  transport.master_behind.on_reset = [](ResetRequest, const Call&, Done<void>) {};
  const Status status = ask(transport.master(), &MasterService::reset, {});
  CHECK(status.code() == Code::internal);
}

// ---- Ending a call early ------------------------------------------------------------------------

TEST_CASE_TEMPLATE("cancelling a call cancels it at the service, which may answer late", Transport,
                   TRANSPORTS) {
  Transport transport;
  std::promise<void> arrived;
  std::promise<void> ended;
  Cancellation::Registration registration;
  Done<RunGraphReply> owed;
  transport.worker_behind.on_run_graph = [&](RunGraphRequest, const Call& call,
                                             Done<RunGraphReply> done) {
    owed = std::move(done);
    registration = call.cancellation->on_cancel([&](const Status&) { ended.set_value(); });
    arrived.set_value();
  };
  Cancellation cancellation;
  Answered<RunGraphReply> answered;
  transport.worker().run_graph({}, {.cancellation = &cancellation}, answered.done());
  arrived.get_future().wait();
  cancellation.cancel(aborted("the step was given up"));
  ended.get_future().wait();
  registration.release();
  owed(aborted("the step was given up").as_consequence());
  const Status status = answered.wait().status();
  CHECK(status == aborted("the step was given up"));
  CHECK(status.is_consequence());
}

TEST_CASE_TEMPLATE("many calls wait at a service at the same time", Transport, TRANSPORTS) {
  Transport transport;
  constexpr int kCalls = 300;
  Mutex mutex;
  std::vector<Done<RecvTensorReply>> waiting;
  std::promise<void> all_there;
  transport.worker_behind.on_recv_tensor = [&](RecvTensorRequest, const Call&,
                                               Done<RecvTensorReply> done) {
    MutexLock lock(mutex);
    waiting.push_back(std::move(done));
    if (waiting.size() == kCalls) all_there.set_value();
  };
  std::vector<Answered<RecvTensorReply>> answers(kCalls);
  for (int i = 0; i < kCalls; ++i)
    transport.worker().recv_tensor({1, "k", i + 1}, {}, answers[static_cast<size_t>(i)].done());
  all_there.get_future().wait();
  // Others get through meanwhile.
  CHECK(ask(transport.worker(), &WorkerService::cleanup_graph, CleanupGraphRequest{1}).ok());
  for (Done<RecvTensorReply>& done : waiting) {
    RecvTensorReply reply;
    reply.delivery.tensor = Tensor::scalar(1.0f);
    done(std::move(reply));
  }
  for (auto& answer : answers) CHECK(answer.wait().ok());
}

}  // namespace
}  // namespace millrace
