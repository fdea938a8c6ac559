// RunGraph: what starts a worker's part of a step, with the values that come and go with it.
//
// Tensors as in codec_step.h. A dead value travels as an empty tensor whose place is in a field of
// our own; a TensorFlow master, which does not know the field, never asks a remote worker for
// values.
//
// As we write them; reading accepts any order of the fields. Flags stand there if they are set,
// numbers if they are not 0.
//
//   RunGraphRequest
//   | 0a len: graph_handle | 10 varint: step_id | 22 len: key of a value that is wanted ... |
//   | 2a len: ExecutorOpts (18 01: traced | 20 01: with graphs), if one is set |
//   | 30 01: one leg of a partial run | 38 01: its last leg | 42 len: session_handle |
//   | 48 01: errors are wanted in the body | 50 01: the session was made by CreateWorkerSession |
//   | 58 varint: request_id |
//   | 1a len: value that is sent (0a len: key | 12 len: TensorProto) ... |
//
//   RunGraphResponse with values
//   | 0a len: value (0a len: key | 12 len: TensorProto, or one that means nothing) ... |
//   | da 3e len: field 1003, ours: varint place of a dead value ..., if there are any |
//   | 12 len: StepStats | 22 len: GraphDef ..., if they were wanted |
//
//   RunGraphResponse with an error
//   | 28 varint: code | 32 len: message |
//   | e2 3e len: field 1004, ours: GrpcPayloadContainer, if there are payloads (error_details.h) |
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
