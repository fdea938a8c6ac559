#include "millrace/cluster/roster.h"

#include <algorithm>

#include "millrace/base/str_cat.h"

namespace millrace {

std::string to_roster(const AbsentTasks& absent) {
  std::string text;
  for (const auto& [task, address] : absent) str_append(&text, task, " ", address, "\n");
  return text;
}

AbsentTasks parse_roster(std::string_view text) {
  AbsentTasks absent;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const size_t space = line.find(' ');
    if (space == line.npos || space == 0 || space + 1 == line.size()) continue;
    absent.emplace(line.substr(0, space), line.substr(space + 1));
  }
  return absent;
}

}  // namespace millrace
