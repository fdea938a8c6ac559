// What reads and writes of YARN's messages have in common (messages.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/format/wire_format.h"

namespace millrace {

// Numbers below zero stand as if they had 64 bits.
inline uint64_t unsigned_of(int64_t number) { return static_cast<uint64_t>(number); }

// Calls use(field) for each field of the message. Errors: DATA_LOSS, or what `use` says.
template <class Use>
Status for_each_field(std::string_view bytes, Use use) {
  wire::Reader reader(bytes);
  wire::Field field;
  while (reader.next(&field)) MR_TRY(use(field));
  if (reader.ok()) return {};
  return error(Code::data_loss, "a message of YARN makes no sense: ", reader.status().message());
}

}  // namespace millrace
