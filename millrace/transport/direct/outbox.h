// Outbox: messages that wait to be written to one connection, as frames.
//
// A message of several frames takes turns with the others. Buffers are shared, not copied. Knows no
// sockets; not thread-safe, but what next() has given may be written while put() adds more.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "millrace/format/pieces.h"
#include "millrace/transport/direct/frame.h"
#include "millrace/transport/protocol/status_codec.h"

namespace millrace::transport {

struct DirectOutgoing {
  FrameKind kind = FrameKind::request;
  uint32_t call = 0;
  bool more = false;  // of an answer: another message follows
  std::string head;   // what the first body begins with
  wire::Pieces message;
};

DirectOutgoing request_frame(uint32_t call, std::string_view method, uint64_t deadline_micros,
                             wire::Pieces message);
DirectOutgoing answer_frame(uint32_t call, wire::Pieces message, bool more);
DirectOutgoing error_frame(uint32_t call, const Status& status);
// A frame that says all by its kind.
DirectOutgoing bare_frame(FrameKind kind, uint32_t call = 0);

class Outbox {
 public:
  Outbox();
  ~Outbox();

  void put(DirectOutgoing message);
  // What is to be written next; empty if nothing is. Stays the same until sent().
  std::span<iovec> next();
  // So many bytes of it have been written.
  void sent(size_t bytes);
  bool empty() const { return queue_.empty() && unwritten_.empty(); }
  // Forgets everything. Not while something is being written.
  void clear();

 private:
  struct Entry;
  using Entries = std::vector<std::unique_ptr<Entry>>;

  void compose();
  size_t add_frame(Entry& entry);

  std::deque<std::unique_ptr<Entry>> queue_;
  // What is being written: frames of these, each with one.
  Entries in_flight_;
  std::vector<iovec> parts_;
  std::span<iovec> unwritten_;  // of the parts
};

}  // namespace millrace::transport
