#include "millrace/transport/protocol/codec_session.h"

#include <utility>

#include "millrace/transport/protocol/codec_options.h"
#include "millrace/wire/master.pb.h"

namespace millrace::transport {
namespace {

using Strings = google::protobuf::RepeatedPtrField<std::string>;

std::vector<std::string> take(Strings& strings) {
  return {std::make_move_iterator(strings.begin()), std::make_move_iterator(strings.end())};
}
void put(const std::vector<std::string>& strings, Strings& out) {
  out.Reserve(static_cast<int>(strings.size()));
  for (const std::string& text : strings) *out.Add() = text;
}

}  // namespace

void to_proto(const DeviceAttributes& device, tensorflow::DeviceAttributes& message) {
  message.set_name(device.name);
  message.set_device_type(device.type);
  message.set_memory_limit(device.memory_limit);
  message.mutable_locality();
  message.set_incarnation(device.incarnation);
  message.set_physical_device_desc(device.description);
  message.set_xla_global_id(-1);
}

DeviceAttributes from_proto(const tensorflow::DeviceAttributes& message) {
  return {.name = message.name(),
          .type = message.device_type(),
          .memory_limit = message.memory_limit(),
          .incarnation = message.incarnation(),
          .description = message.physical_device_desc()};
}

// ---- CreateSession, ExtendSession ---------------------------------------------------------------

Result<wire::Pieces> encode(const CreateSessionRequest& request) {
  tensorflow::CreateSessionRequest message;
  wire::serialize_graph_def(request.graph, message.mutable_graph_def());
  to_proto(request.options, *message.mutable_config());
  message.set_target(request.target);
  return to_pieces(message);
}

Status decode(const Chunks& bytes, CreateSessionRequest& request) {
  tensorflow::CreateSessionRequest message;
  MR_TRY(parse(bytes, "CreateSessionRequest", message));
  MR_ASSIGN(request.graph, wire::parse_graph_def(message.graph_def()).with("graph_def"));
  MR_ASSIGN(request.options, from_proto(message.config()).with("config"));
  request.target = std::move(*message.mutable_target());
  return {};
}

Result<wire::Pieces> encode(const CreateSessionReply& reply) {
  tensorflow::CreateSessionResponse message;
  message.set_session_handle(reply.session_handle);
  message.set_graph_version(reply.graph_version);
  return to_pieces(message);
}

Status decode(const Chunks& bytes, CreateSessionReply& reply) {
  tensorflow::CreateSessionResponse message;
  MR_TRY(parse(bytes, "CreateSessionResponse", message));
  reply = {std::move(*message.mutable_session_handle()), message.graph_version()};
  return {};
}

Result<wire::Pieces> encode(const ExtendSessionRequest& request) {
  tensorflow::ExtendSessionRequest message;
  message.set_session_handle(request.session_handle);
  wire::serialize_graph_def(request.graph, message.mutable_graph_def());
  message.set_current_graph_version(request.current_graph_version);
  return to_pieces(message);
}

Status decode(const Chunks& bytes, ExtendSessionRequest& request) {
  tensorflow::ExtendSessionRequest message;
  MR_TRY(parse(bytes, "ExtendSessionRequest", message));
  request.session_handle = std::move(*message.mutable_session_handle());
  MR_ASSIGN(request.graph, wire::parse_graph_def(message.graph_def()).with("graph_def"));
  request.current_graph_version = message.current_graph_version();
  return {};
}

Result<wire::Pieces> encode(const ExtendSessionReply& reply) {
  tensorflow::ExtendSessionResponse message;
  message.set_new_graph_version(reply.new_graph_version);
  return to_pieces(message);
}

Status decode(const Chunks& bytes, ExtendSessionReply& reply) {
  tensorflow::ExtendSessionResponse message;
  MR_TRY(parse(bytes, "ExtendSessionResponse", message));
  reply.new_graph_version = message.new_graph_version();
  return {};
}

// ---- PartialRunSetup ----------------------------------------------------------------------------

Result<wire::Pieces> encode(const PartialRunSetupRequest& request) {
  tensorflow::PartialRunSetupRequest message;
  message.set_session_handle(request.session_handle);
  put(request.feeds, *message.mutable_feed());
  put(request.fetches, *message.mutable_fetch());
  put(request.targets, *message.mutable_target());
  return to_pieces(message);
}

Status decode(const Chunks& bytes, PartialRunSetupRequest& request) {
  tensorflow::PartialRunSetupRequest message;
  MR_TRY(parse(bytes, "PartialRunSetupRequest", message));
  request = {std::move(*message.mutable_session_handle()), take(*message.mutable_feed()),
             take(*message.mutable_fetch()), take(*message.mutable_target())};
  return {};
}

Result<wire::Pieces> encode(const PartialRunSetupReply& reply) {
  tensorflow::PartialRunSetupResponse message;
  message.set_partial_run_handle(reply.partial_run_handle);
  return to_pieces(message);
}

Status decode(const Chunks& bytes, PartialRunSetupReply& reply) {
  tensorflow::PartialRunSetupResponse message;
  MR_TRY(parse(bytes, "PartialRunSetupResponse", message));
  reply.partial_run_handle = std::move(*message.mutable_partial_run_handle());
  return {};
}

// ---- CloseSession, ListDevices, Reset -----------------------------------------------------------

Result<wire::Pieces> encode(const CloseSessionRequest& request) {
  tensorflow::CloseSessionRequest message;
  message.set_session_handle(request.session_handle);
  return to_pieces(message);
}

Status decode(const Chunks& bytes, CloseSessionRequest& request) {
  tensorflow::CloseSessionRequest message;
  MR_TRY(parse(bytes, "CloseSessionRequest", message));
  request.session_handle = std::move(*message.mutable_session_handle());
  return {};
}

Result<wire::Pieces> encode(const ListDevicesRequest& request) {
  tensorflow::ListDevicesRequest message;
  message.set_session_handle(request.session_handle);
  return to_pieces(message);
}

Status decode(const Chunks& bytes, ListDevicesRequest& request) {
  tensorflow::ListDevicesRequest message;
  MR_TRY(parse(bytes, "ListDevicesRequest", message));
  request.session_handle = std::move(*message.mutable_session_handle());
  return {};
}

Result<wire::Pieces> encode(const ListDevicesReply& reply) {
  tensorflow::ListDevicesResponse message;
  for (const DeviceAttributes& device : reply.local) to_proto(device, *message.add_local_device());
  for (const DeviceAttributes& device : reply.remote)
    to_proto(device, *message.add_remote_device());
  return to_pieces(message);
}

Status decode(const Chunks& bytes, ListDevicesReply& reply) {
  tensorflow::ListDevicesResponse message;
  MR_TRY(parse(bytes, "ListDevicesResponse", message));
  for (const auto& device : message.local_device()) reply.local.push_back(from_proto(device));
  for (const auto& device : message.remote_device()) reply.remote.push_back(from_proto(device));
  return {};
}

Result<wire::Pieces> encode(const ResetRequest& request) {
  tensorflow::ResetRequest message;
  put(request.containers, *message.mutable_container());
  put(request.device_filters, *message.mutable_device_filters());
  return to_pieces(message);
}

Status decode(const Chunks& bytes, ResetRequest& request) {
  tensorflow::ResetRequest message;
  MR_TRY(parse(bytes, "ResetRequest", message));
  request = {take(*message.mutable_container()), take(*message.mutable_device_filters())};
  return {};
}

// ---- MakeCallable, ReleaseCallable --------------------------------------------------------------

Result<wire::Pieces> encode(const MakeCallableRequest& request) {
  tensorflow::MakeCallableRequest message;
  message.set_session_handle(request.session_handle);
  tensorflow::CallableOptions& options = *message.mutable_options();
  put(request.feeds, *options.mutable_feed());
  put(request.fetches, *options.mutable_fetch());
  put(request.targets, *options.mutable_target());
  to_proto(request.options, *options.mutable_run_options());
  for (const auto& [from, to] : request.connections) {
    tensorflow::TensorConnection& connection = *options.add_tensor_connection();
    connection.set_from_tensor(from);
    connection.set_to_tensor(to);
  }
  return to_pieces(message);
}

Status decode(const Chunks& bytes, MakeCallableRequest& request) {
  tensorflow::MakeCallableRequest message;
  MR_TRY(parse(bytes, "MakeCallableRequest", message));
  tensorflow::CallableOptions& options = *message.mutable_options();
  request.session_handle = std::move(*message.mutable_session_handle());
  request.feeds = take(*options.mutable_feed());
  request.fetches = take(*options.mutable_fetch());
  request.targets = take(*options.mutable_target());
  MR_ASSIGN(request.options, from_proto(options.run_options()).with("run_options"));
  for (tensorflow::TensorConnection& connection : *options.mutable_tensor_connection()) {
    request.connections.push_back(
        {std::move(*connection.mutable_from_tensor()), std::move(*connection.mutable_to_tensor())});
  }
  return {};
}

Result<wire::Pieces> encode(const MakeCallableReply& reply) {
  tensorflow::MakeCallableResponse message;
  message.set_handle(reply.handle);
  return to_pieces(message);
}

Status decode(const Chunks& bytes, MakeCallableReply& reply) {
  tensorflow::MakeCallableResponse message;
  MR_TRY(parse(bytes, "MakeCallableResponse", message));
  reply.handle = message.handle();
  return {};
}

Result<wire::Pieces> encode(const ReleaseCallableRequest& request) {
  tensorflow::ReleaseCallableRequest message;
  message.set_session_handle(request.session_handle);
  message.set_handle(request.handle);
  return to_pieces(message);
}

Status decode(const Chunks& bytes, ReleaseCallableRequest& request) {
  tensorflow::ReleaseCallableRequest message;
  MR_TRY(parse(bytes, "ReleaseCallableRequest", message));
  request = {std::move(*message.mutable_session_handle()), message.handle()};
  return {};
}

}  // namespace millrace::transport
