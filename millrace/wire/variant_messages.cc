#include "millrace/wire/variant_messages.h"

#include "millrace/format/shape_codec.h"
#include "millrace/format/wire_format.h"
#include "millrace/wire/field_numbers.h"
#include "millrace/wire/tensor_codec.h"

namespace millrace::wire {
namespace {

using enum fields::tensor_proto::Number;

}  // namespace

// A tensor's content is the lengths of its variants, then their messages.
std::vector<std::string> variant_messages(const Tensor& variants) {
  std::vector<std::string> messages;
  for (const Variant& variant : variants.flat<Variant>()) {
    const std::string bytes = encode_tensor_bytes(Tensor::scalar(variant));
    Reader reader(bytes);
    Field field;
    std::string& message = messages.emplace_back();
    while (reader.next(&field)) {
      if (!field.is(kTensorContent, WireType::bytes)) continue;
      Reader content = reader.inside(field);
      uint64_t length = 0;
      if (content.next_varint(&length)) message = content.remaining();
    }
  }
  return messages;
}

Result<Tensor> variants_of_messages(const Shape& shape, const std::vector<std::string>& messages) {
  std::string content, bytes;
  for (const std::string& message : messages) put_varint(&content, message.size());
  for (const std::string& message : messages) content += message;
  put_varint_field(&bytes, kTensorDType, static_cast<uint64_t>(DType::variant));
  put_shape(&bytes, kTensorShape, shape);
  put_bytes_field(&bytes, kTensorContent, content);
  return decode_tensor_bytes(bytes);
}

}  // namespace millrace::wire
