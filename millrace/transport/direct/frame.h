// Frames: how messages lie on a connection between two of our own processes.
//
// Both sides begin with the greeting. Then frames follow each other, in both directions:
//
//   | size of the body: 4 | call: 4 | kind: 1 | flags: 1 | nothing: 2 |  body  |
//
// Numbers are little-endian. A message is the bodies of one or more frames of one call, the first
// with `begins`, the last with `ends`; those of other calls may stand between them, so that a large
// message holds up none. The body of a first frame begins with a head:
//
//   request  | size of the message: 8 | microseconds to the deadline, 0 if there is none: 8 |
//            | length of the method: 1 | method |
//   answer   | size of the message: 8 |
//   error    | code: 4 | length of the text: 4 | text | details |          one frame, no message
//
// `cancel` ends a call from the caller's side and is answered no more. `ask` wants a `here` back:
// whoever reads answers it at once. Calls are numbered by the caller, from 1; a number is used
// again at the earliest after 2^32 others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "millrace/transport/protocol/status_codec.h"

namespace millrace::transport {

// A change that the other side could not read changes the number.
inline constexpr std::string_view kGreeting = "MILLRACE/1\r\n";

enum class FrameKind : uint8_t {
  request = 1,
  answer = 2,
  error = 3,
  cancel = 4,
  ask = 5,
  here = 6
};

namespace frame_flag {
inline constexpr uint8_t kBegins = 1;
inline constexpr uint8_t kEnds = 2;
inline constexpr uint8_t kMore = 4;  // of an answer: another message of the call follows
inline constexpr uint8_t kAll = kBegins | kEnds | kMore;
}  // namespace frame_flag

struct FrameHead {
  uint32_t size = 0;
  uint32_t call = 0;
  FrameKind kind = FrameKind::request;
  uint8_t flags = 0;
};

inline constexpr size_t kFrameHeadBytes = 12;
// The most that a body holds.
inline constexpr size_t kMaxBodyBytes = (size_t{1} << 20) + 1024;
// How much of a message goes into one frame.
inline constexpr size_t kFrameBytes = size_t{1} << 20;

using FrameHeadBytes = std::array<char, kFrameHeadBytes>;
FrameHeadBytes to_bytes(const FrameHead& head);
// False for what is none: an unknown kind, flags that nobody writes, a body that is too large.
bool read_frame_head(std::string_view bytes, FrameHead& head);

// What the body of a first frame begins with.
struct RequestHead {
  uint64_t message_bytes = 0;
  uint64_t deadline_micros = 0;
  std::string_view method;
};
std::string to_bytes(const RequestHead& head);
std::string answer_head(uint64_t message_bytes);
std::string to_body(const WireStatus& status);

// No head of a message has more bytes.
inline constexpr size_t kMaxMessageHead = 8 + 8 + 1 + 255;
// False for what is none. `used` is how many bytes the head has; the method lies in the body.
bool read_request_head(std::string_view body, RequestHead& head, size_t& used);
bool read_answer_head(std::string_view body, uint64_t& message_bytes, size_t& used);
// False for what is none.
bool read_status(std::string_view body, WireStatus& status);

}  // namespace millrace::transport
