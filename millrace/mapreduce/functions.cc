#include "millrace/mapreduce/functions.h"

#include <zlib.h>

#include <charconv>

#include "millrace/mapreduce/in_quotes.h"

namespace millrace::mapreduce {

Combiner sum() {
  return {Combiner::Kind::sum,
          [](std::string_view key, std::string* total, std::string_view value) -> Status {
            MR_ASSIGN(int64_t number, number_of(*total));
            MR_ASSIGN(const int64_t more, number_of(value));
            MR_TRY(add_to(key, &number, more));
            *total = std::to_string(number);
            return {};
          }};
}

int part_of(std::string_view key, int parts) {
  if (parts == 1) return 0;
  static constexpr unsigned char kText = 6;  // what stands before a str among Python's keys
  uLong crc = crc32_z(0, &kText, 1);
  crc = crc32_z(crc, reinterpret_cast<const unsigned char*>(key.data()), key.size());
  return static_cast<int>(crc % static_cast<uLong>(parts));
}

Result<int64_t> number_of(std::string_view text) {
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, problem] = std::from_chars(text.data(), end, number);
  if (problem != std::errc() || at != end)
    return invalid(in_quotes(text), " is no number of 64 bits, which sum() takes");
  return number;
}

Status sum_is_too_large(std::string_view key, int64_t total, int64_t more) {
  return out_of_range("the sum of the key ", in_quotes(key), " is beyond 64 bits: ", total, " and ",
                      more);
}

}  // namespace millrace::mapreduce
