#include "millrace/launch/yaml_text.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <nlohmann/json.hpp>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// Begins with a letter or a slash, goes on with what has no meaning in YAML, and is none of the
// words that YAML 1.1 or 1.2 reads as something else.
bool may_stand_bare(std::string_view text) {
  if (text.empty() || !(is_letter(text[0]) || text[0] == '/')) return false;
  auto is_plain = [](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') ||
           std::string_view("-./").find(c) != std::string_view::npos;
  };
  if (!std::ranges::all_of(text, is_plain)) return false;
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  for (const char* word : {"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
    if (lower == word) return false;
  return true;
}

// A block keeps lines as they are if the first does not begin and none ends with blanks, only
// newlines are special, and one of them ends the text.
bool may_be_block(std::string_view text) {
  if (text.size() < 2 || text.back() != '\n' || text[0] == ' ' || text[0] == '\n' ||
      text[text.size() - 2] == '\n')
    return false;
  return text.substr(0, text.size() - 1).find('\n') != std::string_view::npos &&
         text.find(" \n") == std::string_view::npos &&
         std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); });
}

// Of "\ud83d", at its backslash.
unsigned escaped_unit(std::string_view text) {
  unsigned unit = 0;
  std::from_chars(text.data() + 2, text.data() + 6, unit, 16);
  return unit;
}

// In double quotes, as JSON escapes it; but what JSON writes as a pair of surrogates is one escape
// in YAML, which refuses halves.
std::string quoted(const Json& text) {
  const std::string json = text.dump(-1, ' ', true, Json::error_handler_t::replace);
  std::string yaml;
  for (std::string_view rest = json; !rest.empty();) {
    const size_t length = rest[0] != '\\' ? 1 : rest[1] != 'u' ? 2 : 6;
    const unsigned high = length == 6 ? escaped_unit(rest) : 0;
    if (high < 0xD800 || high > 0xDBFF) {
      yaml += rest.substr(0, length);
      rest.remove_prefix(length);
      continue;
    }
    const unsigned low = escaped_unit(rest.substr(6));
    const unsigned code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
    str_append(&yaml, "\\U", absl::Hex(code, absl::kZeroPad8));
    rest.remove_prefix(12);
  }
  return yaml;
}

std::string scalar(const Json& value) {
  if (!value.is_string()) return value.dump();
  const auto& text = value.get_ref<const std::string&>();
  if (may_stand_bare(text)) return text;
  return quoted(value);
}

void append(std::string& text, const Json& value, size_t indent);

// What follows "key:" or "-": on the same line, or on lines of its own.
void append_value(std::string& text, const Json& value, size_t indent) {
  const std::string margin(indent, ' ');
  if (value.is_structured() && !value.empty()) {
    text += '\n';
    append(text, value, indent);
  } else if (value.is_string() && may_be_block(value.get_ref<const std::string&>())) {
    text += " |\n";
    std::string_view rest = value.get_ref<const std::string&>();
    while (!rest.empty()) {
      const size_t end = rest.find('\n') + 1;
      str_append(&text, end == 1 ? "" : margin, rest.substr(0, end));
      rest.remove_prefix(end);
    }
  } else {
    str_append(&text, " ", scalar(value), "\n");
  }
}

void append(std::string& text, const Json& value, size_t indent) {
  const std::string margin(indent, ' ');
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      str_append(&text, margin, scalar(key), ":");
      append_value(text, member, indent + 2);
    }
  } else {
    for (const Json& element : value) {
      std::string inner;
      append_value(inner, element, indent + 2);
      // "- " takes the place of the margin of the element's first line.
      if (inner[0] == '\n')
        inner = inner.substr(1 + indent + 2);
      else
        inner.erase(0, 1);
      str_append(&text, margin, "- ", inner);
    }
  }
}

}  // namespace

std::string to_yaml(const Json& value) {
  if (!value.is_structured() || value.empty()) return scalar(value) + "\n";
  std::string text;
  append(text, value, 0);
  return text;
}

}  // namespace millrace
