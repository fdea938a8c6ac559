// What travels beside an error's code and message, in the gRPC trailer `grpc-status-details-bin`:
//
//   | 0a varint (0a varint url, 12 varint bytes) | ... one entry per payload
//
// A consequence carries TensorFlow's DerivedStatus payload.
#pragma once

#include <string>
#include <string_view>

#include "millrace/base/status.h"

namespace millrace::wire {

// Empty for OK and for an error without payloads that is a cause.
std::string encode_error_details(const Status& status);
// `status` with the payloads in `bytes`; a consequence if they say so. Malformed bytes are ignored:
// an error is not worth losing because its details are.
Status with_error_details(const Status& status, std::string_view bytes);

}  // namespace millrace::wire
