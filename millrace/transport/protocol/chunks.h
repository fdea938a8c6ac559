// Chunks: the bytes of one message as they lie in memory, and what every codec of this room does
// with them.
//
// Codecs know nothing of gRPC: they read Chunks and write wire::Pieces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"

#include "millrace/base/result.h"
#include "millrace/format/pieces.h"
#include "millrace/wire/tensor_extractor.h"

namespace google::protobuf {
class MessageLite;
}

namespace millrace::transport {

// The most that one message may hold, by gRPC's and protobuf's count.
inline constexpr size_t kMaxMessageBytes = 0x7fffffff;

struct Chunks {
  Chunks() = default;
  // For tests, and for what is in one piece anyway.
  explicit Chunks(std::string_view whole) : size(whole.size()) {
    if (!whole.empty()) pieces.push_back(whole);
  }

  absl::InlinedVector<std::string_view, 4> pieces;  // cut anywhere
  size_t size = 0;
};

// All bytes, copied to `scratch` if they are in several pieces.
std::string_view join(const Chunks& chunks, std::string& scratch);

// Errors: INVALID_ARGUMENT naming `what` for bytes that are no such message.
Status parse(const Chunks& chunks, std::string_view what, google::protobuf::MessageLite& message);
// Errors: INTERNAL if the message is larger than protobuf's 2 GB.
Result<std::string> serialize(const google::protobuf::MessageLite& message);
Result<wire::Pieces> to_pieces(const google::protobuf::MessageLite& message);

// A message whose tensors have been taken out, each with one copy into its own buffer.
struct MessageWithTensors {
  std::vector<wire::NamedTensor> tensors;  // no names if they are plain
  std::string_view rest;  // the other fields; may hold the tensors, too, to be skipped
  std::string scratch;    // what `rest` may refer to, besides the chunks
};
// Errors: INVALID_ARGUMENT for malformed bytes or tensors; RESOURCE_EXHAUSTED.
Status read_tensors(const Chunks& chunks, int field, wire::TensorField kind,
                    MessageWithTensors& out);

}  // namespace millrace::transport
