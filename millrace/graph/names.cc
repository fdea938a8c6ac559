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

int NameClaims::free_number(std::string_view name, int number, IsTaken is_taken) const {
  for (;; ++number) {
    const std::string wanted = numbered(name, number);
    if (!next_.contains(hash_of(wanted)) && !is_taken(wanted)) return number;
  }
}

std::string NameClaims::claim(std::string_view name, IsTaken is_taken) {
  const auto [known, is_new] = next_.try_emplace(hash_of(name), 1);
  if (is_new && !is_taken(name)) return std::string(name);
  // A node may be called x_1 by its own right.
  const int number = free_number(name, known->second, is_taken);
  known->second = number + 1;
  std::string made = numbered(name, number);
  next_.emplace(hash_of(made), 1);
  return made;
}

std::string NameClaims::peek(std::string_view name, IsTaken is_taken) const {
  const auto known = next_.find(hash_of(name));
  if (known == next_.end() && !is_taken(name)) return std::string(name);
  return numbered(name, free_number(name, known == next_.end() ? 1 : known->second, is_taken));
}

}  // namespace millrace
