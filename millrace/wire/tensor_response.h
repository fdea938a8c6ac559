// RecvTensorResponse, the message that carries a tensor from worker to worker.
//
// The layout that TensorFlow's fast decoder wants, and that we write:
//
//   | is_dead 10 01 if true | send_start_micros 18 varint | require_ack 28 01 if true |
//   | 0a varint: bytes of the TensorProto |
//   |    dtype 08 varint | shape 12 len (12 len 08 varint size)..., missing for scalars |
//   |    22 varint: bytes of content | content |
//
// Reading accepts any order of the fields. A dead value carries a dummy tensor that means nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/format/pieces.h"
#include "millrace/tensor/tensor.h"
#include "millrace/wire/tensor_extractor.h"

namespace millrace::wire {

struct TensorResponse {
  Tensor tensor;  // no value if dead
  bool is_dead = false;
  int64_t send_start_micros = 0;  // since the Unix epoch, for timelines; 0: not written
  bool require_ack = false;       // the receiver must send MarkRecvFinished
};

// Errors: INTERNAL if the message would be over protobuf's limit of 2^31 - 1 bytes (TensorFlow's
// answer, too), or if a value that is not dead has no tensor.
Result<Pieces> encode_tensor_response(const TensorResponse& response);

// Fed with the chunks of one message, cut anywhere.
class TensorResponseParser {
 public:
  explicit TensorResponseParser(size_t message_size, DecodeLimits limits = {});
  // Errors as TensorExtractor::add.
  Status add(std::string_view chunk) { return extractor_.add(chunk); }
  // Once, after the last chunk.
  Result<TensorResponse> finish();

 private:
  TensorExtractor extractor_;
};

}  // namespace millrace::wire
