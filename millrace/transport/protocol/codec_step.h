// RunStep and RunCallable: the messages between clients and masters that carry tensors.
//
// Tensors go from and to their own buffers: a large one is never copied on the way out and once on
// the way in. These are read and written by hand, because they are what a step costs.
//
// As we write them; reading accepts any order of the fields. A "tensor" is a TensorProto.
//
//   RunStepRequest
//   | 0a len: session_handle | 1a len: fetch "y:0" ... | 22 len: target "train" ... |
//   | 2a len: RunOptions, if one has an effect | 32 len: partial_run_handle, if it is one |
//   | 38 01: errors are wanted in the body |
//   | 12 len: feed (0a len: "x:0" | 12 len: tensor) ... |
//
//   RunStepResponse with tensors
//   | 0a len: tensor (0a len: "y:0" | 12 len: tensor) ... in the order of the fetches |
//   | 12 len: RunMetadata, if something was traced |
//
//   RunStepResponse with an error
//   | 18 varint: code | 22 len: message |
//   | e2 3e len: field 1004, ours: GrpcPayloadContainer, if there are payloads (error_details.h) |
//
//   RunCallableRequest    | 0a len: session_handle | 10 varint: handle | 1a len: tensor ... |
//   RunCallableResponse   | 0a len: tensor ... | 12 len: RunMetadata, if something was traced |
//
// Of another master's errors without field 1004 only code and message are known.
// Errors of decode(): INVALID_ARGUMENT, RESOURCE_EXHAUSTED.
#pragma once

#include <string>
#include <vector>

#include "millrace/cluster/messages.h"
#include "millrace/format/pieces.h"
#include "millrace/transport/protocol/chunks.h"

namespace millrace::transport {

// A RunStepRequest says where errors are to be put.
struct ReceivedRunStep {
  RunStepRequest request;
  bool errors_in_body = false;
};

// Asks for errors in the body.
Result<wire::Pieces> encode(const RunStepRequest& request);
Status decode(const Chunks& bytes, ReceivedRunStep& received);

// `fetches` are those of the request. Errors: INTERNAL if the reply has another number of tensors.
Result<wire::Pieces> encode(const RunStepReply& reply, const std::vector<std::string>& fetches);
// The same message with an error in it.
wire::Pieces encode_run_step_error(const Status& error);
// What the message holds: tensors, or an error.
struct AnsweredRunStep {
  RunStepReply reply;
  Status error;
};
// Errors: also if a fetch is missing although there is no error.
Status decode(const Chunks& bytes, const std::vector<std::string>& fetches,
              AnsweredRunStep& answer);

Result<wire::Pieces> encode(const RunCallableRequest& request);
Status decode(const Chunks& bytes, RunCallableRequest& request);
Result<wire::Pieces> encode(const RunCallableReply& reply);
Status decode(const Chunks& bytes, RunCallableReply& reply);

// An error in the body of a RunStepResponse or RunGraphResponse: code, message, and in a field of
// our own the payloads. Part of a message being built or read.
struct BodyError {
  int code = 0;
  std::string message;
  std::string details;

  // OK if there is none.
  Status to_status() const;
};
void put_body_error(std::string* out, int code_field, int message_field, const Status& error);

}  // namespace millrace::transport
