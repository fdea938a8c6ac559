#include "millrace/launch/shipping/output_patterns.h"

#include <fnmatch.h>

#include <algorithm>

namespace millrace {
namespace {

// The path, or a folder that it is in.
bool fits(const std::string& path, const std::string& pattern) {
  for (size_t end = path.find('/');; end = path.find('/', end + 1)) {
    if (fnmatch(pattern.c_str(), path.substr(0, end).c_str(), FNM_PATHNAME | FNM_PERIOD) == 0)
      return true;
    if (end == std::string::npos) return false;
  }
}

}  // namespace

bool is_output(std::string_view path, const std::vector<std::string>& patterns,
               const std::set<std::string, std::less<>>& shipped) {
  const std::string text(path);
  const std::string_view first = path.substr(0, path.find('/'));
  const bool was_there = shipped.contains(first);
  return std::ranges::any_of(patterns, [&](const std::string& given) {
    std::string pattern = given;
    while (pattern.size() > 1 && pattern.ends_with('/')) pattern.pop_back();
    if (pattern.starts_with("./")) pattern.erase(0, 2);
    const bool names_it = std::string_view(pattern).substr(0, pattern.find('/')) == first;
    return (!was_there || names_it) && fits(text, pattern);
  });
}

}  // namespace millrace
