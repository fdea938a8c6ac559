#include "millrace/launch/kubernetes/role_sizes.h"

#include <algorithm>
#include <charconv>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

constexpr size_t kMostSizes = 100;  // annotations have an end
constexpr char kAt = '@';

// All of the text, or nothing.
template <class Number>
std::optional<Number> whole_number_of(std::string_view text) {
  Number value = 0;
  const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || stop != text.data() + text.size() || text.empty()) return {};
  return value;
}

std::optional<int> count_of(std::string_view text) {
  const std::optional<int> count = whole_number_of<int>(text);
  return count && *count >= 1 && *count <= kMostTasks ? count : std::nullopt;
}

}  // namespace

std::optional<std::vector<RoleSize>> parse_sizes(std::string_view text) {
  std::vector<RoleSize> sizes;
  while (!text.empty() && sizes.size() <= kMostSizes) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const size_t at = word.find(kAt);
    const std::optional<int> count = count_of(word.substr(0, at));
    const auto since =
        at == word.npos ? std::optional<int64_t>(0) : whole_number_of<int64_t>(word.substr(at + 1));
    if (!count || !since) return {};
    sizes.push_back({*count, *since});
  }
  if (sizes.empty()) return {};
  return sizes;
}

std::string to_text(const std::vector<RoleSize>& sizes) {
  std::string text;
  for (const RoleSize& size : sizes) {
    str_append(&text, text.empty() ? "" : " ", size.count);
    if (size.since != 0) str_append(&text, "@", size.since);
  }
  return text;
}

std::vector<RoleSize> with_size(std::vector<RoleSize> sizes, RoleSize next) {
  if (sizes.size() >= kMostSizes) sizes.erase(sizes.begin() + 1);
  sizes.push_back(next);
  return sizes;
}

std::optional<RoleBounds> parse_bounds(std::string_view text) {
  const size_t dash = text.find('-');
  if (dash == text.npos) return {};
  const std::optional<int> least = count_of(text.substr(0, dash));
  const std::optional<int> most = count_of(text.substr(dash + 1));
  if (!least || !most || *most < *least) return {};
  return RoleBounds{*least, *most};
}

std::string bounds_text(const RoleSpec& role) {
  return str_cat(least_of(role), "-", most_of(role));
}

}  // namespace millrace
