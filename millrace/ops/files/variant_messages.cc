#include "millrace/ops/files/variant_messages.h"

#include "millrace/format/shape_codec.h"
#include "millrace/format/wire_format.h"
#include "millrace/wire/field_numbers.h"
#include "millrace/wire/tensor_codec.h"

namespace millrace {
namespace {

using enum wire::fields::tensor_proto::Number;

}  // namespace

// A tensor's content is the lengths of its variants, then their messages.
std::vector<std::string> variant_messages(const Tensor& variants) {
  std::vector<std::string> messages;
  for (const Variant& variant : variants.flat<Variant>()) {
    const std::string bytes = wire::encode_tensor_bytes(Tensor::scalar(variant));
    wire::Reader reader(bytes);
    wire::Field field;
    std::string& message = messages.emplace_back();
    while (reader.next(&field)) {
      if (!field.is(kTensorContent, wire::WireType::bytes)) continue;
      wire::Reader content = reader.inside(field);
      uint64_t length = 0;
      if (content.next_varint(&length)) message = content.remaining();
    }
  }
  return messages;
}

Result<Tensor> variants_of_messages(const Shape& shape, const std::vector<std::string>& messages) {
  std::string content, bytes;
  for (const std::string& message : messages) wire::put_varint(&content, message.size());
  for (const std::string& message : messages) content += message;
  wire::put_varint_field(&bytes, kTensorDType, static_cast<uint64_t>(DType::variant));
  wire::put_shape(&bytes, kTensorShape, shape);
  wire::put_bytes_field(&bytes, kTensorContent, content);
  return wire::decode_tensor_bytes(bytes);
}

}  // namespace millrace
