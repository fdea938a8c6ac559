#include "millrace/mapreduce/in_quotes.h"

#include "millrace/base/str_cat.h"

namespace millrace::mapreduce {

std::string in_quotes(std::string_view text) {
  constexpr size_t kShown = 300;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string made = "'";
  for (const char letter : text.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte >= 0x20 && byte < 0x7f) {
      made += letter;
    } else {
      made += "\\x";
      made += kDigits[byte >> 4];
      made += kDigits[byte & 15];
    }
  }
  made += "'";
  if (text.size() > kShown) str_append(&made, "... (", text.size(), " bytes)");
  return made;
}

}  // namespace millrace::mapreduce
