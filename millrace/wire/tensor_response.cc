#include "millrace/wire/tensor_response.h"

#include <limits>
#include <string>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/format/wire_format.h"
#include "millrace/wire/field_numbers.h"
#include "millrace/wire/tensor_pieces.h"

namespace millrace::wire {
namespace {

using enum fields::recv_tensor_response::Number;

constexpr size_t kMaxMessageBytes = std::numeric_limits<int32_t>::max();

// What TensorFlow sends with a dead value. Receivers want some tensor there, and look no further.
Result<Tensor> dummy_tensor() { return Tensor::allocate(DType::f32, {0}); }

}  // namespace

Result<Pieces> encode_tensor_response(const TensorResponse& response) {
  std::string fields;
  if (response.is_dead) put_varint_field(&fields, kIsDead, 1);
  if (response.send_start_micros != 0)
    put_varint_field(&fields, kSendStartMicros, static_cast<uint64_t>(response.send_start_micros));
  if (response.require_ack) put_varint_field(&fields, kRequireAck, 1);

  Pieces message;
  message.append(fields);
  if (response.is_dead) {
    MR_ASSIGN(const Tensor dummy, dummy_tensor());
    append_tensor_field(message, kResponseTensor, dummy);
    return message;
  }
  if (!response.tensor.has_value())
    return internal("a value that is not dead was sent without a tensor");
  append_tensor_field(message, kResponseTensor, response.tensor);
  if (message.size() > kMaxMessageBytes) {
    return internal("a ", dtype_name(response.tensor.dtype()), " tensor of shape ",
                    response.tensor.shape().to_string(), " takes ", message.size(),
                    " bytes on the wire, more than the 2GB protobuf limit; split it in the graph");
  }
  return message;
}

TensorResponseParser::TensorResponseParser(size_t message_size, DecodeLimits limits)
    : extractor_(kResponseTensor, TensorField::plain, message_size, limits) {}

Result<TensorResponse> TensorResponseParser::finish() {
  MR_ASSIGN(TensorExtractor::Extracted extracted, extractor_.finish_whatever_the_tensors());
  TensorResponse response;
  Reader reader(extracted.rest);
  Field field;
  while (reader.next(&field)) {
    if (field.is(kIsDead, WireType::varint)) response.is_dead = field.value != 0;
    if (field.is(kSendStartMicros, WireType::varint))
      response.send_start_micros = static_cast<int64_t>(field.value);
    if (field.is(kRequireAck, WireType::varint)) response.require_ack = field.value != 0;
  }
  MR_TRY(reader.status());
  if (response.is_dead) return response;
  MR_TRY(extractor_.tensor_status().with("received tensor"));
  if (extracted.tensors.size() != 1) {
    return invalid("a RecvTensorResponse that is not dead holds ", extracted.tensors.size(),
                   " tensors; one is needed");
  }
  response.tensor = std::move(extracted.tensors[0].tensor);
  return response;
}

}  // namespace millrace::wire
