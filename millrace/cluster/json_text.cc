#include "millrace/cluster/json_text.h"

#include <algorithm>
#include <set>
#include <vector>

#include <nlohmann/json.hpp>

#include "millrace/cluster/cluster_spec.h"

namespace millrace {
namespace {

using nlohmann::ordered_json;

constexpr size_t kShownOfValue = 60;
constexpr size_t kShownAround = 20;

std::string remedy(std::string_view text, size_t at) {
  char found = at < text.size() ? text[at] : '\0';
  std::string_view before = text.substr(0, std::min(at, text.size()));
  size_t last = before.find_last_not_of(" \t\r\n");
  char previous = last == std::string_view::npos ? '\0' : before[last];
  // A parser stops somewhere inside a word, so look for the word's beginning.
  size_t word = std::min(at, text.size());
  while (word > 0 && std::isalpha(static_cast<unsigned char>(text[word - 1]))) --word;
  std::string_view rest = text.substr(word);
  if (found == '\'' || rest.starts_with('\''))
    return "strings need double quotes; a Python dict is printed as JSON by json.dumps()";
  if (previous == ',' && (found == '}' || found == ']')) return "remove the comma before it";
  for (std::string_view python : {"True", "False", "None"})
    if (rest.starts_with(python)) return "JSON writes true, false and null";
  if (at >= text.size()) return "the text ends too early; a quote, bracket or brace is not closed";
  return "";
}

Status syntax_error(std::string_view text, size_t at) {
  at = std::min(at, text.size());
  std::string_view before = text.substr(0, at);
  auto line = 1 + std::count(before.begin(), before.end(), '\n');
  size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  size_t from = at < kShownAround ? 0 : at - kShownAround;
  std::string shown = json_quoted(text.substr(from, 2 * kShownAround));
  std::string advice = remedy(text, at);
  return invalid("not JSON: line ", line, ", column ", at - line_start + 1, ", near ", shown,
                 advice.empty() ? "" : ": ", advice);
}

// Follows the parser and remembers the first key that an object has twice.
class DuplicateKeys {
 public:
  bool operator()(int, ordered_json::parse_event_t event, ordered_json& parsed) {
    switch (event) {
      case ordered_json::parse_event_t::object_start:
        open_.emplace_back();
        break;
      case ordered_json::parse_event_t::object_end:
        open_.pop_back();
        break;
      case ordered_json::parse_event_t::key: {
        auto key = parsed.get<std::string>();
        if (!open_.back().insert(key).second && found_.empty()) found_ = key;
        break;
      }
      default:
        break;
    }
    return true;
  }
  const std::string& found() const { return found_; }

 private:
  std::vector<std::set<std::string>> open_;
  std::string found_;
};

}  // namespace

Result<ordered_json> parse_json(std::string_view text) {
  DuplicateKeys duplicates;
  try {
    ordered_json value = ordered_json::parse(text, std::ref(duplicates));
    if (!duplicates.found().empty())
      return invalid("the key ", json_quoted(duplicates.found()),
                     " is given twice in one object; keep one of them");
    return value;
  } catch (const ordered_json::parse_error& fault) {
    return syntax_error(text, fault.byte == 0 ? 0 : fault.byte - 1);
  } catch (const std::exception& fault) {  // a number out of range
    return invalid("not JSON: ", fault.what());
  }
}

std::string describe_json(const ordered_json& value) {
  switch (value.type()) {
    case ordered_json::value_t::null:
      return "null";
    case ordered_json::value_t::boolean:
      return value.get<bool>() ? "true" : "false";
    case ordered_json::value_t::object:
      return value.empty() ? "an empty object" : str_cat("an object of ", value.size());
    case ordered_json::value_t::array:
      return value.empty() ? "an empty list" : str_cat("a list of ", value.size());
    case ordered_json::value_t::string: {
      const auto& text = value.get_ref<const std::string&>();
      return str_cat("the string ", json_quoted(text.substr(0, kShownOfValue)),
                     text.size() > kShownOfValue ? "…" : "");
    }
    default:
      return str_cat("the number ", value.dump());
  }
}

std::string json_member(std::string_view path, std::string_view key) {
  if (is_job_name(key)) return str_cat(path, ".", key);
  return str_cat(path, "[", json_quoted(key.substr(0, kShownOfValue)), "]");
}

std::string json_element(std::string_view path, size_t index) {
  return str_cat(path, "[", index, "]");
}

std::string json_quoted(std::string_view text) {
  return ordered_json(std::string(text))
      .dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace millrace
