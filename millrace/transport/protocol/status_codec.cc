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
