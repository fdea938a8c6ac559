// Fields of our own in TensorFlow's messages.
//
// Only Millrace tasks write and read them; TensorFlow skips fields that it does not know, and their
// numbers are far from any that it uses.
#pragma once

namespace millrace::transport {

enum OwnField : int {
  // RecvTensorRequest, bool: the caller can take a large tensor as several messages.
  kTakesParts = 1001,
  // RecvTensorResponse, PartsHead (codec_recv_tensor.cc): no tensor here; it follows as messages.
  kPartsHead = 1002,
  // RunGraphResponse, packed uint32: which of the values of `recv` are dead.
  kDeadValues = 1003,
  // RunStepResponse and RunGraphResponse, GrpcPayloadContainer: what status_code and
  // status_error_message leave out of an error.
  kErrorDetails = 1004,
  // GetStatusResponse, repeated EndedTask (worker.proto): who is known to have ended well.
  kEnded = 1005,
  // GetStatusResponse, uint64: what the task can do beyond TensorFlow's protocol, a bit each.
  kCapabilities = 1006,
};

}  // namespace millrace::transport
