#include "millrace/transport/protocol/codec_run_graph.h"

#include <utility>

#include "millrace/format/wire_format.h"
#include "millrace/transport/protocol/codec_step.h"
#include "millrace/transport/protocol/codec_trace.h"
#include "millrace/transport/protocol/extensions.h"
#include "millrace/wire/field_numbers.h"
#include "millrace/wire/stats.pb.h"
#include "millrace/wire/tensor_pieces.h"

namespace millrace::transport {
namespace {

using wire::WireType;

namespace run_graph_request_field = wire::fields::run_graph_request;
namespace executor_options = wire::fields::executor_opts;
namespace run_graph_response_field = wire::fields::run_graph_response;

void put_flag(std::string* out, int field, bool value) {
  if (value) wire::put_varint_field(out, field, 1);
}
void put_number(std::string* out, int field, int64_t value) {
  if (value != 0) wire::put_varint_field(out, field, static_cast<uint64_t>(value));
}

Status read_executor_options(wire::Reader reader, RunGraphRequest& request) {
  wire::Field part;
  while (reader.next(&part)) {
    if (part.is(executor_options::kRecordTimeline, WireType::varint) && part.value != 0)
      request.trace = Trace::on;
    if (part.is(executor_options::kRecordPartitionGraphs, WireType::varint))
      request.record_partition_graphs = part.value != 0;
  }
  return reader.status();
}

void read_number(const wire::Field& part, ReceivedRunGraph& received) {
  RunGraphRequest& request = received.request;
  const bool flag = part.value != 0;
  switch (part.number) {
    case run_graph_request_field::kStepId:
      request.step_id = static_cast<int64_t>(part.value);
      break;
    case run_graph_request_field::kIsPartial:
      request.is_partial = flag;
      break;
    case run_graph_request_field::kIsLastPartial:
      request.is_last_partial_run = flag;
      break;
    case run_graph_request_field::kErrorsInBody:
      received.errors_in_body = flag;
      break;
    case run_graph_request_field::kCreateWorkerSessionCalled:
      request.create_worker_session_called = flag;
      break;
    case run_graph_request_field::kRequestId:
      request.request_id = static_cast<int64_t>(part.value);
      break;
    default:
      break;
  }
}

Status read_dead_values(std::string_view packed, RunGraphReply& reply) {
  wire::Reader reader(packed);
  uint64_t index = 0;
  while (!reader.at_end()) {
    if (!reader.next_varint(&index)) return reader.status();
    if (index >= reply.values.size())
      return invalid("value ", index, " of ", reply.values.size(), " is said to be dead");
    reply.values[index] = {Tensor(), true};
  }
  return {};
}

// The place of a value's key, normally the value's own.
size_t find_key(const StepKeys& keys, std::string_view name, size_t likely) {
  if (likely < keys.receive.size() && keys.receive[likely] == name) return likely;
  size_t at = 0;
  while (at < keys.receive.size() && keys.receive[at] != name) ++at;
  return at;
}

Status take_values(std::vector<wire::NamedTensor>& tensors, const StepKeys& keys,
                   RunGraphReply& reply) {
  reply.values.resize(keys.receive.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const size_t at = find_key(keys, tensors[i].name, i);
    if (at == keys.receive.size())
      return invalid("there is a value for '", tensors[i].name, "', which was not asked for");
    reply.values[at].tensor = std::move(tensors[i].tensor);
  }
  return {};
}

}  // namespace

Result<wire::Pieces> encode(const RunGraphRequest& request) {
  static const StepKeys kNone;
  const StepKeys& keys = request.keys != nullptr ? *request.keys : kNone;
  if (request.values.size() != keys.send.size())
    return internal("RunGraph with ", request.values.size(), " values for ", keys.send.size(),
                    " keys");
  std::string head;
  wire::put_bytes_field(&head, run_graph_request_field::kGraphHandle, request.graph_handle);
  put_number(&head, run_graph_request_field::kStepId, request.step_id);
  for (const std::string& key : keys.receive)
    wire::put_bytes_field(&head, run_graph_request_field::kReceiveKey, key);
  if (request.trace == Trace::on || request.record_partition_graphs) {
    const wire::NestedField options(&head, run_graph_request_field::kExecutorOptions);
    put_flag(&head, executor_options::kRecordTimeline, request.trace == Trace::on);
    put_flag(&head, executor_options::kRecordPartitionGraphs, request.record_partition_graphs);
  }
  put_flag(&head, run_graph_request_field::kIsPartial, request.is_partial);
  put_flag(&head, run_graph_request_field::kIsLastPartial, request.is_last_partial_run);
  wire::put_bytes_field(&head, run_graph_request_field::kSessionHandle, request.session_handle);
  put_flag(&head, run_graph_request_field::kErrorsInBody, true);
  put_flag(&head, run_graph_request_field::kCreateWorkerSessionCalled,
           request.create_worker_session_called);
  put_number(&head, run_graph_request_field::kRequestId, request.request_id);
  wire::Pieces message;
  message.append(head);
  for (size_t i = 0; i < keys.send.size(); ++i)
    wire::append_named_tensor(message, run_graph_request_field::kSend, keys.send[i],
                              request.values[i]);
  return message;
}

Status decode(const Chunks& bytes, ReceivedRunGraph& received) {
  MessageWithTensors message;
  MR_TRY(read_tensors(bytes, run_graph_request_field::kSend, wire::TensorField::named, message));
  RunGraphRequest& request = received.request;
  request.create_worker_session_called = false;  // what is not on the wire is false
  auto keys = std::make_shared<StepKeys>();
  for (wire::NamedTensor& sent : message.tensors) {
    keys->send.push_back(std::move(sent.name));
    request.values.push_back(std::move(sent.tensor));
  }
  wire::Reader reader(message.rest);
  wire::Field part;
  while (reader.next(&part)) {
    if (part.type == WireType::varint) read_number(part, received);
    if (part.type != WireType::bytes) continue;
    switch (part.number) {
      case run_graph_request_field::kGraphHandle:
        request.graph_handle = part.bytes;
        break;
      case run_graph_request_field::kSessionHandle:
        request.session_handle = part.bytes;
        break;
      case run_graph_request_field::kReceiveKey:
        keys->receive.emplace_back(part.bytes);
        break;
      case run_graph_request_field::kExecutorOptions: {
        MR_TRY(read_executor_options(reader.inside(part), request));
        break;
      }
      default:
        break;
    }
  }
  request.keys = std::move(keys);
  return reader.status();
}

Result<wire::Pieces> encode(const RunGraphReply& reply, const StepKeys& keys) {
  if (reply.values.size() != keys.receive.size())
    return internal("RunGraph gave ", reply.values.size(), " values for ", keys.receive.size(),
                    " keys");
  wire::Pieces message;
  std::string dead;
  MR_ASSIGN(const Tensor dummy, Tensor::allocate(DType::f32, {0}));
  for (size_t i = 0; i < keys.receive.size(); ++i) {
    const Delivery& value = reply.values[i];
    if (value.is_dead) wire::put_varint(&dead, i);
    wire::append_named_tensor(message, run_graph_response_field::kReceived, keys.receive[i],
                              value.is_dead ? dummy : value.tensor);
  }
  std::string tail;
  if (!dead.empty()) wire::put_bytes_field(&tail, kDeadValues, dead);
  if (!reply.traces.empty()) {
    tensorflow::StepStats stats;
    to_proto(reply.traces, stats);
    MR_ASSIGN(const std::string encoded, serialize(stats));
    wire::put_bytes_field(&tail, run_graph_response_field::kStepStats, encoded);
  }
  for (const wire::GraphDef& graph : reply.partition_graphs)
    wire::put_bytes_field(&tail, run_graph_response_field::kPartitionGraph,
                          wire::serialize_graph_def(graph));
  message.append(std::move(tail));
  if (message.size() <= kMaxMessageBytes) return message;
  return error(Code::resource_exhausted, "the values of a step take ", message.size(),
               " bytes; a message has at most ", kMaxMessageBytes,
               ": fetch large tensors in parts");
}

wire::Pieces encode_run_graph_error(const Status& error) {
  std::string bytes;
  put_body_error(&bytes, run_graph_response_field::kStatusCode,
                 run_graph_response_field::kStatusMessage, error);
  wire::Pieces message;
  message.append(std::move(bytes));
  return message;
}

Status decode(const Chunks& bytes, const StepKeys& keys, AnsweredRunGraph& answer) {
  MessageWithTensors message;
  MR_TRY(
      read_tensors(bytes, run_graph_response_field::kReceived, wire::TensorField::named, message));
  RunGraphReply& reply = answer.reply;
  BodyError body;
  std::string_view dead;
  wire::Reader reader(message.rest);
  wire::Field part;
  while (reader.next(&part)) {
    if (part.is(run_graph_response_field::kStatusCode, WireType::varint))
      body.code = part.as_int32();
    if (part.type != WireType::bytes) continue;
    switch (part.number) {
      case run_graph_response_field::kStatusMessage:
        body.message = part.bytes;
        break;
      case kErrorDetails:
        body.details = part.bytes;
        break;
      case kDeadValues:
        dead = part.bytes;
        break;
      case run_graph_response_field::kStepStats: {
        tensorflow::StepStats stats;
        MR_TRY(parse(Chunks(part.bytes), "StepStats", stats));
        reply.traces = from_proto(stats);
        break;
      }
      case run_graph_response_field::kPartitionGraph: {
        MR_ASSIGN(wire::GraphDef graph, wire::parse_graph_def(part.bytes));
        reply.partition_graphs.push_back(std::move(graph));
        break;
      }
      default:
        break;
    }
  }
  MR_TRY(reader.status());
  answer.error = body.to_status();
  if (!answer.error.ok()) return {};
  MR_TRY(take_values(message.tensors, keys, reply));
  MR_TRY(read_dead_values(dead, reply));
  for (size_t i = 0; i < reply.values.size(); ++i) {
    if (!reply.values[i].is_dead && !reply.values[i].tensor.has_value())
      return invalid("there is no value for '", keys.receive[i], "'");
  }
  return {};
}

}  // namespace millrace::transport
