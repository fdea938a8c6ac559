// RunGraph: what starts a worker's part of a step, with the values that come and go with it.
//
// Tensors as in codec_step.h. A dead value travels as an empty tensor whose place is in a field of
// our own; a TensorFlow master, which does not know the field, never asks a remote worker for
// values.
#pragma once

#include "millrace/cluster/messages.h"
#include "millrace/format/pieces.h"
#include "millrace/transport/protocol/chunks.h"

namespace millrace::transport {

// A RunGraphRequest says where errors are to be put.
struct ReceivedRunGraph {
  RunGraphRequest request;
  bool errors_in_body = false;
};

// Asks for errors in the body. Errors: INTERNAL if there are not as many values as keys.
Result<wire::Pieces> encode(const RunGraphRequest& request);
// `request.keys` is always set.
Status decode(const Chunks& bytes, ReceivedRunGraph& received);

// `keys` are those of the request. Errors: INTERNAL if the reply has another number of values.
Result<wire::Pieces> encode(const RunGraphReply& reply, const StepKeys& keys);
wire::Pieces encode_run_graph_error(const Status& error);
// What the message holds: values, or an error.
struct AnsweredRunGraph {
  RunGraphReply reply;
  Status error;
};
// Errors: also if a key is missing although there is no error.
Status decode(const Chunks& bytes, const StepKeys& keys, AnsweredRunGraph& answer);

}  // namespace millrace::transport
