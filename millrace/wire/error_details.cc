#include "millrace/wire/error_details.h"

#include "millrace/format/wire_format.h"
#include "millrace/wire/field_numbers.h"

namespace millrace::wire {
namespace {

using enum fields::grpc_payload_container::Number;
using enum fields::map_entry::Number;

void put_payload(std::string* out, std::string_view url, std::string_view bytes) {
  const NestedField entry(out, kPayloads);
  put_bytes_field(out, kEntryKey, url);
  put_bytes_field(out, kEntryValue, bytes);
}

}  // namespace

std::string encode_error_details(const Status& status) {
  std::string out;
  const auto& payloads = status.payloads();
  if (status.is_consequence() && payloads.find(kDerivedStatusUrl) == payloads.end())
    put_payload(&out, kDerivedStatusUrl, "");
  for (const auto& [url, bytes] : payloads) put_payload(&out, url, bytes);
  return out;
}

Status with_error_details(const Status& status, std::string_view bytes) {
  Status detailed = status;
  Reader reader(bytes);
  Field field;
  while (reader.next(&field)) {
    if (!field.is(kPayloads, WireType::bytes)) continue;
    std::string_view url;
    std::string_view payload;
    Reader entry = reader.inside(field);
    Field part;
    while (entry.next(&part)) {
      if (part.is(kEntryKey, WireType::bytes)) url = part.bytes;
      if (part.is(kEntryValue, WireType::bytes)) payload = part.bytes;
    }
    if (!entry.ok()) continue;
    detailed = detailed.with_payload(url, std::string(payload));
    if (url == kDerivedStatusUrl) detailed = detailed.as_consequence();
  }
  return detailed;
}

}  // namespace millrace::wire
