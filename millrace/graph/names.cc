#include "millrace/graph/names.h"

#include <algorithm>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_name_char(char c) {
  return is_alphanumeric(c) || c == '_' || c == '.' || c == '-' || c == '/' || c == '>';
}

// FNV-1a of the text in lower case. Not absl::Hash: processes that build the same graph must give
// its nodes the same names.
uint64_t hash_of(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) {
    const char low = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    hash = (hash ^ static_cast<unsigned char>(low)) * 0x100000001b3;
  }
  return hash;
}

// The 17 of "x_17"; 0 for a name that no number makes ("x", "x_0", "x_017", or too large).
int32_t number_of(std::string_view name) {
  constexpr size_t kMostDigits = 9;
  size_t first = name.size();
  while (first > 0 && name[first - 1] >= '0' && name[first - 1] <= '9') --first;
  const std::string_view digits = name.substr(first);
  if (digits.empty() || digits.size() > kMostDigits || digits[0] == '0') return 0;
  if (first == 0 || name[first - 1] != '_') return 0;
  int32_t number = 0;
  for (const char c : digits) number = number * 10 + (c - '0');
  return number;
}

std::string numbered(std::string_view name, int number) { return str_cat(name, "_", number); }

}  // namespace

bool is_name_part(std::string_view text) { return std::ranges::all_of(text, is_name_char); }

bool is_program_name(std::string_view name) {
  return !name.empty() && (is_alphanumeric(name[0]) || name[0] == '.') && is_name_part(name);
}

Status check_node_name(std::string_view name) {
  if (name.empty()) return invalid("a node has no name");
  if (is_program_name(name) || (name[0] == '_' && is_name_part(name))) return {};
  return invalid("'", name.substr(0, 200),
                 "' is no name for a node: allowed are letters, digits and _ . - / >, "
                 "the first a letter, digit, . or _");
}

bool NameClaims::is_claimed(std::string_view name, uint64_t hash) const {
  if (claimed_.contains(hash) || next_.contains(hash)) return true;
  const int32_t number = number_of(name);
  if (number == 0) return false;
  const auto counted = next_.find(hash_of(name.substr(0, name.rfind('_'))));
  return counted != next_.end() && number < counted->second;
}

int NameClaims::free_number(std::string_view name, int number, IsTaken is_taken) const {
  for (;; ++number) {
    const std::string wanted = numbered(name, number);
    const uint64_t hash = hash_of(wanted);
    if (!claimed_.contains(hash) && !next_.contains(hash) && !is_taken(wanted)) return number;
  }
}

std::string NameClaims::claim(std::string_view name, IsTaken is_taken) {
  const uint64_t hash = hash_of(name);
  if (!is_claimed(name, hash) && !is_taken(name)) {
    claimed_.insert(hash);
    return std::string(name);
  }
  // A node may be called x_1 by its own right.
  int32_t& next = next_.try_emplace(hash, 1).first->second;
  const int number = free_number(name, next, is_taken);
  next = number + 1;
  return numbered(name, number);
}

std::string NameClaims::peek(std::string_view name, IsTaken is_taken) const {
  const uint64_t hash = hash_of(name);
  if (!is_claimed(name, hash) && !is_taken(name)) return std::string(name);
  const auto counted = next_.find(hash);
  return numbered(name, free_number(name, counted == next_.end() ? 1 : counted->second, is_taken));
}

}  // namespace millrace
