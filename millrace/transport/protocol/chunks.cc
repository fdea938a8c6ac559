#include "millrace/transport/protocol/chunks.h"

#include <algorithm>
#include <utility>

#include <google/protobuf/message_lite.h>

#include "millrace/format/wire_format.h"
#include "millrace/wire/field_numbers.h"
#include "millrace/wire/tensor_codec.h"

namespace millrace::transport {
namespace {

using enum wire::fields::named_tensor_proto::Number;

// What one tensor after the other may still take beyond its bytes in the message.
class ExpansionLimit {
 public:
  Result<Tensor> decode(std::string_view bytes) {
    MR_ASSIGN(Tensor tensor, wire::decode_tensor_bytes(bytes, limits_));
    const size_t size = tensor.num_bytes();
    const size_t expanded = size > bytes.size() ? size - bytes.size() : 0;
    limits_.max_expanded_bytes -= std::min(expanded, limits_.max_expanded_bytes);
    return tensor;
  }

 private:
  wire::DecodeLimits limits_;
};

Status read_named(wire::Reader reader, ExpansionLimit& limit, wire::NamedTensor& out) {
  std::string_view tensor;
  bool has_tensor = false;
  wire::Field field;
  while (reader.next(&field)) {
    if (field.is(kTensorName, wire::WireType::bytes)) out.name = field.bytes;
    if (field.is(kNamedTensor, wire::WireType::bytes)) {
      tensor = field.bytes;
      has_tensor = true;
    }
  }
  MR_TRY(reader.status());
  if (!has_tensor) return invalid("'", out.name, "' comes without a tensor");
  auto decoded = limit.decode(tensor);
  if (!decoded.ok()) return decoded.status().with(str_cat("tensor '", out.name, "'"));
  out.tensor = std::move(decoded).value();
  return {};
}

Status read_whole(std::string_view message, int number, wire::TensorField kind,
                  MessageWithTensors& out) {
  out.rest = message;
  ExpansionLimit limit;
  wire::Reader reader(message);
  wire::Field field;
  while (reader.next(&field)) {
    if (!field.is(static_cast<uint32_t>(number), wire::WireType::bytes)) continue;
    wire::NamedTensor& tensor = out.tensors.emplace_back();
    if (kind == wire::TensorField::named) {
      MR_TRY(read_named(reader.inside(field), limit, tensor));
    } else {
      MR_ASSIGN(tensor.tensor, limit.decode(field.bytes));
    }
  }
  return reader.status();
}

}  // namespace

std::string_view join(const Chunks& chunks, std::string& scratch) {
  if (chunks.pieces.empty()) return {};
  if (chunks.pieces.size() == 1) return chunks.pieces[0];
  scratch.reserve(chunks.size);
  for (const std::string_view piece : chunks.pieces) scratch.append(piece);
  return scratch;
}

Status parse(const Chunks& chunks, std::string_view what, google::protobuf::MessageLite& message) {
  std::string scratch;
  const std::string_view bytes = join(chunks, scratch);
  if (message.ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size()))) return {};
  return invalid(bytes.size(), " bytes are no ", what);
}

Result<std::string> serialize(const google::protobuf::MessageLite& message) {
  std::string bytes;
  if (message.SerializeToString(&bytes)) return bytes;
  return internal("a message of ", message.ByteSizeLong(),
                  " bytes is over protobuf's limit of 2 GB");
}

Result<wire::Pieces> to_pieces(const google::protobuf::MessageLite& message) {
  MR_ASSIGN(std::string bytes, serialize(message));
  wire::Pieces pieces;
  pieces.append(std::move(bytes));
  return pieces;
}

Status read_tensors(const Chunks& chunks, int field, wire::TensorField kind,
                    MessageWithTensors& out) {
  if (chunks.pieces.size() <= 1)
    return read_whole(chunks.pieces.empty() ? std::string_view() : chunks.pieces[0], field, kind,
                      out);
  wire::TensorExtractor extractor(field, kind, chunks.size);
  for (const std::string_view piece : chunks.pieces) MR_TRY(extractor.add(piece));
  MR_ASSIGN(wire::TensorExtractor::Extracted extracted, extractor.finish());
  out.tensors = std::move(extracted.tensors);
  out.scratch = std::move(extracted.rest);
  out.rest = out.scratch;
  return {};
}

}  // namespace millrace::transport
