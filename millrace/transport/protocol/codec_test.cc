#include <functional>
#include <random>

#include <doctest/doctest.h>

#include "millrace/graph/testing/test_ops.h"
#include "millrace/transport/protocol/codec_options.h"
#include "millrace/transport/protocol/codec_recv_tensor.h"
#include "millrace/transport/protocol/codec_run_graph.h"
#include "millrace/transport/protocol/codec_session.h"
#include "millrace/transport/protocol/codec_step.h"
#include "millrace/transport/protocol/codec_worker.h"
#include "millrace/wire/config.pb.h"
#include "millrace/wire/master.pb.h"
#include "millrace/wire/worker.pb.h"

namespace millrace::transport {
namespace {

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    if (!text.empty()) text += ' ';
    text += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    text += "0123456789abcdef"[c & 15];
  }
  return text;
}

template <class Message>
std::string bytes_of(const Message& message) {
  return encode(message).value().join();
}

// As a peer cuts them: every piece has `size` bytes.
Chunks cut(std::string_view bytes, size_t size) {
  Chunks chunks;
  chunks.size = bytes.size();
  for (; !bytes.empty(); bytes.remove_prefix(std::min(size, bytes.size())))
    chunks.pieces.push_back(bytes.substr(0, size));
  return chunks;
}

RunStepRequest sample_step() {
  RunStepRequest request;
  request.session_handle = "s";
  request.feeds = {{"x:0", Tensor::of<float>({2}, {1, 2})}};
  request.fetches = {"y:0"};
  request.targets = {"t"};
  request.options.timeout = std::chrono::milliseconds(5);
  request.partial_run_handle = "p";
  return request;
}

RunGraphRequest sample_run() {
  RunGraphRequest request;
  request.session_handle = "s";
  request.graph_handle = "g";
  request.step_id = 3;
  request.keys = std::make_shared<const StepKeys>(StepKeys{{"in"}, {"out"}});
  request.values = {Tensor::scalar(1.0f)};
  request.trace = Trace::on;
  request.request_id = 4;
  return request;
}

// ---- Bytes --------------------------------------------------------------------------------------

TEST_CASE("RunStepRequest, as TensorFlow lays it out") {
  CHECK(hex(bytes_of(sample_step())) ==
        "0a 01 73 "                                      // session_handle "s"
        "1a 03 79 3a 30 "                                // fetch "y:0"
        "22 01 74 "                                      // target "t"
        "2a 02 10 05 "                                   // options {timeout_in_ms 5}
        "32 01 70 "                                      // partial_run_handle "p"
        "38 01 "                                         // store_errors_in_response_body
        "12 19 0a 03 78 3a 30 12 12 08 01 12 04 12 02 "  // feed {"x:0" {float [2]
        "08 02 22 08 00 00 80 3f 00 00 00 40");          //   1, 2}}
}

TEST_CASE("RunStepResponse with a value, and with an error") {
  RunStepReply reply;
  reply.tensors = {Tensor::scalar(1.0f)};
  CHECK(hex(encode(reply, {"y:0"}).value().join()) ==
        "0a 0f 0a 03 79 3a 30 12 08 08 01 22 04 00 00 80 3f");
  CHECK(hex(encode_run_step_error(not_found("no")).join()) == "18 05 22 02 6e 6f");
  CHECK(hex(encode_run_step_error(not_found("\xb0")).join()) == "18 05 22 03 ef bf bd");
}

TEST_CASE("RunGraphRequest, as TensorFlow lays it out") {
  CHECK(hex(bytes_of(sample_run())) ==
        "0a 01 67 "                                          // graph_handle "g"
        "10 03 "                                             // step_id 3
        "22 03 6f 75 74 "                                    // recv_key "out"
        "2a 02 18 01 "                                       // exec_opts {record_timeline}
        "42 01 73 "                                          // session_handle "s"
        "48 01 "                                             // store_errors_in_response_body
        "50 01 "                                             // create_worker_session_called
        "58 04 "                                             // request_id 4
        "1a 0e 0a 02 69 6e 12 08 08 01 22 04 00 00 80 3f");  // send {"in" 1.0}
}

TEST_CASE("RecvTensorRequest, for TensorFlow and for us") {
  CHECK(hex(encode({9, "k", 3}, Parts::refused).join()) == "08 09 12 01 6b 38 03");
  CHECK(hex(encode({9, "k", 3}, Parts::taken).join()) == "08 09 12 01 6b 38 03 c8 3e 01");
}

TEST_CASE("incarnations are fixed64, the new graph version is field 4") {
  DeviceAttributes device;
  device.incarnation = 1;
  CHECK(hex(bytes_of(GetStatusReply{{device}})) ==
        "0a 16 2a 00 31 01 00 00 00 00 00 00 00 40 ff ff ff ff ff ff ff ff ff 01");
  CHECK(hex(bytes_of(ExtendSessionReply{5})) == "20 05");
}

TEST_CASE("who has ended is a field of our own, and a message of our own") {
  const EndedTask ended{{"m", 0, 7}, 1};
  const std::string bytes =
      "0a 17 2f 6a 6f 62 3a 6d 2f 72 65 70 6c 69 63 61 3a 30 2f 74 61 73 6b 3a 37 "  // task
      "11 01 00 00 00 00 00 00 00";                                                  // incarnation
  CHECK(hex(bytes_of(ended)) == bytes);
  CHECK(hex(bytes_of(GetStatusReply{{}, {ended}})) == "ea 3e 22 " + bytes);
  const TaskDescription description{.task = "t", .waits = {"w"}, .ended = {ended}};
  CHECK(hex(bytes_of(description)) == "0a 01 74 12 01 77 1a 22 " + bytes);
}

// ---- What TensorFlow's own messages mean --------------------------------------------------------

TEST_CASE("a client's RunStepRequest is read, whatever it looks like") {
  tensorflow::RunStepRequest message;
  message.set_session_handle("abc");
  tensorflow::NamedTensorProto& feed = *message.add_feed();
  feed.set_name("x:0");
  feed.mutable_tensor()->set_dtype(tensorflow::DT_INT32);
  feed.mutable_tensor()->mutable_tensor_shape()->add_dim()->set_size(3);
  feed.mutable_tensor()->add_int_val(7);  // repeated to fill the shape
  message.add_fetch("y:0");
  message.mutable_options()->set_trace_level(tensorflow::RunOptions::FULL_TRACE);
  message.set_store_errors_in_response_body(true);
  message.set_request_id(12);
  std::string bytes = message.SerializeAsString();
  bytes += "\xf8\x7f\x01";  // field 2047, which nobody knows
  for (const size_t size : {size_t{1}, size_t{3}, bytes.size()}) {
    ReceivedRunStep received;
    const Chunks chunks = cut(bytes, size);
    const Status status = decode(chunks, received);
    REQUIRE_MESSAGE(status.ok(), status.to_string());
    CHECK(received.errors_in_body);
    CHECK(received.request.session_handle == "abc");
    REQUIRE(received.request.feeds.size() == 1);
    CHECK(received.request.feeds[0].name == "x:0");
    CHECK(received.request.feeds[0].tensor == Tensor::vector<int32_t>({7, 7, 7}));
    CHECK(received.request.options.trace == Trace::on);
  }
}

TEST_CASE("a session that asks for what servers refuse is passed on as such") {
  tensorflow::CreateSessionRequest message;
  message.mutable_config()->set_use_per_session_threads(true);
  message.mutable_config()->add_session_inter_op_thread_pool()->set_num_threads(3);
  (*message.mutable_config()->mutable_device_count())["CPU"] = 1;
  CreateSessionRequest request;
  REQUIRE(decode(Chunks(message.SerializeAsString()), request).ok());
  CHECK(request.options.use_per_session_threads);
  CHECK(request.options.names_thread_pools);
  CHECK(request.graph.nodes.empty());
}

TEST_CASE("a session without rewriting turns off both kinds of a TensorFlow server's passes") {
  tensorflow::ConfigProto config;
  SessionOptions options;
  options.disable_optimizer = true;
  to_proto(options, config);
  const tensorflow::GraphOptions& graph = config.graph_options();
  CHECK(graph.optimizer_options().opt_level() == tensorflow::OptimizerOptions::L0);
  CHECK(graph.rewrite_options().disable_meta_optimizer());
}

TEST_CASE("a cluster definition that makes no sense is refused with its place") {
  tensorflow::CreateSessionRequest message;
  tensorflow::JobDef& job = *message.mutable_config()->mutable_cluster_def()->add_job();
  job.set_name("worker");
  (*job.mutable_tasks())[0] = "no port";
  CreateSessionRequest request;
  const Status status = decode(Chunks(message.SerializeAsString()), request);
  CHECK(status.code() == Code::invalid_argument);
  CHECK(status.message().starts_with("config: cluster_def: task worker:0"));
}

TEST_CASE("a TensorFlow master's RunGraph has a legacy session unless it says otherwise") {
  tensorflow::RunGraphRequest message;
  message.set_graph_handle("g");
  ReceivedRunGraph received;
  REQUIRE(decode(Chunks(message.SerializeAsString()), received).ok());
  CHECK_FALSE(received.request.create_worker_session_called);
  CHECK_FALSE(received.errors_in_body);
  REQUIRE(received.request.keys != nullptr);
  CHECK(received.request.keys->send.empty());
}

TEST_CASE("values come in any order and are put in that of the keys") {
  tensorflow::RunGraphResponse message;
  for (const char* key : {"b", "a"}) {
    tensorflow::NamedTensorProto& value = *message.add_recv();
    value.set_name(key);
    value.mutable_tensor()->set_dtype(tensorflow::DT_STRING);
    value.mutable_tensor()->add_string_val(key);
  }
  AnsweredRunGraph answer;
  REQUIRE(decode(Chunks(message.SerializeAsString()), StepKeys{{}, {"a", "b"}}, answer).ok());
  CHECK(answer.reply.values[0].tensor == Tensor::scalar(std::string("a")));
  CHECK(answer.reply.values[1].tensor == Tensor::scalar(std::string("b")));
}

TEST_CASE("an answer that lacks a value, or has one too many, is malformed") {
  RunStepReply reply;
  reply.tensors = {Tensor::scalar(1.0f)};
  const std::string bytes = encode(reply, {"y:0"}).value().join();
  AnsweredRunStep step;
  CHECK(decode(Chunks(bytes), {"y:0"}, step).ok());
  CHECK(decode(Chunks(bytes), {"z:0"}, step).message() == "there is no value for 'z:0'");
  CHECK_FALSE(decode(Chunks(bytes), {"y:0", "z:0"}, step).ok());
  RunGraphReply values;
  values.values = {{Tensor::scalar(1.0f), false}};
  const std::string graph_bytes = encode(values, {{}, {"k"}}).value().join();
  AnsweredRunGraph graph;
  CHECK_FALSE(decode(Chunks(graph_bytes), StepKeys{{}, {"other"}}, graph).ok());
  CHECK_FALSE(decode(Chunks(graph_bytes), StepKeys{{}, {"k", "l"}}, graph).ok());
}

TEST_CASE("a TensorFlow server's error in the body is the error") {
  tensorflow::RunStepResponse message;
  message.set_status_code(tensorflow::error::OUT_OF_RANGE);
  message.set_status_error_message("end of input");
  AnsweredRunStep answer;
  REQUIRE(decode(Chunks(message.SerializeAsString()), {"y:0"}, answer).ok());
  CHECK(answer.error == out_of_range("end of input"));
}

TEST_CASE("a consequence in a body stays one between Millrace tasks") {
  const Status error = aborted("Stopping remaining executors.").as_consequence();
  AnsweredRunGraph answer;
  REQUIRE(decode(Chunks(encode_run_graph_error(error).join()), StepKeys{}, answer).ok());
  CHECK(answer.error == error);
  CHECK(answer.error.is_consequence());
  tensorflow::RunGraphResponse seen_by_tensorflow;
  REQUIRE(seen_by_tensorflow.ParseFromString(encode_run_graph_error(error).join()));
  CHECK(seen_by_tensorflow.status_code() == tensorflow::error::ABORTED);
  CHECK(seen_by_tensorflow.status_error_message() == "Stopping remaining executors.");
}

TEST_CASE("values and keys that do not match are an error of ours, not a message") {
  RunGraphRequest request = sample_run();
  request.values.clear();
  CHECK(encode(request).status().code() == Code::internal);
  CHECK(encode(RunStepReply{}, {"y:0"}).status().code() == Code::internal);
  CHECK(encode(RunGraphReply{}, StepKeys{{}, {"k"}}).status().code() == Code::internal);
  CHECK(encode(RegisterGraphRequest{}).status().code() == Code::internal);
}

// ---- Hostile bytes ------------------------------------------------------------------------------

struct Sample {
  std::string name;
  std::string bytes;
  std::function<Status(const Chunks&)> read;
};

template <class Message>
Sample sample(std::string name, const Message& message) {
  return {std::move(name), bytes_of(message), [](const Chunks& bytes) {
            Message read;
            return decode(bytes, read);
          }};
}

std::vector<Sample> samples() {
  std::vector<Sample> all;
  CreateSessionRequest create;
  wire::NodeDef& node = create.graph.nodes.emplace_back();
  node.name = "n";
  node.op = "Const";
  node.attrs = {{"dtype", DType::f32}, {"value", Tensor::of<float>({3}, {1, 2, 3})}};
  create.options.device_filters = {"/job:ps"};
  static_cast<void>(create.options.cluster.add_job("worker", {"a:1"}));
  all.push_back(sample("CreateSessionRequest", create));
  all.push_back(sample("ExtendSessionRequest", ExtendSessionRequest{"s", create.graph, 3}));
  all.push_back(sample("PartialRunSetupRequest", PartialRunSetupRequest{"s", {"a"}, {"b"}, {"c"}}));
  all.push_back(sample("ResetRequest", ResetRequest{{"a"}, {"b"}}));
  all.push_back(sample("MakeCallableRequest", MakeCallableRequest{"s", {"a"}, {"b"}, {"c"}, {}}));
  all.push_back(sample("RunCallableRequest",
                       RunCallableRequest{"s", 3, {Tensor::vector<std::string>({"x", "yz"})}}));
  all.push_back(sample("RunCallableReply", RunCallableReply{{Tensor::scalar(true)}, {}}));
  CreateWorkerSessionRequest worker_session;
  worker_session.cluster = std::make_shared<SentCluster>(create.options.cluster);
  all.push_back(sample("CreateWorkerSessionRequest", worker_session));
  all.push_back({"RunStepRequest", bytes_of(sample_step()), [](const Chunks& bytes) {
                   ReceivedRunStep received;
                   return decode(bytes, received);
                 }});
  all.push_back({"RunGraphRequest", bytes_of(sample_run()), [](const Chunks& bytes) {
                   ReceivedRunGraph received;
                   return decode(bytes, received);
                 }});
  tensorflow::RegisterGraphRequest graph;
  graph.set_graph_def(wire::serialize_graph_def(create.graph));
  all.push_back({"RegisterGraphRequest", graph.SerializeAsString(), [](const Chunks& bytes) {
                   RegisterGraphRequest request;
                   return decode(bytes, millrace::testing::test_ops(), request);
                 }});
  RunGraphReply values;
  values.values = {{Tensor(), true}, {Tensor::of<double>({2}, {1, 2}), false}};
  all.push_back(
      {"RunGraphReply", encode(values, {{}, {"a", "b"}}).value().join(), [](const Chunks& bytes) {
         AnsweredRunGraph answer;
         return decode(bytes, StepKeys{{}, {"a", "b"}}, answer);
       }});
  RecvTensorReply received;
  received.delivery.tensor = Tensor::of<int16_t>({2, 2}, {1, 2, 3, 4});
  all.push_back({"RecvTensorResponse",
                 encode_recv_tensor_reply(received, Parts::refused).value()[0].join(),
                 [](const Chunks& bytes) {
                   TensorReceiver receiver;
                   return receiver.add(bytes).status();
                 }});
  return all;
}

TEST_CASE("whole messages are read, cut in whatever way") {
  for (const Sample& sample : samples()) {
    CAPTURE(sample.name);
    for (const size_t size : {size_t{1}, size_t{2}, size_t{7}, sample.bytes.size()}) {
      const Status status = sample.read(cut(sample.bytes, size));
      CHECK_MESSAGE(status.ok(), status.to_string());
    }
  }
}

TEST_CASE("no truncated and no damaged message does harm") {
  std::mt19937 random(7);
  for (const Sample& sample : samples()) {
    CAPTURE(sample.name);
    for (size_t length = 0; length < sample.bytes.size(); ++length)
      static_cast<void>(sample.read(cut(std::string_view(sample.bytes).substr(0, length), 5)));
    for (int round = 0; round < 2000; ++round) {
      std::string damaged = sample.bytes;
      for (int i = 0; i <= round % 3; ++i)
        damaged[random() % damaged.size()] = static_cast<char>(random());
      const Chunks chunks = round % 2 == 0 ? Chunks(damaged) : cut(damaged, 1 + random() % 9);
      const Status status = sample.read(chunks);
      // Its own fault, whatever it says.
      const bool blames_message =
          status.ok() || status.code() == Code::invalid_argument ||
          status.code() == Code::not_found || status.code() == Code::already_exists ||
          status.code() == Code::unimplemented || status.code() == Code::resource_exhausted;
      CHECK_MESSAGE(blames_message, status.to_string());
    }
  }
}

TEST_CASE("a cluster that a client sent is encoded once for all whom it is sent to") {
  ClusterSpec cluster;
  for (int task = 0; task < 1000; ++task)
    REQUIRE(cluster.add_task("worker", task, str_cat("host", task, ":2222")).ok());
  CreateWorkerSessionRequest request;
  request.session_handle = "session";
  request.cluster = std::make_shared<SentCluster>(cluster);
  std::set<const void*> encodings;
  for (int task = 0; task < 10; ++task) {
    request.task = {"worker", 0, task};
    const auto pieces = encode(request);
    REQUIRE(pieces.ok());
    for (const wire::Piece& piece : pieces->pieces())
      if (piece.buffer) encodings.insert(piece.buffer->data());
    CreateWorkerSessionRequest read;
    REQUIRE(decode(Chunks(pieces->join()), read).ok());
    CHECK(read.task == request.task);
    REQUIRE(read.cluster);
    CHECK(read.cluster->spec() == cluster);
  }
  CHECK(encodings.size() == 1);
}

TEST_CASE("a few bytes can't ask for all memory, not even in several tensors") {
  tensorflow::RunCallableRequest message;
  for (int i = 0; i < 100; ++i) {
    tensorflow::TensorProto& feed = *message.add_feed();
    feed.set_dtype(tensorflow::DT_FLOAT);
    feed.mutable_tensor_shape()->add_dim()->set_size(int64_t{1} << 27);  // 512 MB of zeros each
  }
  RunCallableRequest request;
  CHECK(decode(Chunks(message.SerializeAsString()), request).code() == Code::resource_exhausted);
}

}  // namespace
}  // namespace millrace::transport
