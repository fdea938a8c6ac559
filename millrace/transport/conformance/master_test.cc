// The master's methods through every transport.
#include "millrace/transport/conformance/testing/suite.h"

namespace millrace::testing {
namespace {

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
  request.options.threads = {.intra_op = 3, .inter_op = 2};
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
  CHECK(seen.options.threads.intra_op == 3);
  CHECK(seen.options.threads.inter_op == 2);
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

TEST_CASE_TEMPLATE("describe carries what a task waits for, or that it does not tell", Transport,
                   TRANSPORTS) {
  Transport transport;
  const auto told = [&] {
    Answered<TaskDescription> answered;
    transport.master().describe({}, answered.done());
    auto outcome = answered.wait();
    transport::take_over(&the_network);
    return outcome;
  };
  CHECK(told().status().code() == Code::unimplemented);
  transport.master_behind.on_describe = [](Call, Done<TaskDescription> done) {
    transport::hand_over(&the_network);
    done(TaskDescription{.task = "/job:a/replica:0/task:0",
                         .waits = {"for x", "for y"},
                         .ended = {{{"b", 0, 1}, 0xfedcba9876543210}}});
  };
  const auto description = told();
  REQUIRE(description.ok());
  CHECK(description->task == "/job:a/replica:0/task:0");
  CHECK(description->waits == std::vector<std::string>{"for x", "for y"});
  REQUIRE(description->ended.size() == 1);
  CHECK(description->ended[0].task == TaskName{"b", 0, 1});
  CHECK(description->ended[0].incarnation == 0xfedcba9876543210);
}

}  // namespace
}  // namespace millrace::testing
