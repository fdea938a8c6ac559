#include "millrace/transport/grpc/message.h"

#include <utility>

#include "absl/container/inlined_vector.h"
#include <grpc/byte_buffer_reader.h>

#include "millrace/transport/grpc/handover.h"

namespace millrace::transport {
namespace {

// Below this gRPC copies bytes into the slice itself or into one small block.
constexpr size_t kMinOwnSlice = 1024;

template <class Owner>
grpc_slice slice_owned_by(Owner owner, std::string_view bytes) {
  auto* kept = new Owner(std::move(owner));
  hand_over(kept);
  return grpc_slice_new_with_user_data(
      const_cast<char*>(bytes.data()), bytes.size(),
      [](void* held) {
        take_over(held);
        delete static_cast<Owner*>(held);
      },
      kept);
}

grpc_slice to_slice(wire::Piece piece) {
  if (piece.buffer != nullptr) return slice_owned_by(std::move(piece.buffer), piece.shared);
  if (piece.bytes.size() < kMinOwnSlice)
    return grpc_slice_from_copied_buffer(piece.bytes.data(), piece.bytes.size());
  // The characters of a string this long stay where they are when the string moves.
  const std::string_view bytes = piece.bytes;
  return slice_owned_by(std::move(piece.bytes), bytes);
}

}  // namespace

ByteBuffer to_byte_buffer(wire::Pieces message) {
  absl::InlinedVector<grpc_slice, 8> slices;
  for (wire::Piece& piece : std::move(message).pieces())
    slices.push_back(to_slice(std::move(piece)));
  ByteBuffer buffer(grpc_raw_byte_buffer_create(slices.data(), slices.size()));
  for (const grpc_slice& slice : slices) grpc_slice_unref(slice);
  return buffer;
}

Chunks to_chunks(const grpc_byte_buffer& message) {
  Chunks chunks;
  grpc_byte_buffer_reader reader;
  // It never writes to an uncompressed message, and core has decompressed it if need be.
  if (grpc_byte_buffer_reader_init(&reader, const_cast<grpc_byte_buffer*>(&message)) == 0)
    return chunks;
  grpc_slice* slice = nullptr;
  while (grpc_byte_buffer_reader_peek(&reader, &slice) != 0) {
    chunks.pieces.push_back(view(*slice));
    chunks.size += chunks.pieces.back().size();
  }
  grpc_byte_buffer_reader_destroy(&reader);
  return chunks;
}

std::string_view find_metadata(const grpc_metadata_array& metadata, std::string_view key) {
  for (size_t i = 0; i < metadata.count; ++i)
    if (view(metadata.metadata[i].key) == key) return view(metadata.metadata[i].value);
  return {};
}

}  // namespace millrace::transport
