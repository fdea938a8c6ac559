#include "millrace/launch/yarn/first_words.h"

#include <algorithm>

namespace millrace {
namespace {

constexpr size_t kMost = 400;

std::string_view without_time(std::string_view line) {
  while (line.starts_with("[") || line.starts_with(" ")) {
    const size_t end = line.starts_with("[") ? line.find(']') : 0;
    if (end == std::string_view::npos) break;
    line.remove_prefix(end + 1);
  }
  return line;
}

}  // namespace

std::string_view first_words(std::string_view said) {
  while (!said.empty()) {
    const size_t end = std::min(said.find('\n'), said.size());
    const std::string_view line = without_time(said.substr(0, end));
    if (!line.empty()) return line.substr(0, kMost);
    said.remove_prefix(std::min(end + 1, said.size()));
  }
  return "";
}

}  // namespace millrace
