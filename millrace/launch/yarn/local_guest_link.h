// One end of a connection between a door and a guest (guest_talk.h), while lines are said: blocks,
// each wait within its time. Single-threaded.
#pragma once

#include <string>
#include <string_view>

#include "millrace/base/clock.h"
#include "millrace/base/result.h"
#include "millrace/launch/descriptor.h"

namespace millrace {

class GuestLink {
 public:
  // The other side is asked whether its machine is there while it says nothing.
  explicit GuestLink(Descriptor socket);

  // The next line, without its end. Errors: UNAVAILABLE when the other side is gone,
  // DEADLINE_EXCEEDED, INVALID_ARGUMENT for one that is longer than `most`.
  Result<std::string> line(size_t most, Clock::Time deadline, const Clock& clock);
  // Errors: UNAVAILABLE.
  Status say(std::string_view bytes);

  // From here on it is for a poll loop: does not block. What has come behind the last line goes
  // first.
  Descriptor release(std::string* unread) &&;

 private:
  Descriptor socket_;
  std::string unread_;
};

// What a poll loop has to write to a descriptor that does not block, as far as it takes it.
class OutgoingBytes {
 public:
  void add(std::string_view bytes) { bytes_ += bytes; }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  // False when nobody reads there any more.
  bool write_to(int descriptor);

 private:
  std::string bytes_;
};

}  // namespace millrace
