#include "millrace/wire/tensor_extractor.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/format/wire_format.h"
#include "millrace/wire/tensor_fields.h"

namespace millrace::wire {
namespace {

using enum fields::named_tensor_proto::Number;

uint32_t number_of(uint64_t tag) { return static_cast<uint32_t>(tag >> 3); }
WireType type_of(uint64_t tag) { return static_cast<WireType>(tag & 7); }

}  // namespace

TensorExtractor::TensorExtractor(int field_number, TensorField field, size_t message_size,
                                 DecodeLimits limits)
    : field_number_(static_cast<uint32_t>(field_number)),
      field_(field),
      budget_(std::make_unique<Budget>(limits)) {
  frames_.push_back({Level::message, message_size});
}

TensorExtractor::~TensorExtractor() = default;

Status TensorExtractor::add(std::string_view chunk) {
  while (status_.ok() && !chunk.empty()) {
    if (position_ == frames_.front().end) {
      status_ = malformed("the message goes on after its announced end");
    } else {
      status_ = consume(&chunk);
    }
  }
  return status_;
}

Status TensorExtractor::consume(std::string_view* chunk) {
  if (reading_ == Reading::bytes || reading_ == Reading::payload) {
    const size_t count = std::min(missing_, chunk->size());
    if (reading_ == Reading::payload) {
      std::memcpy(payload_, chunk->data(), count);
      payload_ += count;
    } else if (std::string* const out = sink()) {
      out->append(chunk->substr(0, count));
    }
    chunk->remove_prefix(count);
    position_ += count;
    missing_ -= count;
    if (missing_ > 0) return {};
    reading_ = Reading::tag;
    return close_finished_frames();
  }
  const char byte = chunk->front();
  chunk->remove_prefix(1);
  ++position_;
  MR_TRY(read_head(byte));
  if (reading_ != Reading::tag || !head_.empty()) {
    // The next byte belongs to this field, too: there must be one inside this message.
    const bool wants_more = reading_ != Reading::bytes && reading_ != Reading::payload;
    if (wants_more && position_ == frame().end) return malformed("a message ends inside a field");
    return {};
  }
  return close_finished_frames();
}

// Takes one byte of a tag and of the number or length behind it.
Status TensorExtractor::read_head(char byte) {
  head_ += byte;
  const bool is_last = (byte & 0x80) == 0;
  switch (reading_) {
    case Reading::tag: {
      if (!is_last)
        return head_.size() < kMaxVarintBytes ? Status() : malformed("a tag of more than 10 bytes");
      Reader(head_).next_varint(&tag_);
      value_at_ = head_.size();
      if (number_of(tag_) == 0 || tag_ >> 32 != 0)
        return malformed("a tag with a field number that cannot be");
      switch (type_of(tag_)) {
        case WireType::varint:
        case WireType::bytes:
          reading_ = Reading::varint;
          return {};
        case WireType::fixed32:
          missing_ = 4;
          break;
        case WireType::fixed64:
          missing_ = 8;
          break;
        default:
          return malformed("a tag with a wire type that is not supported");
      }
      reading_ = Reading::fixed;
      return {};
    }
    case Reading::varint:
      if (is_last) return head_is_complete();
      return head_.size() - value_at_ < kMaxVarintBytes
                 ? Status()
                 : malformed("a number of more than 10 bytes");
    default:
      return --missing_ == 0 ? head_is_complete() : Status();
  }
}

Status TensorExtractor::head_is_complete() {
  reading_ = Reading::tag;
  if (type_of(tag_) != WireType::bytes) {
    is_name_ = false;
    if (std::string* const out = sink()) *out += head_;
    head_.clear();
    return {};
  }
  uint64_t length = 0;
  Reader(std::string_view(head_).substr(value_at_)).next_varint(&length);
  if (length > frame().end - position_)
    return malformed("a length that passes the end of its message");
  return begin_bytes(length);
}

Status TensorExtractor::begin_bytes(size_t length) {
  const uint32_t number = number_of(tag_);
  switch (frame().level) {
    case Level::message:
      if (number != field_number_) break;
      name_.clear();
      has_tensor_ = false;
      return enter(field_ == TensorField::named ? Level::named : Level::tensor, length);
    case Level::named:
      if (number == kNamedTensor) return enter(Level::tensor, length);
      if (number == kTensorName) name_.clear();
      is_name_ = number == kTensorName;
      head_.clear();
      return begin_copy(length);
    case Level::tensor:
      if (number == kTensorContent && takes_content(length)) return begin_content(length);
      break;
  }
  *sink() += head_;
  head_.clear();
  return begin_copy(length);
}

Status TensorExtractor::begin_copy(size_t length) {
  missing_ = length;
  if (length > 0) reading_ = Reading::bytes;
  return {};
}

Status TensorExtractor::enter(Level level, size_t length) {
  if (level == Level::tensor) {
    if (has_tensor_) return malformed("a second tensor where one is expected");
    has_tensor_ = true;
    tensor_ = Tensor();
    tensor_bytes_.clear();
  }
  head_.clear();
  frames_.push_back({level, position_ + length});
  return {};
}

// True if the content can go straight into the tensor: what describes it came before, and nothing
// comes after it.
bool TensorExtractor::takes_content(size_t length) {
  if (length == 0 || length != frame().end - position_) return false;
  const Result<TensorHead> head = read_tensor_head(Reader(tensor_bytes_));
  if (!head.ok() || !is_plain(head->dtype)) return false;
  const auto count = static_cast<size_t>(head->shape.num_elements());
  const size_t size = dtype_size(head->dtype);
  return length % size == 0 && length / size == count;
}

Status TensorExtractor::begin_content(size_t length) {
  MR_ASSIGN(const TensorHead head, read_tensor_head(Reader(tensor_bytes_)));
  MR_ASSIGN(tensor_, Tensor::allocate(head.dtype, head.shape));
  head_.clear();
  payload_ = static_cast<char*>(tensor_.mutable_data());
  missing_ = length;
  reading_ = Reading::payload;
  return {};
}

Status TensorExtractor::close_finished_frames() {
  while (frames_.size() > 1 && position_ == frame().end) {
    const Level level = frame().level;
    frames_.pop_back();
    if (level == Level::tensor) close_tensor();
    if (level == Level::named && !has_tensor_)
      return malformed(str_cat("'", name_, "' has no tensor"));
    if (frame().level == Level::message)
      extracted_.tensors.push_back({std::exchange(name_, {}), std::exchange(tensor_, {})});
  }
  return {};
}

void TensorExtractor::close_tensor() {
  Status status;
  if (!tensor_.has_value()) {
    Result<Tensor> decoded = read_tensor(Reader(tensor_bytes_), *budget_, 0);
    status = decoded.status();
    if (decoded.ok()) tensor_ = std::move(decoded).value();
  } else if (tensor_.dtype() == DType::boolean) {
    status = check_bools(tensor_.bytes());
  }
  if (status.ok()) return;
  tensor_ = Tensor();
  if (tensor_status_.ok())
    tensor_status_ = name_.empty() ? status : status.with(str_cat("'", name_, "'"));
}

// Where the bytes of the current field go; null if they go nowhere.
std::string* TensorExtractor::sink() {
  switch (frame().level) {
    case Level::message:
      return &extracted_.rest;
    case Level::tensor:
      return &tensor_bytes_;
    case Level::named:
      return is_name_ ? &name_ : nullptr;
  }
  return nullptr;
}

Status TensorExtractor::malformed(std::string_view what) const {
  return invalid("malformed message at byte ", position_, ": ", what);
}

Result<TensorExtractor::Extracted> TensorExtractor::finish() {
  MR_ASSIGN(Extracted extracted, finish_whatever_the_tensors());
  MR_TRY(tensor_status_);
  return extracted;
}

Result<TensorExtractor::Extracted> TensorExtractor::finish_whatever_the_tensors() {
  MR_TRY(status_);
  if (position_ != frames_.front().end) {
    return invalid("a message of ", frames_.front().end, " bytes ended after ", position_,
                   "; the connection may have been cut");
  }
  status_ = internal("the tensors of a message were taken twice");
  return std::move(extracted_);
}

}  // namespace millrace::wire
