// RecvTensor: one tensor from worker to worker.
//
// The answer is TensorFlow's RecvTensorResponse (wire/tensor_response.h). If the caller says that
// it takes parts, which only Millrace tasks do, a large tensor comes as several messages of one
// call:
//
//   | RecvTensorResponse without tensor, with a PartsHead |  bytes  |  bytes  |  ...  |
//
//   PartsHead: | 08 varint: dtype | 10 varint: size of the next dimension | ... |
//
// The messages after the first are the tensor's raw content, cut every kPartBytes. So the receiver
// copies one part while the next is on its way, memory that has just been used is used again, and a
// tensor may be larger than the 2 GB that one message can hold.
#pragma once

#include <vector>

#include "millrace/cluster/messages.h"
#include "millrace/format/pieces.h"
#include "millrace/transport/protocol/chunks.h"

namespace millrace::transport {

// Smaller tensors come in one message even to those who take parts.
inline constexpr size_t kMinPartedBytes = size_t{4} << 20;
inline constexpr size_t kPartBytes = size_t{1} << 20;

enum class Parts : uint8_t { refused, taken };

struct ReceivedRecvTensor {
  RecvTensorRequest request;
  Parts parts = Parts::refused;
};

wire::Pieces encode(const RecvTensorRequest& request, Parts parts);
// Errors: INVALID_ARGUMENT.
Status decode(const Chunks& bytes, ReceivedRecvTensor& received);

// MarkRecvFinishedRequest: lets a worker that keeps its answers forget this one.
wire::Pieces encode_mark_recv_finished(int64_t request_id);

// The messages of the answer. Errors: INTERNAL, in TensorFlow's words, for a tensor that is too
// large for one message.
Result<std::vector<wire::Pieces>> encode_recv_tensor_reply(const RecvTensorReply& reply,
                                                           Parts parts);

// Puts the messages of an answer together.
class TensorReceiver {
 public:
  // True if more messages are to come. Errors: INVALID_ARGUMENT, RESOURCE_EXHAUSTED.
  Result<bool> add(const Chunks& message);
  // Once, after the last message.
  RecvTensorReply take() { return std::move(reply_); }

 private:
  Result<bool> begin(const Chunks& message);
  Status begin_parts(std::string_view head);
  Result<bool> add_part(const Chunks& part);

  RecvTensorReply reply_;
  bool has_begun_ = false;
  size_t received_ = 0;  // bytes of the content
};

}  // namespace millrace::transport
