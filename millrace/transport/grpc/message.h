// Messages between our pieces and gRPC's slices. Private to this room.
//
// Going out, a large piece becomes a slice on the memory that it already has: a tensor's buffer is
// kept alive by the slice and is never copied. Coming in, a message is a list of slices, cut
// anywhere.
#pragma once

#include <string_view>

#include "millrace/format/pieces.h"
#include "millrace/transport/grpc/core.h"
#include "millrace/transport/protocol/chunks.h"

namespace millrace::transport {

ByteBuffer to_byte_buffer(wire::Pieces message);

// The bytes of a message, valid as long as the message.
Chunks to_chunks(const grpc_byte_buffer& message);

inline std::string_view view(const grpc_slice& slice) {
  return {reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(slice)), GRPC_SLICE_LENGTH(slice)};
}

// The value of `key`; empty if there is none.
std::string_view find_metadata(const grpc_metadata_array& metadata, std::string_view key);

}  // namespace millrace::transport
