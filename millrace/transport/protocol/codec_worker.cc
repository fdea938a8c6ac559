#include "millrace/transport/protocol/codec_worker.h"

#include <utility>

#include "millrace/format/wire_format.h"
#include "millrace/graph/import.h"
#include "millrace/graph/validate.h"
#include "millrace/transport/protocol/codec_options.h"
#include "millrace/transport/protocol/codec_session.h"
#include "millrace/wire/field_numbers.h"
#include "millrace/wire/worker.pb.h"

namespace millrace::transport {
namespace {

constexpr std::string_view kProtocol = "grpc";

void to_proto(const EndedTask& ended, tensorflow::EndedTask& message) {
  message.set_task(ended.task.to_string());
  message.set_incarnation(ended.incarnation);
}

Result<EndedTask> from_proto(const tensorflow::EndedTask& message) {
  MR_ASSIGN(const DeviceName name, DeviceName::parse(message.task()));
  if (!name.names_task()) return invalid("'", message.task().substr(0, 80), "' names no task");
  return EndedTask{name.task_name(), message.incarnation()};
}

// What stands before a field's bytes.
void put_head(std::string* out, int number, size_t length) {
  wire::put_tag(out, number, wire::WireType::bytes);
  wire::put_varint(out, length);
}

std::shared_ptr<Buffer> encode_cluster(const ClusterSpec& cluster) {
  tensorflow::ClusterDef message;
  transport::to_proto(cluster, message);
  auto bytes = std::make_shared<std::string>(message.SerializeAsString());
  return Buffer::borrow(bytes->data(), bytes->size(), [bytes] {});
}

}  // namespace

Result<wire::Pieces> encode(const GetStatusReply& reply) {
  tensorflow::GetStatusResponse message;
  for (const DeviceAttributes& device : reply.devices)
    to_proto(device, *message.add_device_attributes());
  for (const EndedTask& ended : reply.ended) to_proto(ended, *message.add_ended());
  message.set_capabilities(reply.can.bits());
  return to_pieces(message);
}

Status decode(const Chunks& bytes, GetStatusReply& reply) {
  tensorflow::GetStatusResponse message;
  MR_TRY(parse(bytes, "GetStatusResponse", message));
  for (const auto& device : message.device_attributes())
    reply.devices.push_back(from_proto(device));
  for (const auto& ended : message.ended()) {
    MR_ASSIGN(EndedTask task, from_proto(ended).with("ended"));
    reply.ended.push_back(std::move(task));
  }
  reply.can = Capabilities::from_bits(message.capabilities());
  return {};
}

Result<wire::Pieces> encode(const TaskDescription& description) {
  tensorflow::TaskDescription message;
  message.set_task(description.task);
  for (const std::string& wait : description.waits) message.add_waits(wait);
  for (const EndedTask& ended : description.ended) to_proto(ended, *message.add_ended());
  return to_pieces(message);
}

Status decode(const Chunks& bytes, TaskDescription& description) {
  tensorflow::TaskDescription message;
  MR_TRY(parse(bytes, "TaskDescription", message));
  description.task = std::move(*message.mutable_task());
  for (std::string& wait : *message.mutable_waits()) description.waits.push_back(std::move(wait));
  for (const auto& ended : message.ended()) {
    MR_ASSIGN(EndedTask task, from_proto(ended).with("ended"));
    description.ended.push_back(std::move(task));
  }
  return {};
}

Result<wire::Pieces> encode(const EndedTask& ended) {
  tensorflow::EndedTask message;
  to_proto(ended, message);
  return to_pieces(message);
}

Status decode(const Chunks& bytes, EndedTask& ended) {
  tensorflow::EndedTask message;
  MR_TRY(parse(bytes, "EndedTask", message));
  MR_ASSIGN(ended, from_proto(message));
  return {};
}

// ---- Worker sessions ----------------------------------------------------------------------------

// The cluster is one buffer that all members' messages share; around it stands what protobuf writes
// of the other fields, in the order of their numbers.
Result<wire::Pieces> encode(const CreateWorkerSessionRequest& request) {
  namespace field = wire::fields::create_worker_session_request;
  tensorflow::ServerDef server;
  server.set_protocol(std::string(kProtocol));
  server.set_job_name(request.task.job);
  server.set_task_index(request.task.task);
  server.set_replica(request.task.replica);
  const std::string rest_of_server = server.SerializeAsString();
  std::shared_ptr<Buffer> cluster;
  std::string cluster_head;
  if (request.cluster) {
    cluster = request.cluster->encoded(encode_cluster);
    put_head(&cluster_head, wire::fields::server_def::kCluster, cluster->size());
  }
  const size_t cluster_size = cluster ? cluster->size() : 0;

  wire::Pieces pieces;
  std::string head;
  if (!request.session_handle.empty())
    wire::put_bytes_field(&head, field::kSessionHandle, request.session_handle);
  put_head(&head, field::kServerDef, cluster_head.size() + cluster_size + rest_of_server.size());
  pieces.append(head + cluster_head);
  if (cluster)
    pieces.append_shared(cluster, {static_cast<const char*>(cluster->data()), cluster_size});
  pieces.append(rest_of_server);

  tensorflow::CreateWorkerSessionRequest rest;
  rest.set_isolate_session_state(request.isolate_session_state);
  rest.set_master_task(request.master_task);
  rest.set_master_incarnation(static_cast<int64_t>(request.master_incarnation));
  pieces.append(rest.SerializeAsString());
  return pieces;
}

Status decode(const Chunks& bytes, CreateWorkerSessionRequest& request) {
  tensorflow::CreateWorkerSessionRequest message;
  MR_TRY(parse(bytes, "CreateWorkerSessionRequest", message));
  request.session_handle = std::move(*message.mutable_session_handle());
  const tensorflow::ServerDef& server = message.server_def();
  request.task = {
      .job = server.job_name(), .replica = server.replica(), .task = server.task_index()};
  MR_ASSIGN(ClusterSpec cluster, from_proto(server.cluster()).with("server_def.cluster"));
  if (!cluster.empty()) request.cluster = std::make_shared<SentCluster>(std::move(cluster));
  request.isolate_session_state = message.isolate_session_state();
  request.master_task = std::move(*message.mutable_master_task());
  request.master_incarnation = static_cast<uint64_t>(message.master_incarnation());
  return {};
}

Result<wire::Pieces> encode(const DeleteWorkerSessionRequest& request) {
  tensorflow::DeleteWorkerSessionRequest message;
  message.set_session_handle(request.session_handle);
  return to_pieces(message);
}

Status decode(const Chunks& bytes, DeleteWorkerSessionRequest& request) {
  tensorflow::DeleteWorkerSessionRequest message;
  MR_TRY(parse(bytes, "DeleteWorkerSessionRequest", message));
  request.session_handle = std::move(*message.mutable_session_handle());
  return {};
}

// ---- Graphs -------------------------------------------------------------------------------------

Result<wire::Pieces> encode(const RegisterGraphRequest& request) {
  if (request.graph == nullptr) return internal("RegisterGraph without a graph");
  tensorflow::RegisterGraphRequest message;
  message.set_session_handle(request.session_handle);
  message.set_create_worker_session_called(request.create_worker_session_called);
  wire::serialize_graph_def(
      export_graph(*request.graph, {.defaults = ExportOptions::Defaults::stripped}),
      message.mutable_graph_def());
  const ThreadLimits& threads = request.threads;
  if (threads.intra_op > 0)
    message.mutable_config_proto()->set_intra_op_parallelism_threads(threads.intra_op);
  if (threads.inter_op > 0)
    message.mutable_config_proto()->set_inter_op_parallelism_threads(threads.inter_op);
  return to_pieces(message);
}

Status decode(const Chunks& bytes, const OpRegistry& ops, RegisterGraphRequest& request) {
  tensorflow::RegisterGraphRequest message;
  MR_TRY(parse(bytes, "RegisterGraphRequest", message));
  request.session_handle = std::move(*message.mutable_session_handle());
  request.create_worker_session_called = message.create_worker_session_called();
  MR_ASSIGN(const wire::GraphDef def, wire::parse_graph_def(message.graph_def()).with("graph_def"));
  MR_ASSIGN(Graph graph, import_graph(def, ops));
  MR_TRY(validate(graph));
  request.graph = std::make_shared<const Graph>(std::move(graph));
  request.threads = {.intra_op = message.config_proto().intra_op_parallelism_threads(),
                     .inter_op = message.config_proto().inter_op_parallelism_threads()};
  return {};
}

Result<wire::Pieces> encode(const RegisterGraphReply& reply) {
  tensorflow::RegisterGraphResponse message;
  message.set_graph_handle(reply.graph_handle);
  return to_pieces(message);
}

Status decode(const Chunks& bytes, RegisterGraphReply& reply) {
  tensorflow::RegisterGraphResponse message;
  MR_TRY(parse(bytes, "RegisterGraphResponse", message));
  reply.graph_handle = std::move(*message.mutable_graph_handle());
  return {};
}

Result<wire::Pieces> encode(const DeregisterGraphRequest& request) {
  tensorflow::DeregisterGraphRequest message;
  message.set_session_handle(request.session_handle);
  message.set_create_worker_session_called(request.create_worker_session_called);
  message.set_graph_handle(request.graph_handle);
  return to_pieces(message);
}

Status decode(const Chunks& bytes, DeregisterGraphRequest& request) {
  tensorflow::DeregisterGraphRequest message;
  MR_TRY(parse(bytes, "DeregisterGraphRequest", message));
  request = {std::move(*message.mutable_session_handle()), message.create_worker_session_called(),
             std::move(*message.mutable_graph_handle())};
  return {};
}

// ---- Cleaning up --------------------------------------------------------------------------------

Result<wire::Pieces> encode(const CleanupGraphRequest& request) {
  tensorflow::CleanupGraphRequest message;
  message.set_step_id(request.step_id);
  return to_pieces(message);
}

Status decode(const Chunks& bytes, CleanupGraphRequest& request) {
  tensorflow::CleanupGraphRequest message;
  MR_TRY(parse(bytes, "CleanupGraphRequest", message));
  request.step_id = message.step_id();
  return {};
}

Result<wire::Pieces> encode(const CleanupAllRequest& request) {
  tensorflow::CleanupAllRequest message;
  for (const std::string& container : request.containers) message.add_container(container);
  return to_pieces(message);
}

Status decode(const Chunks& bytes, CleanupAllRequest& request) {
  tensorflow::CleanupAllRequest message;
  MR_TRY(parse(bytes, "CleanupAllRequest", message));
  request.containers.assign(message.container().begin(), message.container().end());
  return {};
}

}  // namespace millrace::transport
