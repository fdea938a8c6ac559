// TensorExtractor: reads a message that arrives in chunks and takes its tensors out on the way,
// each payload copied once, from the chunk into the tensor's own buffer. What is left of the
// message is small and is parsed as usual.
//
//   TensorExtractor extractor(RunStepRequest::kFeedFieldNumber, TensorField::named,
//   message.Length()); for (const auto& slice : slices) MR_TRY(extractor.add(slice));
//   MR_ASSIGN(auto extracted, extractor.finish());
//   request.ParseFromString(extracted.rest);
//
// Chunks may be cut anywhere. Nothing larger than the message is ever allocated, except for typed
// lists within `limits`. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/tensor/tensor.h"
#include "millrace/wire/tensor_codec.h"

namespace millrace::wire {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

class Budget;

// What the extracted field holds: a TensorProto, or a NamedTensorProto around one.
enum class TensorField : uint8_t { plain, named };

class TensorExtractor {
 public:
  // The message will have exactly `message_size` bytes.
  TensorExtractor(int field_number, TensorField field, size_t message_size,
                  DecodeLimits limits = {});
  ~TensorExtractor();

  // Errors: INVALID_ARGUMENT with the offset of what is malformed; RESOURCE_EXHAUSTED. After an
  // error every further call returns it.
  Status add(std::string_view chunk);

  struct Extracted {
    std::vector<NamedTensor> tensors;  // in the order of the message; no names if plain
    std::string rest;                  // all other fields, encoded as they were
  };
  // Once, after the last chunk. Errors as for add; INVALID_ARGUMENT if bytes are missing or a
  // tensor can't be decoded.
  Result<Extracted> finish();

  // Like finish, but a tensor that can't be decoded stays without a value: for dead values, whose
  // tensor means nothing. `tensor_status()` says what was wrong.
  Result<Extracted> finish_whatever_the_tensors();
  const Status& tensor_status() const { return tensor_status_; }

 private:
  enum class Level : uint8_t { message, named, tensor };
  enum class Reading : uint8_t { tag, varint, fixed, bytes, payload };
  struct Frame {
    Level level;
    size_t end;  // offset in the message
  };

  const Frame& frame() const { return frames_.back(); }
  Status consume(std::string_view* chunk);
  Status read_head(char byte);
  Status head_is_complete();
  Status begin_bytes(size_t length);
  Status begin_copy(size_t length);
  Status begin_content(size_t length);
  Status enter(Level level, size_t length);
  bool takes_content(size_t length);
  Status close_finished_frames();
  void close_tensor();
  std::string* sink();
  Status malformed(std::string_view what) const;

  const uint32_t field_number_;
  const TensorField field_;
  const std::unique_ptr<Budget> budget_;

  Status status_;
  Status tensor_status_;
  Extracted extracted_;

  // Where in the message we are.
  std::vector<Frame> frames_;
  size_t position_ = 0;
  Reading reading_ = Reading::tag;
  std::string head_;     // tag and number or length of the field being read
  uint64_t tag_ = 0;     // once complete
  size_t value_at_ = 0;  // where the number or length starts in head_
  size_t missing_ = 0;   // bytes of a fixed number, of a copy or of a payload still to come

  // The NamedTensorProto and the TensorProto we are in.
  bool has_tensor_ = false;
  bool is_name_ = false;  // the bytes being copied are the name
  std::string name_;
  std::string tensor_bytes_;  // all but a payload that goes straight into tensor_
  Tensor tensor_;
  char* payload_ = nullptr;  // where its next byte goes
};

}  // namespace millrace::wire
