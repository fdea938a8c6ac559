#include "millrace/transport/protocol/codec_step.h"

#include <utility>

#include "millrace/format/wire_format.h"
#include "millrace/transport/protocol/codec_options.h"
#include "millrace/transport/protocol/codec_trace.h"
#include "millrace/transport/protocol/extensions.h"
#include "millrace/transport/protocol/status_codec.h"
#include "millrace/wire/config.pb.h"
#include "millrace/wire/error_details.h"
#include "millrace/wire/field_numbers.h"
#include "millrace/wire/tensor_pieces.h"

namespace millrace::transport {
namespace {

using wire::WireType;

namespace fields = wire::fields;

// A code that is none counts as UNKNOWN.
Code to_code(int number) {
  return number > 0 && number <= static_cast<int>(Code::unauthenticated) ? static_cast<Code>(number)
                                                                         : Code::unknown;
}

bool has_effect(const RunOptions& options) {
  return options.trace == Trace::on || options.timeout.count() != 0 ||
         options.output_partition_graphs;
}

std::string encode_options(const RunOptions& options) {
  tensorflow::RunOptions message;
  to_proto(options, message);
  return message.SerializeAsString();
}

Result<RunOptions> decode_options(std::string_view bytes) {
  tensorflow::RunOptions message;
  MR_TRY(parse(Chunks(bytes), "RunOptions", message));
  return from_proto(message);
}

bool has_content(const RunMetadata& metadata) {
  return !metadata.traces.empty() || !metadata.partition_graphs.empty() || !metadata.costs.empty();
}

Status append_metadata(wire::Pieces& message, int field, const RunMetadata& metadata) {
  if (!has_content(metadata)) return {};
  MR_ASSIGN(const std::string bytes, encode_run_metadata(metadata));
  std::string encoded;
  wire::put_bytes_field(&encoded, field, bytes);
  message.append(std::move(encoded));
  return {};
}

Status check_size(const wire::Pieces& message, std::string_view what) {
  if (message.size() <= kMaxMessageBytes) return {};
  return error(Code::resource_exhausted, what, " has ", message.size(),
               " bytes; a message has at most ", kMaxMessageBytes,
               ": fetch large tensors in parts");
}

// The tensors in the order of the fetches, in which they normally are.
Status take_in_order(std::vector<wire::NamedTensor>& tensors,
                     const std::vector<std::string>& fetches, std::vector<Tensor>& out) {
  out.reserve(fetches.size());
  for (size_t i = 0; i < fetches.size(); ++i) {
    size_t at = i;
    if (at >= tensors.size() || tensors[at].name != fetches[i]) {
      for (at = 0; at < tensors.size() && tensors[at].name != fetches[i];) ++at;
    }
    if (at == tensors.size() || !tensors[at].tensor.has_value())
      return invalid("there is no value for '", fetches[i], "'");
    out.push_back(std::move(tensors[at].tensor));
  }
  return {};
}

}  // namespace

Status BodyError::to_status() const {
  if (code == 0) return {};
  const Status status(to_code(code), message);
  return details.empty() ? status : wire::with_error_details(status, details);
}

void put_body_error(std::string* out, int code_field, int message_field, const Status& error) {
  wire::put_varint_field(out, code_field, static_cast<uint64_t>(error.code()));
  wire::put_bytes_field(out, message_field, as_utf8(error.message()));
  const std::string details = wire::encode_error_details(error);
  if (!details.empty()) wire::put_bytes_field(out, kErrorDetails, details);
}

// ---- RunStep ------------------------------------------------------------------------------------

Result<wire::Pieces> encode(const RunStepRequest& request) {
  namespace field = fields::run_step_request;
  std::string head;
  wire::put_bytes_field(&head, field::kSessionHandle, request.session_handle);
  for (const std::string& fetch : request.fetches)
    wire::put_bytes_field(&head, field::kFetch, fetch);
  for (const std::string& target : request.targets)
    wire::put_bytes_field(&head, field::kTarget, target);
  if (has_effect(request.options))
    wire::put_bytes_field(&head, field::kOptions, encode_options(request.options));
  if (!request.partial_run_handle.empty())
    wire::put_bytes_field(&head, field::kPartialRunHandle, request.partial_run_handle);
  wire::put_varint_field(&head, field::kErrorsInBody, 1);
  wire::Pieces message;
  message.append(head);
  for (const NamedTensor& feed : request.feeds)
    wire::append_named_tensor(message, field::kFeed, feed.name, feed.tensor);
  return message;
}

Status decode(const Chunks& bytes, ReceivedRunStep& received) {
  namespace field = fields::run_step_request;
  MessageWithTensors message;
  MR_TRY(read_tensors(bytes, field::kFeed, wire::TensorField::named, message));
  RunStepRequest& request = received.request;
  request.feeds.reserve(message.tensors.size());
  for (wire::NamedTensor& feed : message.tensors)
    request.feeds.push_back({std::move(feed.name), std::move(feed.tensor)});

  wire::Reader reader(message.rest);
  wire::Field part;
  while (reader.next(&part)) {
    if (part.type == WireType::varint) {
      if (part.number == field::kErrorsInBody) received.errors_in_body = part.value != 0;
      continue;
    }
    if (part.type != WireType::bytes) continue;
    switch (part.number) {
      case field::kSessionHandle:
        request.session_handle = part.bytes;
        break;
      case field::kFetch:
        request.fetches.emplace_back(part.bytes);
        break;
      case field::kTarget:
        request.targets.emplace_back(part.bytes);
        break;
      case field::kPartialRunHandle:
        request.partial_run_handle = part.bytes;
        break;
      case field::kOptions: {
        MR_ASSIGN(request.options, decode_options(part.bytes));
        break;
      }
      default:
        break;
    }
  }
  return reader.status();
}

Result<wire::Pieces> encode(const RunStepReply& reply, const std::vector<std::string>& fetches) {
  namespace field = fields::run_step_response;
  if (reply.tensors.size() != fetches.size())
    return internal("a step gave ", reply.tensors.size(), " tensors for ", fetches.size(),
                    " fetches");
  wire::Pieces message;
  for (size_t i = 0; i < fetches.size(); ++i)
    wire::append_named_tensor(message, field::kTensor, fetches[i], reply.tensors[i]);
  MR_TRY(append_metadata(message, field::kMetadata, reply.metadata));
  MR_TRY(check_size(message, "what the step fetched"));
  return message;
}

wire::Pieces encode_run_step_error(const Status& error) {
  namespace field = fields::run_step_response;
  std::string bytes;
  put_body_error(&bytes, field::kStatusCode, field::kStatusMessage, error);
  wire::Pieces message;
  message.append(std::move(bytes));
  return message;
}

Status decode(const Chunks& bytes, const std::vector<std::string>& fetches,
              AnsweredRunStep& answer) {
  namespace field = fields::run_step_response;
  MessageWithTensors message;
  MR_TRY(read_tensors(bytes, field::kTensor, wire::TensorField::named, message));
  RunStepReply& reply = answer.reply;
  BodyError body;
  wire::Reader reader(message.rest);
  wire::Field part;
  while (reader.next(&part)) {
    if (part.is(field::kStatusCode, WireType::varint)) body.code = part.as_int32();
    if (part.is(field::kStatusMessage, WireType::bytes)) body.message = part.bytes;
    if (part.is(kErrorDetails, WireType::bytes)) body.details = part.bytes;
    if (part.is(field::kMetadata, WireType::bytes)) {
      MR_ASSIGN(reply.metadata, decode_run_metadata(part.bytes));
    }
  }
  MR_TRY(reader.status());
  answer.error = body.to_status();
  return answer.error.ok() ? take_in_order(message.tensors, fetches, reply.tensors) : Status();
}

// ---- RunCallable --------------------------------------------------------------------------------

Result<wire::Pieces> encode(const RunCallableRequest& request) {
  namespace field = fields::run_callable_request;
  std::string head;
  wire::put_bytes_field(&head, field::kSessionHandle, request.session_handle);
  wire::put_varint_field(&head, field::kHandle, static_cast<uint64_t>(request.handle));
  wire::Pieces message;
  message.append(head);
  for (const Tensor& feed : request.feeds) wire::append_tensor_field(message, field::kFeed, feed);
  return message;
}

Status decode(const Chunks& bytes, RunCallableRequest& request) {
  namespace field = fields::run_callable_request;
  MessageWithTensors message;
  MR_TRY(read_tensors(bytes, field::kFeed, wire::TensorField::plain, message));
  for (wire::NamedTensor& feed : message.tensors) request.feeds.push_back(std::move(feed.tensor));
  wire::Reader reader(message.rest);
  wire::Field part;
  while (reader.next(&part)) {
    if (part.is(field::kSessionHandle, WireType::bytes)) request.session_handle = part.bytes;
    if (part.is(field::kHandle, WireType::varint))
      request.handle = static_cast<int64_t>(part.value);
  }
  return reader.status();
}

Result<wire::Pieces> encode(const RunCallableReply& reply) {
  namespace field = fields::run_callable_response;
  wire::Pieces message;
  for (const Tensor& tensor : reply.tensors)
    wire::append_tensor_field(message, field::kFetch, tensor);
  MR_TRY(append_metadata(message, field::kMetadata, reply.metadata));
  MR_TRY(check_size(message, "what the callable fetched"));
  return message;
}

Status decode(const Chunks& bytes, RunCallableReply& reply) {
  namespace field = fields::run_callable_response;
  MessageWithTensors message;
  MR_TRY(read_tensors(bytes, field::kFetch, wire::TensorField::plain, message));
  for (wire::NamedTensor& fetch : message.tensors) reply.tensors.push_back(std::move(fetch.tensor));
  wire::Reader reader(message.rest);
  wire::Field part;
  while (reader.next(&part)) {
    if (!part.is(field::kMetadata, WireType::bytes)) continue;
    MR_ASSIGN(reply.metadata, decode_run_metadata(part.bytes));
  }
  return reader.status();
}

}  // namespace millrace::transport
