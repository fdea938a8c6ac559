#include "millrace/launch/kubernetes/object_words.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostWhy = 400;

}  // namespace

const Json& object_part(const Json& json, ObjectPath path) {
  static const Json kNothing;
  const Json* at = &json;
  for (const char* key : path) {
    const auto it = at->find(key);
    if (!at->is_object() || it == at->end()) return kNothing;
    at = &*it;
  }
  return *at;
}

std::string object_text(const Json& json, ObjectPath path) {
  const Json& found = object_part(json, path);
  return found.is_string() ? found.get<std::string>() : "";
}

int64_t object_number(const Json& json, ObjectPath path) {
  const Json& found = object_part(json, path);
  return found.is_number_integer() ? found.get<int64_t>() : 0;
}

int64_t number_of(const std::string& text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

const Json* condition_of(const Json& object, const char* type) {
  for (const Json& condition : object_part(object, {"status", "conditions"}))
    if (object_text(condition, {"type"}) == type && object_text(condition, {"status"}) == "True")
      return &condition;
  return nullptr;
}

std::string shortened(std::string words) {
  std::ranges::replace(words, '\n', ' ');
  if (words.size() > kMostWhy) words = words.substr(0, kMostWhy) + "...";
  return words;
}

std::string annotation_of(const Json& object, const char* name) {
  return object_text(object, {"metadata", "annotations", name});
}

int64_t seconds_of(const std::string& time) {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  if (std::sscanf(time.c_str(), "%4d-%2u-%2uT%2d:%2d:%2d", &year, &month, &day, &hour, &minute,
                  &second) != 6)
    return 0;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (!date.ok()) return 0;
  const std::chrono::sys_days days(date);
  return int64_t{days.time_since_epoch().count()} * 86'400 + int64_t{hour} * 3600 +
         int64_t{minute} * 60 + second;
}

}  // namespace millrace
