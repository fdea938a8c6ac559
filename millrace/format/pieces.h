// An encoded message as a list of pieces: small bytes of its own, and tensors' buffers that are
// shared instead of copied. A transport hands each piece to the network as a slice.
//
//   Pieces message;
//   message.append(request.SerializeAsString());          // all fields but the tensors
//   append_named_tensor(message, kFeedField, "x:0", x);   // fields may stand in any order
//
// A value; not thread-safe while it is being built.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/tensor/buffer.h"

namespace millrace::wire {

// Payloads below this are copied into the surrounding bytes: a slice costs more than they do.
inline constexpr size_t kMinSharedBytes = 1024;

struct Piece {
  std::string bytes;               // owned, unless `buffer` is set
  std::shared_ptr<Buffer> buffer;  // keeps `shared` alive
  std::string_view shared;

  std::string_view view() const { return buffer ? shared : std::string_view(bytes); }
};

class Pieces {
 public:
  // Copies bytes behind what is there.
  void append(std::string_view bytes);
  // Takes over a string; as a piece of its own if it is large.
  void append(std::string&& bytes);
  void append(const char* bytes) { append(std::string_view(bytes)); }
  // Bytes inside `buffer`, which must not change any more.
  void append_shared(std::shared_ptr<Buffer> buffer, std::string_view bytes);

  size_t size() const { return size_; }
  const std::vector<Piece>& pieces() const& { return pieces_; }
  std::vector<Piece> pieces() && { return std::move(pieces_); }
  // All bytes in one string. For tests and for transports without slices.
  std::string join() const;

 private:
  std::string& tail();

  std::vector<Piece> pieces_;
  size_t size_ = 0;
};

}  // namespace millrace::wire
