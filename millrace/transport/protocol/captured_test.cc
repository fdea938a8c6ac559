// What TensorFlow itself wrote, captured once by tests/interop/capture_messages, means to our
// codecs what it meant to TensorFlow. Handles, times and incarnations differ from capture to
// capture.
#include <algorithm>
#include <map>

#include <doctest/doctest.h>

#include "millrace/transport/protocol/codec_recv_tensor.h"
#include "millrace/transport/protocol/codec_run_graph.h"
#include "millrace/transport/protocol/codec_session.h"
#include "millrace/transport/protocol/codec_step.h"
#include "millrace/transport/protocol/codec_worker.h"
#include "millrace/transport/protocol/testing/labels.h"
#include "millrace/wire/known_variants.h"
#include "millrace/wire/worker.pb.h"

namespace millrace::transport {
namespace {

using wire::testing::GoldenMessage;

constexpr char kPath[] = "testdata/tensorflow.txt";

// The message of that type and scene.
std::string captured(std::string_view type, std::string_view scene) {
  for (const GoldenMessage& message : wire::testing::read_golden(kPath))
    if (message.type == type && message.what.starts_with(str_cat(scene, ": ")))
      return message.bytes;
  FAIL(kPath, " has no ", type, " of the scene '", scene, "'");
  return "";
}

template <class Message>
Message read(std::string_view type, std::string_view scene) {
  Message message;
  const std::string bytes = captured(type, scene);
  const Status status = decode(Chunks(bytes), message);
  REQUIRE_MESSAGE(status.ok(), status.to_string());
  return message;
}

const Tensor kOneTwo = Tensor::vector<float>({1, 2});
const Tensor kTwoFour = Tensor::vector<float>({2, 4});

TEST_CASE("the comments to captured messages are those of today's renderer") {
  wire::testing::check_golden(kPath, wire::testing::read_golden(kPath), testing::kLabels);
}

// ---- Clients and masters ------------------------------------------------------------------------

TEST_CASE("a client's session has its graph, functions and options") {
  const auto request = read<CreateSessionRequest>("CreateSessionRequest", "opening");
  CHECK(request.options.isolate_session_state);
  CHECK(request.options.disable_optimizer);
  CHECK(request.options.device_filters == std::vector<std::string>{"/job:worker"});
  CHECK(request.options.operation_timeout == std::chrono::minutes(10));
  CHECK_FALSE(request.graph.functions.empty());
  const auto doubled = std::ranges::find(request.graph.nodes, "doubled", &wire::NodeDef::name);
  REQUIRE(doubled != request.graph.nodes.end());
  CHECK(doubled->op == "AddV2");
  CHECK(doubled->inputs == std::vector<std::string>{"x", "x"});
  CHECK(doubled->device == "/job:worker/task:0");
  const auto reply = read<CreateSessionReply>("CreateSessionResponse", "opening");
  CHECK_FALSE(reply.session_handle.empty());
  CHECK(read<CloseSessionRequest>("CloseSessionRequest", "closing").session_handle ==
        reply.session_handle);
  const auto more = read<ExtendSessionRequest>("ExtendSessionRequest", "extended");
  CHECK(more.session_handle == reply.session_handle);
  REQUIRE(more.graph.nodes.size() == 1);
  CHECK(more.graph.nodes[0].op == "NoOp");
  CHECK(read<ExtendSessionReply>("ExtendSessionResponse", "extended").new_graph_version >
        more.current_graph_version);
}

TEST_CASE("a master's list of devices names both tasks") {
  CHECK_FALSE(read<ListDevicesRequest>("ListDevicesRequest", "opening").session_handle.empty());
  const auto devices = read<ListDevicesReply>("ListDevicesResponse", "opening");
  // All of them: TensorFlow calls those remote that are of no task of the session's.
  REQUIRE(devices.local.size() == 2);
  CHECK(devices.remote.empty());
  CHECK(devices.local[0].name == "/job:worker/replica:0/task:0/device:CPU:0");
  CHECK(devices.local[1].name == "/job:worker/replica:0/task:1/device:CPU:0");
  CHECK(devices.local[1].type == "CPU");
  CHECK(devices.local[1].incarnation != 0);
}

TEST_CASE("a client's step and its answer") {
  const auto step = read<ReceivedRunStep>("RunStepRequest", "step");
  CHECK(step.errors_in_body);
  REQUIRE(step.request.feeds.size() == 1);
  CHECK(step.request.feeds[0].name == "doubled:0");
  CHECK(step.request.feeds[0].tensor == kOneTwo);
  CHECK(step.request.fetches == std::vector<std::string>{"y:0"});
  CHECK(step.request.targets == std::vector<std::string>{"target_op"});
  AnsweredRunStep answer;
  REQUIRE(decode(Chunks(captured("RunStepResponse", "step")), {"y:0"}, answer).ok());
  CHECK(answer.error.ok());
  CHECK(answer.reply.tensors == std::vector<Tensor>{kOneTwo});
}

TEST_CASE("every type that clients feed comes back as it went") {
  const auto step = read<ReceivedRunStep>("RunStepRequest", "dtypes");
  REQUIRE(step.request.feeds.size() == 15);
  AnsweredRunStep answer;
  const std::string reply = captured("RunStepResponse", "dtypes");
  REQUIRE(decode(Chunks(reply), step.request.fetches, answer).ok());
  for (const NamedTensor& feed : step.request.feeds) {
    const std::string fetch = "out" + feed.name.substr(2);
    CAPTURE(fetch);
    const auto at = std::ranges::find(step.request.fetches, fetch);
    REQUIRE(at != step.request.fetches.end());
    const auto index = static_cast<size_t>(at - step.request.fetches.begin());
    CHECK(answer.reply.tensors[index] == feed.tensor);
    CHECK(dtype_from_name(feed.name.substr(3, feed.name.find(':') - 3)) == feed.tensor.dtype());
  }
  // A TensorFlow server sorts what was fetched by name and ends with empty metadata, neither of
  // which its client needs. Otherwise it and ours write such an answer in the same way, to the last
  // byte.
  std::map<std::string, Tensor> sorted;
  for (size_t i = 0; i < step.request.fetches.size(); ++i)
    sorted.emplace(step.request.fetches[i], answer.reply.tensors[i]);
  RunStepReply ours;
  std::vector<std::string> names;
  for (const auto& [name, tensor] : sorted) {
    names.push_back(name);
    ours.tensors.push_back(tensor);
  }
  const auto text = [](std::string bytes) {
    return golden_text({"RunStepResponse", "every type", std::move(bytes)}, testing::kLabels);
  };
  const std::string no_metadata("\x12\0", 2);
  CHECK(text(encode(ours, names).value().join() + no_metadata) == text(reply));
}

TEST_CASE("a handle of a variable that a client fetched") {
  AnsweredRunStep answer;
  REQUIRE(decode(Chunks(captured("RunStepResponse", "handle")), {"handle:0"}, answer).ok());
  REQUIRE(answer.reply.tensors.size() == 1);
  const auto& handle = answer.reply.tensors[0].item<ResourceHandle>();
  CHECK(handle.device == "/job:worker/replica:0/task:1/device:CPU:0");
  CHECK(handle.name == "v");
  REQUIRE(handle.dtypes_and_shapes.size() == 1);
  CHECK(handle.dtypes_and_shapes[0].first == DType::f32);
}

TEST_CASE("an error in a body names what failed") {
  AnsweredRunStep step;
  REQUIRE(decode(Chunks(captured("RunStepResponse", "error")), {"refused:0"}, step).ok());
  CHECK(step.error.code() == Code::invalid_argument);
  CHECK(step.error.message().find("too small") != std::string_view::npos);
  AnsweredRunGraph part;
  REQUIRE(decode(Chunks(captured("RunGraphResponse", "error")), StepKeys{}, part).ok());
  CHECK(part.error.code() == Code::invalid_argument);
}

TEST_CASE("a trace names the nodes that ran") {
  const auto step = read<ReceivedRunStep>("RunStepRequest", "traced");
  CHECK(step.request.options.trace == Trace::on);
  CHECK(step.request.options.output_partition_graphs);
  CHECK(step.request.options.timeout == std::chrono::minutes(1));
  AnsweredRunStep answer;
  REQUIRE(decode(Chunks(captured("RunStepResponse", "traced")), {}, answer).ok());
  CHECK_FALSE(answer.reply.metadata.traces.empty());
  CHECK_FALSE(answer.reply.metadata.partition_graphs.empty());
}

TEST_CASE("partial runs and callables") {
  const auto setup = read<PartialRunSetupRequest>("PartialRunSetupRequest", "partial");
  CHECK(setup.feeds.size() == 2);
  CHECK(setup.fetches.size() == 2);
  const auto handle = read<PartialRunSetupReply>("PartialRunSetupResponse", "partial");
  const auto leg = read<ReceivedRunStep>("RunStepRequest", "partial");
  CHECK(leg.request.partial_run_handle == handle.partial_run_handle);
  CHECK(read<ReceivedRunGraph>("RunGraphRequest", "partial").request.is_partial);
  const auto make = read<MakeCallableRequest>("MakeCallableRequest", "callable");
  CHECK(make.feeds == std::vector<std::string>{"x:0"});
  CHECK(make.fetches == std::vector<std::string>{"y:0"});
  const auto made = read<MakeCallableReply>("MakeCallableResponse", "callable");
  const auto call = read<RunCallableRequest>("RunCallableRequest", "callable");
  CHECK(call.handle == made.handle);
  CHECK(call.feeds == std::vector<Tensor>{kOneTwo});
  CHECK(read<RunCallableReply>("RunCallableResponse", "callable").tensors ==
        std::vector<Tensor>{kTwoFour});
  CHECK(read<ReleaseCallableRequest>("ReleaseCallableRequest", "callable").handle == made.handle);
  CHECK(read<ResetRequest>("ResetRequest", "reset").containers ==
        std::vector<std::string>{"scratch"});
}

// ---- Masters and workers ------------------------------------------------------------------------

TEST_CASE("a master makes and ends sessions of workers") {
  const auto status = read<GetStatusReply>("GetStatusResponse", "opening");
  REQUIRE(status.devices.size() == 1);
  CHECK(status.devices[0].incarnation != 0);
  const auto create = read<CreateWorkerSessionRequest>("CreateWorkerSessionRequest", "opening");
  CHECK(create.isolate_session_state);
  CHECK(create.master_task == "/job:worker/replica:0/task:0");
  CHECK(create.master_incarnation != 0);
  CHECK(read<DeleteWorkerSessionRequest>("DeleteWorkerSessionRequest", "closing").session_handle ==
        create.session_handle);
  CHECK(read<CleanupAllRequest>("CleanupAllRequest", "reset").containers ==
        std::vector<std::string>{"scratch"});
}

TEST_CASE("a master registers, runs and forgets a worker's part of a graph") {
  // The ops of the graph are above this room: here only its nodes are read.
  tensorflow::RegisterGraphRequest message;
  REQUIRE(message.ParseFromString(captured("RegisterGraphRequest", "step")));
  const auto graph = wire::parse_graph_def(message.graph_def());
  REQUIRE_MESSAGE(graph.ok(), graph.status().to_string());
  CHECK_FALSE(graph->nodes.empty());
  CHECK(message.create_worker_session_called());
  CHECK_FALSE(read<RegisterGraphReply>("RegisterGraphResponse", "step").graph_handle.empty());
  const auto run = read<ReceivedRunGraph>("RunGraphRequest", "step");
  CHECK(run.request.create_worker_session_called);
  CHECK(run.request.session_handle == message.session_handle());
  CHECK(run.request.step_id != 0);
  AnsweredRunGraph answer;
  const Status status =
      decode(Chunks(captured("RunGraphResponse", "step")), *run.request.keys, answer);
  REQUIRE_MESSAGE(status.ok(), status.to_string());
  CHECK(answer.error.ok());
  CHECK(read<CleanupGraphRequest>("CleanupGraphRequest", "step").step_id != 0);
}

Tensor received(std::string_view scene) {
  TensorReceiver receiver;
  const std::string bytes = captured("RecvTensorResponse", scene);
  const Result<bool> more = receiver.add(Chunks(bytes));
  REQUIRE_MESSAGE(more.ok(), more.status().to_string());
  CHECK_FALSE(*more);
  return receiver.take().delivery.tensor;
}

TEST_CASE("tensors come from a worker as they were sent") {
  const auto request = read<ReceivedRecvTensor>("RecvTensorRequest", "step");
  CHECK(request.parts == Parts::refused);
  CHECK(request.request.rendezvous_key.starts_with("/job:worker/replica:0/task:0/device:CPU:0;"));
  CHECK(request.request.step_id != 0);
  CHECK(received("step").dtype() == DType::f32);
  CHECK(received("strings") == Tensor::vector<std::string>({"", "one", std::string("\0\xff", 2)}));
  const Tensor list = received("lists");
  REQUIRE(list.dtype() == DType::variant);
  const auto& variant = list.item<Variant>();
  CHECK(variant.type_name == wire::kTensorListType);
  CHECK(variant.tensors == std::vector<Tensor>{kOneTwo, kOneTwo});
}

}  // namespace
}  // namespace millrace::transport
