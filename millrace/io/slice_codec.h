// TensorSliceProto: a slice on the wire, in both formats of checkpoints.
#pragma once

#include <cstdint>
#include <string>

#include "millrace/format/wire_format.h"
#include "millrace/io/slice.h"

namespace millrace::io {

// As field `number` of the message being written.
void put_slice(std::string* out, int number, const Slice& slice);
// Errors: INVALID_ARGUMENT for malformed bytes, DATA_LOSS for an extent that can't be.
Result<Slice> read_slice(wire::Reader reader);

}  // namespace millrace::io
