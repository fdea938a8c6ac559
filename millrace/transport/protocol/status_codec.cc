#include "millrace/transport/protocol/status_codec.h"

#include <algorithm>

#include "millrace/wire/error_details.h"

namespace millrace::transport {
namespace {

constexpr std::string_view kTruncated = " ... [truncated]";
// How TensorFlow marked consequences before it had payloads.
constexpr std::string_view kDerivedPrefix = "[_Derived_]";
// Payload of an ABORTED that was UNAVAILABLE. Others ignore it.
constexpr std::string_view kWasUnavailableUrl = "type.googleapis.com/millrace.WasUnavailable";

bool is_code(int number) { return number > 0 && number <= static_cast<int>(Code::unauthenticated); }

// What stays of a long word, at either end.
constexpr size_t kWordEnd = 100;

// How many bytes the character takes that `text`, not empty, begins with; 0 if it is none.
size_t character_size(std::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < 0x80) return 1;
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i)
    if ((static_cast<uint8_t>(text[i]) & 0xc0) != 0x80) return 0;
  // Nothing longer than it need be, no half of a pair, nothing beyond the last character.
  const auto second = static_cast<uint8_t>(text[1]);
  const bool is_allowed = !(first == 0xe0 && second < 0xa0) && !(first == 0xed && second > 0x9f) &&
                          !(first == 0xf0 && second < 0x90) && !(first == 0xf4 && second > 0x8f);
  return is_allowed ? size : 0;
}

}  // namespace

std::string without_long_words(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const size_t size = std::min(text.find_first_of(" \n\t"), text.size());
    const std::string_view word = text.substr(0, size);
    if (size <= kMaxWord) {
      shown += word;
    } else {
      str_append(&shown, word.substr(0, kWordEnd), "...[", size - 2 * kWordEnd, " bytes more]...",
                 word.substr(size - kWordEnd));
    }
    const size_t space = std::min(text.find_first_not_of(" \n\t", size), text.size());
    shown += text.substr(size, space - size);
    text.remove_prefix(space);
  }
  return shown;
}

std::string as_utf8(std::string_view text) {
  std::string made;
  made.reserve(text.size());
  while (!text.empty()) {
    const size_t size = character_size(text);
    made += size > 0 ? text.substr(0, size) : std::string_view("\xef\xbf\xbd");
    text.remove_prefix(std::max(size, size_t{1}));
  }
  return made;
}

WireStatus to_wire_status(const Status& status) {
  WireStatus wire;
  if (status.ok()) return wire;
  wire.code = static_cast<int>(status.code());
  wire.message = without_long_words(status.message());
  if (wire.message.size() > kMaxMessageText) {
    wire.message.resize(kMaxMessageText);
    wire.message += kTruncated;
  }
  wire.details = wire::encode_error_details(status);
  if (wire.details.size() > kMaxDetails) {
    const Status bare(status.code(), "");
    wire.details =
        wire::encode_error_details(status.is_consequence() ? bare.as_consequence() : bare);
  }
  return wire;
}

Status from_wire_status(const WireStatus& wire) {
  if (wire.code == 0) return {};
  const Code code = is_code(wire.code) ? static_cast<Code>(wire.code) : Code::unknown;
  Status status(code, wire.message);
  if (wire.message.starts_with(kDerivedPrefix)) status = status.as_consequence();
  return wire.details.empty() ? status : wire::with_error_details(status, wire.details);
}

Status hide_unavailable(const Status& status) {
  if (status.code() != Code::unavailable) return status;
  Status hidden(Code::aborted, status.message());
  for (const auto& [url, bytes] : status.payloads()) hidden = hidden.with_payload(url, bytes);
  if (status.is_consequence()) hidden = hidden.as_consequence();
  return hidden.with_payload(kWasUnavailableUrl, "");
}

Status show_unavailable(const Status& status) {
  if (status.code() != Code::aborted || !status.payloads().contains(kWasUnavailableUrl))
    return status;
  Status shown(Code::unavailable, status.message());
  for (const auto& [url, bytes] : status.payloads())
    if (url != kWasUnavailableUrl) shown = shown.with_payload(url, bytes);
  return status.is_consequence() ? shown.as_consequence() : shown;
}

}  // namespace millrace::transport
