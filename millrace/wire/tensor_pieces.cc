#include "millrace/wire/tensor_pieces.h"

#include "millrace/wire/tensor_fields.h"

namespace millrace::wire {
namespace {

using enum fields::named_tensor_proto::Number;

// A TensorProto, cut in two: what stands in front of the content, and the content.
class EncodedTensor {
 public:
  explicit EncodedTensor(const Tensor& tensor) : tensor_(tensor) {
    content_ = tensor_content(tensor, &scratch_);
    put_tensor_head(&head_, tensor);
    if (!tensor.has_value()) return;
    put_tag(&head_, kTensorContent, WireType::bytes);
    put_varint(&head_, content_.size());
  }

  size_t size() const { return head_.size() + content_.size(); }

  // Call once.
  void append_to(Pieces& message) {
    message.append(head_);
    if (!scratch_.empty()) {
      message.append(std::move(scratch_));
    } else if (content_.size() < kMinSharedBytes) {
      message.append(content_);
    } else {
      message.append_shared(tensor_.buffer(), content_);
    }
  }

 private:
  const Tensor& tensor_;
  std::string head_;
  std::string scratch_;
  std::string_view content_;  // in scratch_ or in the tensor
};

std::string bytes_head(int number, size_t length) {
  std::string head;
  put_tag(&head, number, WireType::bytes);
  put_varint(&head, length);
  return head;
}

}  // namespace

void append_tensor_field(Pieces& message, int number, const Tensor& tensor) {
  EncodedTensor encoded(tensor);
  message.append(bytes_head(number, encoded.size()));
  encoded.append_to(message);
}

void append_named_tensor(Pieces& message, int number, std::string_view name, const Tensor& tensor) {
  EncodedTensor encoded(tensor);
  const std::string tensor_head = bytes_head(kNamedTensor, encoded.size());
  std::string name_field;
  put_bytes_field(&name_field, kTensorName, name);
  message.append(bytes_head(number, name_field.size() + tensor_head.size() + encoded.size()));
  message.append(name_field);
  message.append(tensor_head);
  encoded.append_to(message);
}

}  // namespace millrace::wire
