#include "millrace/wire/pieces.h"

#include "millrace/wire/tensor_fields.h"

namespace millrace::wire {
namespace {

// NamedTensorProto.
constexpr int kName = 1;
constexpr int kTensor = 2;

// A piece longer than this is not grown further: growing would copy it.
constexpr size_t kMaxGathered = 16 << 10;

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

std::string& Pieces::tail() {
  if (pieces_.empty() || pieces_.back().buffer != nullptr ||
      pieces_.back().bytes.size() >= kMaxGathered)
    pieces_.emplace_back();
  return pieces_.back().bytes;
}

void Pieces::append(std::string_view bytes) {
  if (bytes.empty()) return;
  tail().append(bytes);
  size_ += bytes.size();
}

void Pieces::append(std::string&& bytes) {
  if (bytes.size() < kMinSharedBytes) return append(std::string_view(bytes));
  size_ += bytes.size();
  pieces_.push_back({std::move(bytes), nullptr, {}});
}

void Pieces::append_shared(std::shared_ptr<Buffer> buffer, std::string_view bytes) {
  size_ += bytes.size();
  pieces_.push_back({{}, std::move(buffer), bytes});
}

std::string Pieces::join() const {
  std::string all;
  all.reserve(size_);
  for (const Piece& piece : pieces_) all += piece.view();
  return all;
}

void append_tensor_field(Pieces& message, int number, const Tensor& tensor) {
  EncodedTensor encoded(tensor);
  message.append(bytes_head(number, encoded.size()));
  encoded.append_to(message);
}

void append_named_tensor(Pieces& message, int number, std::string_view name, const Tensor& tensor) {
  EncodedTensor encoded(tensor);
  const std::string tensor_head = bytes_head(kTensor, encoded.size());
  std::string name_field;
  put_bytes_field(&name_field, kName, name);
  message.append(bytes_head(number, name_field.size() + tensor_head.size() + encoded.size()));
  message.append(name_field);
  message.append(tensor_head);
  encoded.append_to(message);
}

}  // namespace millrace::wire
