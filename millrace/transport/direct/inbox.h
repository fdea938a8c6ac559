// Inbox: makes messages of the bytes that come over one connection.
//
//   while (true) {
//     ssize_t size = readv(socket, inbox.space().data(), 2);
//     MR_TRY(inbox.took(size, messages));
//     ...
//   }
//
// Large bodies are read to where they stay. Knows no sockets; not thread-safe.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/base/status.h"
#include "millrace/transport/direct/frame.h"
#include "millrace/transport/direct/received_bytes.h"

namespace millrace::transport {

// A message that is whole, or a frame that says something by itself.
struct DirectMessage {
  FrameKind kind = FrameKind::request;
  uint32_t call = 0;
  bool more = false;             // of an answer: another message follows
  std::string method;            // of a request
  uint64_t deadline_micros = 0;  // likewise; 0: none
  ReceivedBytes bytes;
  // RESOURCE_EXHAUSTED: there was no room for it, and the bytes are gone.
  Status refusal;
  WireStatus error;  // of an error
};

class Inbox {
 public:
  explicit Inbox(std::shared_ptr<Intake> intake);

  // Where the next bytes go, at least one: first all of the first part, which may be empty, then
  // the second.
  std::array<iovec, 2> space();
  // So many bytes are there now. Appends what they complete. Errors: INVALID_ARGUMENT: what came is
  // not this protocol, and nothing more can be read.
  Status took(size_t size, std::vector<DirectMessage>& messages);

 private:
  struct Partial {
    DirectMessage message;
    uint64_t left = 0;  // bytes that have not come
  };

  Status parse(std::vector<DirectMessage>& messages);
  Status begin_frame(const FrameHead& head, std::string_view body,
                     std::vector<DirectMessage>& messages);
  Status begin_message(const FrameHead& head, std::string_view body, size_t& used);
  Status end_frame(std::vector<DirectMessage>& messages);
  void copy_body();
  void refuse(Partial& partial, uint64_t size);
  size_t direct_room() const;

  const std::shared_ptr<Intake> intake_;
  const std::unique_ptr<char[]> buffer_;
  size_t begin_ = 0;  // of what is in the buffer and not used yet
  size_t end_ = 0;
  FrameHead frame_;
  size_t left_ = 0;             // of the frame's body
  Partial* partial_ = nullptr;  // whose body that is
  absl::flat_hash_map<uint32_t, std::unique_ptr<Partial>> partials_;
};

}  // namespace millrace::transport
