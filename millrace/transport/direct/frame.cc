#include "millrace/transport/direct/frame.h"

#include <bit>
#include <concepts>
#include <cstring>

namespace millrace::transport {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are");

template <std::integral T>
void write(T number, char* to) {
  std::memcpy(to, &number, sizeof(number));
}

template <std::integral T>
T number_at(std::string_view bytes, size_t at) {
  T number;
  std::memcpy(&number, bytes.data() + at, sizeof(number));
  return number;
}

constexpr size_t kSizeBytes = 8;
constexpr size_t kRequestFixed = 2 * kSizeBytes + 1;
constexpr size_t kStatusFixed = 8;

}  // namespace

FrameHeadBytes to_bytes(const FrameHead& head) {
  FrameHeadBytes bytes{};
  write(head.size, bytes.data());
  write(head.call, bytes.data() + 4);
  bytes[8] = static_cast<char>(head.kind);
  bytes[9] = static_cast<char>(head.flags);
  return bytes;
}

bool read_frame_head(std::string_view bytes, FrameHead& head) {
  const auto kind = static_cast<uint8_t>(bytes[8]);
  head.size = number_at<uint32_t>(bytes, 0);
  head.call = number_at<uint32_t>(bytes, 4);
  head.flags = static_cast<uint8_t>(bytes[9]);
  if (kind < static_cast<uint8_t>(FrameKind::request) ||
      kind > static_cast<uint8_t>(FrameKind::here))
    return false;
  head.kind = static_cast<FrameKind>(kind);
  return head.size <= kMaxBodyBytes && (head.flags & ~frame_flag::kAll) == 0 && bytes[10] == 0 &&
         bytes[11] == 0;
}

std::string to_bytes(const RequestHead& head) {
  std::string bytes(kRequestFixed, '\0');
  write(head.message_bytes, bytes.data());
  write(head.deadline_micros, bytes.data() + kSizeBytes);
  // Methods are constants of ours, and short.
  bytes[2 * kSizeBytes] = static_cast<char>(head.method.size());
  bytes += head.method;
  return bytes;
}

std::string answer_head(uint64_t message_bytes) {
  std::string bytes(kSizeBytes, '\0');
  write(message_bytes, bytes.data());
  return bytes;
}

std::string to_body(const WireStatus& status) {
  std::string bytes(kStatusFixed, '\0');
  write(static_cast<int32_t>(status.code), bytes.data());
  write(static_cast<uint32_t>(status.message.size()), bytes.data() + 4);
  bytes += status.message;
  bytes += status.details;
  return bytes;
}

bool read_request_head(std::string_view body, RequestHead& head, size_t& used) {
  if (body.size() < kRequestFixed) return false;
  const auto method_size = static_cast<uint8_t>(body[2 * kSizeBytes]);
  used = kRequestFixed + method_size;
  if (body.size() < used) return false;
  head.message_bytes = number_at<uint64_t>(body, 0);
  head.deadline_micros = number_at<uint64_t>(body, kSizeBytes);
  head.method = body.substr(kRequestFixed, method_size);
  return true;
}

bool read_answer_head(std::string_view body, uint64_t& message_bytes, size_t& used) {
  used = kSizeBytes;
  if (body.size() < used) return false;
  message_bytes = number_at<uint64_t>(body, 0);
  return true;
}

bool read_status(std::string_view body, WireStatus& status) {
  if (body.size() < kStatusFixed) return false;
  status.code = number_at<int32_t>(body, 0);
  const size_t text = number_at<uint32_t>(body, 4);
  body.remove_prefix(kStatusFixed);
  if (text > body.size()) return false;
  status.message = body.substr(0, text);
  status.details = body.substr(text);
  // An error that says OK would leave its caller without an answer.
  return status.code != 0;
}

}  // namespace millrace::transport
