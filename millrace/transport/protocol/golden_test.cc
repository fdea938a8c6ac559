// Messages without fields (GetStatusRequest, most responses) are no bytes at all and stand in no
// file; messages of our own are called by the method that they belong to.
#include "millrace/wire/testing/golden.h"

#include <functional>

#include <doctest/doctest.h>

#include "millrace/graph/testing/test_ops.h"
#include "millrace/transport/protocol/codec_recv_tensor.h"
#include "millrace/transport/protocol/codec_run_graph.h"
#include "millrace/transport/protocol/codec_session.h"
#include "millrace/transport/protocol/codec_standby.h"
#include "millrace/transport/protocol/codec_step.h"
#include "millrace/transport/protocol/codec_worker.h"
#include "millrace/transport/protocol/status_codec.h"
#include "millrace/transport/protocol/testing/labels.h"

namespace millrace::transport {
namespace {

using wire::testing::GoldenMessage;

// A message that we write, and how what we read of it is written again.
struct Written {
  GoldenMessage golden;
  std::function<Result<std::string>(std::string_view)> again;
};

Result<std::string> joined(const Result<wire::Pieces>& message) {
  if (!message.ok()) return message.status();
  return message->join();
}

template <class Message>
Written written(std::string type, std::string what, const Message& message) {
  return {{std::move(type), std::move(what), joined(encode(message)).value()},
          [](std::string_view bytes) -> Result<std::string> {
            Message read;
            MR_TRY(decode(Chunks(bytes), read));
            return joined(encode(read));
          }};
}

void check(const std::string& path, const std::vector<Written>& samples) {
  std::vector<GoldenMessage> messages;
  for (const Written& sample : samples) messages.push_back(sample.golden);
  wire::testing::check_golden(path, messages, testing::kLabels);
  for (const Written& sample : samples) {
    CAPTURE(sample.golden.type);
    CAPTURE(sample.golden.what);
    const Result<std::string> again = sample.again(sample.golden.bytes);
    REQUIRE_MESSAGE(again.ok(), again.status().to_string());
    CHECK(*again == sample.golden.bytes);
  }
}

// ---- What messages are made of ------------------------------------------------------------------

wire::GraphDef small_graph() {
  wire::GraphDef graph;
  wire::NodeDef& node = graph.nodes.emplace_back();
  node.name = "c";
  node.op = "Const";
  node.attrs = {{"dtype", DType::f32}, {"value", Tensor::of<float>({2}, {1, 2})}};
  graph.versions.producer = 1882;
  wire::FunctionDef& function = graph.functions.emplace_back();
  function.name = "f";
  function.outputs = {{.name = "y", .dtype = DType::f32}};
  function.nodes = {{.name = "n", .op = "NoOp"}};
  return graph;
}

// One task of each job: the entries of protobuf's maps have no order.
ClusterSpec small_cluster() {
  ClusterSpec cluster;
  REQUIRE(cluster.add_job("ps", {"a:1"}).ok());
  REQUIRE(cluster.add_task("worker", 3, "b:2").ok());
  return cluster;
}

RunOptions traced() {
  return {
      .trace = Trace::on, .timeout = std::chrono::milliseconds(5), .output_partition_graphs = true};
}

std::vector<DeviceTrace> some_traces() {
  NodeTiming timing{.node_name = "sum",
                    .op = "Add",
                    .start_micros = 1700000000000000,
                    .end_micros = 1700000000000250,
                    .thread = 7};
  timing.outputs = {{.slot = 1, .dtype = DType::f32, .shape = Shape{2, 3}}};
  return {{"/job:worker/replica:0/task:0/device:CPU:0", {timing}}};
}

DeviceAttributes some_device() {
  return {.name = "/job:worker/replica:0/task:0/device:CPU:0",
          .type = "CPU",
          .memory_limit = 1 << 28,
          .incarnation = 0x0123456789abcdef,
          .description = "a processor"};
}

Status an_error() {
  return not_found("no such key").with_payload("type.googleapis.com/acme.Where", "here");
}
Status a_consequence() { return aborted("Stopping remaining executors.").as_consequence(); }

// ---- The master service -------------------------------------------------------------------------

TEST_CASE("what opens, changes and closes sessions is written as it always was") {
  SessionOptions options{.device_filters = {"/job:ps"},
                         .allow_soft_placement = true,
                         .log_device_placement = true,
                         .isolate_session_state = true,
                         .disable_optimizer = true,
                         .operation_timeout = std::chrono::milliseconds(1500),
                         .cluster = small_cluster(),
                         .share_state_in_sent_cluster = true,
                         .use_per_session_threads = true,
                         .names_thread_pools = true};
  check("testdata/sessions.txt",
        {written("CreateSessionRequest", "nothing asked for", CreateSessionRequest{}),
         written("CreateSessionRequest", "everything",
                 CreateSessionRequest{small_graph(), options, "grpc://a:1"}),
         written("CreateSessionResponse", "a session", CreateSessionReply{"session", 1}),
         written("ExtendSessionRequest", "a graph with a function",
                 ExtendSessionRequest{"session", small_graph(), 1}),
         written("ExtendSessionResponse", "the next version", ExtendSessionReply{2}),
         written("CloseSessionRequest", "a session", CloseSessionRequest{"session"}),
         written("ListDevicesRequest", "of a session", ListDevicesRequest{"session"}),
         written("ListDevicesResponse", "a near and a far device",
                 ListDevicesReply{{some_device()}, {some_device()}}),
         written("ResetRequest", "two containers", ResetRequest{{"a", "b"}, {"/job:ps"}})});
}

Written step_answer(std::string what, const wire::Pieces& message) {
  return {{"RunStepResponse", std::move(what), message.join()},
          [](std::string_view bytes) -> Result<std::string> {
            AnsweredRunStep answer;
            MR_TRY(decode(Chunks(bytes), {"y:0"}, answer));
            if (!answer.error.ok()) return encode_run_step_error(answer.error).join();
            return joined(encode(answer.reply, {"y:0"}));
          }};
}

Written step_request(std::string what, const RunStepRequest& request) {
  return {{"RunStepRequest", std::move(what), joined(encode(request)).value()},
          [](std::string_view bytes) -> Result<std::string> {
            ReceivedRunStep received;
            MR_TRY(decode(Chunks(bytes), received));
            if (!received.errors_in_body) return internal("errors are not asked for in the body");
            return joined(encode(received.request));
          }};
}

TEST_CASE("steps of a client are written as they always were") {
  RunStepRequest request{.session_handle = "session",
                         .feeds = {{"x:0", Tensor::of<float>({2}, {1, 2})},
                                   {"s:0", Tensor::vector<std::string>({"one", ""})}},
                         .fetches = {"y:0", "z:1"},
                         .targets = {"train"},
                         .options = traced(),
                         .partial_run_handle = "partial"};
  RunStepReply reply{.tensors = {Tensor::scalar(1.0f)}};
  RunStepReply with_traces = reply;
  with_traces.metadata = {some_traces(), {small_graph()}};
  check("testdata/run_step.txt",
        {step_request("nothing but a fetch", {.session_handle = "session", .fetches = {"y:0"}}),
         step_request("everything", request),
         step_answer("one tensor", encode(reply, {"y:0"}).value()),
         step_answer("with what was traced", encode(with_traces, {"y:0"}).value()),
         step_answer("an error with a payload", encode_run_step_error(an_error())),
         step_answer("a consequence", encode_run_step_error(a_consequence()))});
}

TEST_CASE("partial runs and callables are written as they always were") {
  check("testdata/callables.txt",
        {written("PartialRunSetupRequest", "a feed, two fetches and a target",
                 PartialRunSetupRequest{"session", {"x:0"}, {"y:0", "z:0"}, {"train"}}),
         written("PartialRunSetupResponse", "a handle", PartialRunSetupReply{"partial"}),
         written("MakeCallableRequest", "everything",
                 MakeCallableRequest{"session", {"x:0"}, {"y:0"}, {"train"}, traced()}),
         written("MakeCallableRequest", "a tensor that stands for another",
                 MakeCallableRequest{"session", {}, {"y:0"}, {}, {}, {{"a:0", "x:0"}}}),
         written("MakeCallableResponse", "a handle", MakeCallableReply{3}),
         written("RunCallableRequest", "two feeds",
                 RunCallableRequest{
                     "session", 3, {Tensor::scalar(1.0f), Tensor::vector<std::string>({"a"})}}),
         written("RunCallableResponse", "a tensor and what was traced",
                 RunCallableReply{{Tensor::scalar(true)}, {some_traces(), {}}}),
         written("ReleaseCallableRequest", "a handle", ReleaseCallableRequest{"session", 3})});
}

// ---- The worker service -------------------------------------------------------------------------

Written registered(std::string what, const RegisterGraphRequest& request) {
  return {{"RegisterGraphRequest", std::move(what), joined(encode(request)).value()},
          [](std::string_view bytes) -> Result<std::string> {
            RegisterGraphRequest read;
            MR_TRY(decode(Chunks(bytes), millrace::testing::test_ops(), read));
            return joined(encode(read));
          }};
}

TEST_CASE("what prepares and tidies up a worker is written as it always was") {
  Result<Graph> graph =
      parse_graph("x = Placeholder(dtype=float)\ny = Identity(x)\n", millrace::testing::test_ops());
  REQUIRE_MESSAGE(graph.ok(), graph.status().to_string());
  const RegisterGraphRequest request{
      .session_handle = "session",
      .graph = std::make_shared<const Graph>(std::move(graph).value())};
  check(
      "testdata/worker_sessions.txt",
      {written("GetStatusResponse", "one device", GetStatusReply{{some_device()}}),
       written("GetStatusResponse", "what the task can",
               GetStatusReply{.devices = {some_device()}, .can = Capabilities::own()}),
       written("CreateWorkerSessionRequest", "everything",
               CreateWorkerSessionRequest{.session_handle = "session",
                                          .task = {.job = "worker", .replica = 0, .task = 3},
                                          .cluster = std::make_shared<SentCluster>(small_cluster()),
                                          .isolate_session_state = true,
                                          .master_task = "/job:worker/replica:0/task:0",
                                          .master_incarnation = 0x8123456789abcdef}),
       written("DeleteWorkerSessionRequest", "a session", DeleteWorkerSessionRequest{"session"}),
       registered("a graph of two nodes", request),
       written("RegisterGraphResponse", "a handle", RegisterGraphReply{"graph"}),
       written("DeregisterGraphRequest", "a graph of a session",
               DeregisterGraphRequest{.session_handle = "session", .graph_handle = "graph"}),
       written("CleanupGraphRequest", "a step", CleanupGraphRequest{0x0123456789abcdef}),
       written("CleanupAllRequest", "two containers", CleanupAllRequest{{"a", "b"}})});
}

Written graph_run(std::string what, const RunGraphRequest& request) {
  return {{"RunGraphRequest", std::move(what), joined(encode(request)).value()},
          [](std::string_view bytes) -> Result<std::string> {
            ReceivedRunGraph received;
            MR_TRY(decode(Chunks(bytes), received));
            if (!received.errors_in_body) return internal("errors are not asked for in the body");
            return joined(encode(received.request));
          }};
}

const StepKeys kTwoKeys{{}, {"key;a", "key;b"}};

Written graph_answer(std::string what, const wire::Pieces& message) {
  return {{"RunGraphResponse", std::move(what), message.join()},
          [](std::string_view bytes) -> Result<std::string> {
            AnsweredRunGraph answer;
            MR_TRY(decode(Chunks(bytes), kTwoKeys, answer));
            if (!answer.error.ok()) return encode_run_graph_error(answer.error).join();
            return joined(encode(answer.reply, kTwoKeys));
          }};
}

TEST_CASE("a worker's part of a step is written as it always was") {
  RunGraphRequest least;
  least.session_handle = "session";
  least.graph_handle = "graph";
  RunGraphRequest request = least;
  request.step_id = 0x0123456789abcdef;
  request.keys = std::make_shared<const StepKeys>(StepKeys{{"key;x"}, {"key;a", "key;b"}});
  request.values = {Tensor::scalar(1.0f)};
  request.trace = Trace::on;
  request.record_partition_graphs = true;
  request.is_partial = true;
  request.is_last_partial_run = true;
  request.request_id = 4;
  RunGraphReply reply{.values = {{Tensor::scalar(1.0f), false}, {Tensor::scalar(2.0f), false}}};
  RunGraphReply with_traces = reply;
  with_traces.traces = some_traces();
  with_traces.partition_graphs = {small_graph()};
  const RunGraphReply dead{.values = {{Tensor::scalar(1.0f), false}, {Tensor(), true}}};
  check("testdata/run_graph.txt",
        {graph_run("nothing but a graph", least), graph_run("everything", request),
         graph_answer("two values", encode(reply, kTwoKeys).value()),
         graph_answer("the second value is dead", encode(dead, kTwoKeys).value()),
         graph_answer("with what was traced", encode(with_traces, kTwoKeys).value()),
         graph_answer("an error with a payload", encode_run_graph_error(an_error())),
         graph_answer("a consequence", encode_run_graph_error(a_consequence()))});
}

Written tensor_request(std::string what, Parts parts) {
  return {{"RecvTensorRequest", std::move(what), encode({9, "a;b;c", 3}, parts).join()},
          [](std::string_view bytes) -> Result<std::string> {
            ReceivedRecvTensor received;
            MR_TRY(decode(Chunks(bytes), received));
            return encode(received.request, received.parts).join();
          }};
}

Written unread(std::string type, std::string what, std::string bytes) {
  return {{std::move(type), std::move(what), std::move(bytes)},
          [](std::string_view same) -> Result<std::string> { return std::string(same); }};
}

TEST_CASE("tensors between workers are asked for and announced as they always were") {
  const Tensor large = Tensor::zeros(DType::f32, {3, 1 << 20}).value();
  const auto messages =
      encode_recv_tensor_reply({.delivery = {large, false}, .send_start_micros = 5}, Parts::taken)
          .value();
  // The parts that follow are the content itself, cut every MiB.
  CHECK(messages.size() == 1 + 12);
  check("testdata/recv_tensor.txt",
        {tensor_request("of a TensorFlow worker", Parts::refused),
         tensor_request("of a Millrace worker", Parts::taken),
         unread("RecvTensorResponse", "the head of a large tensor that comes in parts",
                messages.front().join()),
         unread("MarkRecvFinishedRequest", "a request that was answered",
                encode_mark_recv_finished(3).join())});
}

// ---- The service of our own ---------------------------------------------------------------------

TEST_CASE("what tasks of ours tell each other of themselves is written as it always was") {
  const EndedTask ended{{.job = "map", .replica = 0, .task = 7}, 0x0123456789abcdef};
  check("testdata/tasks.txt",
        {written("EndedTask", "who says farewell", ended),
         written("TaskDescription", "a task that waits, and knows of one that has ended",
                 TaskDescription{.task = "/job:map/replica:0/task:1",
                                 .waits = {"step 3 waits 2 s for a:1", "its queue is empty"},
                                 .ended = {ended}}),
         written("GetStatusResponse", "who has ended", GetStatusReply{.ended = {ended}})});
}

TEST_CASE("what is said of a state that two tasks hold is written as it always was") {
  const Term term{.number = 7, .owner = 0x0123456789abcdef, .since = 5, .standby = 300};
  const StandbyMessage group{
      .kind = StandbyMessage::Kind::group, .store = 3, .term = term, .kept = {5, 11}};
  check("testdata/standby.txt",
        {written("WitnessRequest", "news of all states", WitnessRequest{.newer_than = 9}),
         written(
             "WitnessRequest", "a term is wanted",
             WitnessRequest{.state = "/job:ps/replica:0/task:0", .wanted = term, .address = "a:1"}),
         written("WitnessResponse", "two states, one of which nobody owns yet",
                 WitnessReply{4, {{"x", term, "a:1"}, {"y", {}, "b:2"}}}),
         written("StandbyRequest", "a side that joins",
                 StandbyParcel{.state = "x",
                               .address = "b:2",
                               .message = {.kind = StandbyMessage::Kind::join, .store = 3}}),
         written("StandbyRequest", "the first part of a group",
                 StandbyParcel{.state = "x",
                               .address = "a:1",
                               .message = group,
                               .is_last = false,
                               .records = std::string("\0\1\xff", 3)}),
         written("StandbyRequest", "its last part",
                 StandbyParcel{.state = "x", .address = "a:1", .message = group, .part = 1})});
}

// ---- Errors -------------------------------------------------------------------------------------

TEST_CASE("details of errors in the trailer are written as they always were") {
  const auto in_trailer = [](std::string what, const Status& error) -> Written {
    const WireStatus sent = to_wire_status(error);
    return {{std::string(testing::kPayloadContainer), std::move(what), sent.details},
            [sent](std::string_view details) -> Result<std::string> {
              WireStatus received = sent;
              received.details = details;
              return to_wire_status(from_wire_status(received)).details;
            }};
  };
  check("testdata/errors.txt", {in_trailer("an error with a payload", an_error()),
                                in_trailer("a consequence", a_consequence()),
                                in_trailer("unavailable, hidden from TensorFlow's clients",
                                           hide_unavailable(unavailable("worker:1 is gone")))});
}

}  // namespace
}  // namespace millrace::transport
