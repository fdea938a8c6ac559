#include "millrace/transport/protocol/codec_recv_tensor.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "millrace/format/wire_format.h"
#include "millrace/transport/protocol/extensions.h"
#include "millrace/wire/field_numbers.h"
#include "millrace/wire/tensor_response.h"

namespace millrace::transport {
namespace {

using wire::WireType;

namespace recv_request_field = wire::fields::recv_tensor_request;
namespace recv_response_field = wire::fields::recv_tensor_response;
namespace parts_head {
constexpr int kDType = 1, kDim = 2;
}

// A first message that is larger than this has the tensor in it.
constexpr size_t kMaxHead = 8192;

bool comes_in_parts(const RecvTensorReply& reply, Parts parts) {
  const Tensor& tensor = reply.delivery.tensor;
  return parts == Parts::taken && !reply.delivery.is_dead && is_plain(tensor.dtype()) &&
         tensor.num_bytes() >= kMinPartedBytes;
}

wire::Pieces encode_head(const RecvTensorReply& reply) {
  const Tensor& tensor = reply.delivery.tensor;
  std::string bytes;
  if (reply.send_start_micros != 0) {
    wire::put_varint_field(&bytes, recv_response_field::kSendStartMicros,
                           static_cast<uint64_t>(reply.send_start_micros));
  }
  if (reply.require_ack) wire::put_varint_field(&bytes, recv_response_field::kRequireAck, 1);
  {
    const wire::NestedField head(&bytes, kPartsHead);
    wire::put_varint_field(&bytes, parts_head::kDType, static_cast<uint64_t>(tensor.dtype()));
    for (const int64_t dim : tensor.shape().dims())
      wire::put_varint_field(&bytes, parts_head::kDim, static_cast<uint64_t>(dim));
  }
  wire::Pieces message;
  message.append(std::move(bytes));
  return message;
}

Status check_bools(const Tensor& tensor) {
  if (tensor.dtype() != DType::boolean) return {};
  const std::string_view bytes = tensor.bytes();
  if (std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == 0 || c == 1; })) return {};
  return invalid("a received bool tensor has elements that are neither 0 nor 1");
}

}  // namespace

wire::Pieces encode(const RecvTensorRequest& request, Parts parts) {
  std::string bytes;
  wire::put_varint_field(&bytes, recv_request_field::kStepId,
                         static_cast<uint64_t>(request.step_id));
  wire::put_bytes_field(&bytes, recv_request_field::kRendezvousKey, request.rendezvous_key);
  if (request.request_id != 0) {
    wire::put_varint_field(&bytes, recv_request_field::kRequestId,
                           static_cast<uint64_t>(request.request_id));
  }
  if (parts == Parts::taken) wire::put_varint_field(&bytes, kTakesParts, 1);
  wire::Pieces message;
  message.append(std::move(bytes));
  return message;
}

Status decode(const Chunks& bytes, ReceivedRecvTensor& received) {
  std::string scratch;
  wire::Reader reader(join(bytes, scratch));
  wire::Field part;
  RecvTensorRequest& request = received.request;
  while (reader.next(&part)) {
    if (part.is(recv_request_field::kStepId, WireType::varint))
      request.step_id = static_cast<int64_t>(part.value);
    if (part.is(recv_request_field::kRendezvousKey, WireType::bytes))
      request.rendezvous_key = part.bytes;
    if (part.is(recv_request_field::kRequestId, WireType::varint))
      request.request_id = static_cast<int64_t>(part.value);
    if (part.is(kTakesParts, WireType::varint))
      received.parts = part.value != 0 ? Parts::taken : Parts::refused;
  }
  return reader.status();
}

wire::Pieces encode_mark_recv_finished(int64_t request_id) {
  std::string bytes;
  wire::put_varint_field(&bytes, wire::fields::mark_recv_finished_request::kRequestId,
                         static_cast<uint64_t>(request_id));
  wire::Pieces message;
  message.append(std::move(bytes));
  return message;
}

Result<std::vector<wire::Pieces>> encode_recv_tensor_reply(const RecvTensorReply& reply,
                                                           Parts parts) {
  std::vector<wire::Pieces> messages;
  const Tensor& tensor = reply.delivery.tensor;
  if (!comes_in_parts(reply, parts)) {
    auto message = wire::encode_tensor_response({.tensor = tensor,
                                                 .is_dead = reply.delivery.is_dead,
                                                 .send_start_micros = reply.send_start_micros,
                                                 .require_ack = reply.require_ack});
    if (!message.ok()) {
      return std::move(message).status().with(
          "Failed to encode tensor to byte buffer: Cannot encode a Tensor that exceeds the 2GB "
          "protobuf limit");
    }
    messages.push_back(std::move(message).value());
    return messages;
  }
  messages.push_back(encode_head(reply));
  const std::string_view content = tensor.bytes();
  for (size_t at = 0; at < content.size(); at += kPartBytes)
    messages.emplace_back().append_shared(tensor.buffer(), content.substr(at, kPartBytes));
  return messages;
}

Result<bool> TensorReceiver::add(const Chunks& message) {
  if (std::exchange(has_begun_, true)) return add_part(message);
  return begin(message);
}

Result<bool> TensorReceiver::begin(const Chunks& message) {
  if (message.size <= kMaxHead) {
    std::string scratch;
    wire::Reader reader(join(message, scratch));
    wire::Field part;
    bool in_parts = false;
    while (reader.next(&part)) {
      if (part.is(recv_response_field::kSendStartMicros, WireType::varint))
        reply_.send_start_micros = static_cast<int64_t>(part.value);
      if (part.is(recv_response_field::kRequireAck, WireType::varint))
        reply_.require_ack = part.value != 0;
      if (!part.is(kPartsHead, WireType::bytes)) continue;
      in_parts = true;
      MR_TRY(begin_parts(part.bytes));
    }
    MR_TRY(reader.status());
    if (in_parts) return reply_.delivery.tensor.num_bytes() > 0;
  }
  wire::TensorResponseParser parser(message.size);
  for (const std::string_view piece : message.pieces) MR_TRY(parser.add(piece));
  MR_ASSIGN(wire::TensorResponse response, parser.finish());
  reply_ = {{std::move(response.tensor), response.is_dead},
            response.send_start_micros,
            response.require_ack};
  return false;
}

Status TensorReceiver::begin_parts(std::string_view head) {
  int dtype_number = 0;
  Shape::Dims dims;
  wire::Reader reader(head);
  wire::Field part;
  while (reader.next(&part)) {
    if (part.is(parts_head::kDType, WireType::varint)) dtype_number = part.as_int32();
    if (!part.is(parts_head::kDim, WireType::varint)) continue;
    if (dims.size() == static_cast<size_t>(kMaxRank))
      return invalid("a tensor of more than 254 dimensions");
    dims.push_back(static_cast<int64_t>(part.value));
  }
  MR_TRY(reader.status());
  const std::optional<DType> dtype = dtype_from_number(dtype_number);
  if (!dtype || !is_plain(*dtype))
    return invalid("elements of type ", dtype_number, " can't come in parts");
  MR_ASSIGN(const Shape shape, Shape::create({dims.data(), dims.size()}));
  MR_ASSIGN(reply_.delivery.tensor, Tensor::allocate(*dtype, shape));
  return {};
}

Result<bool> TensorReceiver::add_part(const Chunks& part) {
  Tensor& tensor = reply_.delivery.tensor;
  const size_t size = tensor.num_bytes();
  if (part.size > size - received_) {
    return invalid("the parts of a tensor of ", size, " bytes come to ", received_ + part.size,
                   " or more");
  }
  char* at = static_cast<char*>(tensor.mutable_data()) + received_;
  for (const std::string_view piece : part.pieces) {
    std::memcpy(at, piece.data(), piece.size());
    at += piece.size();
  }
  received_ += part.size;
  if (received_ < size) return true;
  MR_TRY(check_bools(tensor));
  return false;
}

}  // namespace millrace::transport
