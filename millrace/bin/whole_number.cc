#include "millrace/bin/whole_number.h"

#include <charconv>

#include "millrace/base/str_cat.h"

namespace millrace {

CLI::Validator whole_number(int lowest, int highest) {
  auto check = [lowest, highest](const std::string& text) -> std::string {
    int number = 0;
    const char* end = text.data() + text.size();
    auto [stop, fault] = std::from_chars(text.data(), end, number);
    if (fault == std::errc() && stop == end && number >= lowest && number <= highest) return "";
    return str_cat("'", text.substr(0, 40), "' is not allowed; write a whole number from ", lowest,
                   " to ", highest);
  };
  return {check, ""};
}

}  // namespace millrace
