#include "millrace/ops/parsing/json_example.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/charconv.h"
#include "absl/strings/escaping.h"
#include <nlohmann/json.hpp>

#include "millrace/base/str_cat.h"
#include "millrace/format/wire_format.h"

namespace millrace {
namespace {

using nlohmann::ordered_json;
using wire::NestedField;

// Deeper than any Example lies.
constexpr size_t kMostDeep = 8;

// Makes a tree of the text; ends with what an object has twice, or what lies too deep in it. The
// parser's own tree looks for each key among all that came before it.
class JsonTree final : public nlohmann::json_sax<ordered_json> {
 public:
  bool null() override { return place(nullptr) != nullptr; }
  bool boolean(bool value) override { return place(value) != nullptr; }
  bool number_integer(number_integer_t value) override { return place(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) override { return place(value) != nullptr; }
  bool number_float(number_float_t value, const string_t&) override {
    return place(value) != nullptr;
  }
  bool string(string_t& value) override { return place(std::move(value)) != nullptr; }
  bool binary(binary_t&) override { return end_with("bytes are no JSON"); }
  bool start_object(size_t) override { return open(ordered_json::object()); }
  bool key(string_t& name) override {
    Level& level = open_.back();
    if (!level.keys.insert(name).second)
      return end_with(str_cat("'", name.substr(0, 100), "' is given twice in one object"));
    level.key = std::move(name);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(size_t) override { return open(ordered_json::array()); }
  bool end_array() override { return close(); }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& fault) override {
    return end_with(fault.what());
  }

  // Empty if the text was read to its end.
  const std::string& problem() const { return problem_; }
  const ordered_json& root() const { return root_; }

 private:
  // An object or array whose end has not come.
  struct Level {
    ordered_json* value;
    std::string key = {};  // of the member that comes next
    std::set<std::string> keys = {};
  };
  ordered_json* place(ordered_json value) {
    if (open_.empty()) return &(root_ = std::move(value));
    Level& level = open_.back();
    if (level.value->is_array())
      return &level.value->get_ref<ordered_json::array_t&>().emplace_back(std::move(value));
    auto& members = level.value->get_ref<ordered_json::object_t&>();
    return &members.emplace_back(std::move(level.key), std::move(value)).second;
  }
  bool open(ordered_json empty) {
    if (open_.size() >= kMostDeep)
      return end_with("objects and arrays lie deeper in each other than in any Example");
    open_.push_back({place(std::move(empty))});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
  bool end_with(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }

  ordered_json root_;
  std::vector<Level> open_;
  std::string problem_;
};

Status json_error(std::string_view where, std::string_view what) {
  return invalid("Error while parsing JSON: ", where, where.empty() ? "" : ": ", what);
}

std::string shown(const ordered_json& value) {
  return value.dump(-1, ' ', true, ordered_json::error_handler_t::replace).substr(0, 100);
}

// --- one value of a list ---

// "1", "1e3" and "1.0" are integers; the text of a number that JSON had no type for.
Status put_integer(const ordered_json& value, const std::string& where, std::string* out) {
  int64_t number = 0;
  if (value.is_number_unsigned() &&
      value.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    return json_error(where, "JSON number out of range for int64");
  if (value.is_number_integer()) {
    number = value.get<int64_t>();
  } else if (value.is_number_float() || value.is_string()) {
    const std::string text = value.is_string() ? value.get<std::string>() : std::string();
    const auto whole = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_whole =
        !text.empty() && whole.ec == std::errc() && whole.ptr == text.data() + text.size();
    double real = value.is_string() ? 0 : value.get<double>();
    if (value.is_string() && !is_whole) {
      const auto read = absl::from_chars(text.data(), text.data() + text.size(), real);
      if (text.empty() || read.ptr != text.data() + text.size() || !std::isfinite(real))
        return json_error(where, str_cat("invalid number: '", text.substr(0, 100), "'"));
    }
    if (!is_whole) {
      if (real != std::trunc(real))
        return json_error(where, "expected integer, but JSON number had fractional part");
      // 2^63 is the first that does not fit, and a double.
      if (!(real >= -0x1p63 && real < 0x1p63))
        return json_error(where, "JSON number out of range for int64");
      number = static_cast<int64_t>(real);
    }
  } else if (!value.is_null()) {
    return json_error(where, str_cat("expected a number, not ", shown(value)));
  }
  wire::put_varint_field(out, 1, static_cast<uint64_t>(number));
  return {};
}

Status put_real(const ordered_json& value, const std::string& where, std::string* out) {
  double real = 0;
  if (value.is_number()) {
    real = value.get<double>();
  } else if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (text == "NaN" || text == "Infinity" || text == "-Infinity") {
      const float inf = std::numeric_limits<float>::infinity();
      wire::put_float_field(
          out, 1,
          text == "NaN" ? std::numeric_limits<float>::quiet_NaN() : (text[0] == '-' ? -inf : inf));
      return {};
    }
    const auto read = absl::from_chars(text.data(), text.data() + text.size(), real);
    if (text.empty() || read.ptr != text.data() + text.size() || std::isnan(real))
      return json_error(where, str_cat("invalid number: '", text.substr(0, 100), "'"));
  } else if (!value.is_null()) {
    return json_error(where, str_cat("expected a number, not ", shown(value)));
  }
  if (!std::isfinite(static_cast<float>(real))) return json_error(where, "float out of range");
  wire::put_float_field(out, 1, static_cast<float>(real));
  return {};
}

Status put_bytes(const ordered_json& value, const std::string& where, std::string* out) {
  std::string text, bytes;
  if (value.is_string()) {
    text = value.get<std::string>();
  } else if (!value.is_null()) {
    return json_error(where, str_cat("expected a string, not ", shown(value)));
  }
  std::ranges::replace(text, '-', '+');
  std::ranges::replace(text, '_', '/');
  if (!absl::Base64Unescape(text, &bytes)) return json_error(where, "corrupt base64");
  wire::put_bytes_field(out, 1, bytes);
  return {};
}

// --- messages ---

Status check_object(const ordered_json& value, const std::string& where) {
  if (value.is_object()) return {};
  return json_error(where, str_cat("expected an object, not ", shown(value)));
}

Status no_such_field(const std::string& where, const std::string& name) {
  return json_error(where, str_cat("no such field: '", name.substr(0, 100), "'"));
}

using PutValue = Status (*)(const ordered_json&, const std::string&, std::string*);

Status put_list(const ordered_json& list, const std::string& where, PutValue put,
                std::string* out) {
  MR_TRY(check_object(list, where));
  for (const auto& [name, values] : list.items()) {
    if (name != "value") return no_such_field(where, name);
    if (values.is_null()) continue;
    const std::string place = where + ".value";
    // One alone stands for a list of one.
    if (!values.is_array()) {
      MR_TRY(put(values, place, out));
      continue;
    }
    size_t index = 0;
    for (const ordered_json& value : values)
      MR_TRY(put(value, str_cat(place, "[", index++, "]"), out));
  }
  return {};
}

struct ListField {
  std::string_view name, camel_name;
  int number;
  PutValue put;
};
constexpr ListField kFeatureLists[] = {{"bytes_list", "bytesList", 1, put_bytes},
                                       {"float_list", "floatList", 2, put_real},
                                       {"int64_list", "int64List", 3, put_integer}};

Status put_feature(const ordered_json& feature, const std::string& where, std::string* out) {
  MR_TRY(check_object(feature, where));
  bool has_list = false;
  for (const auto& [name, list] : feature.items()) {
    const auto* const field =
        std::ranges::find_if(kFeatureLists, [&name = name](const ListField& each) {
          return each.name == name || each.camel_name == name;
        });
    if (field == std::end(kFeatureLists)) return no_such_field(where, name);
    if (list.is_null()) continue;
    if (std::exchange(has_list, true))
      return json_error(where, str_cat("'", name, "' is given, and another list as well"));
    const NestedField nested(out, field->number);
    MR_TRY(put_list(list, str_cat(where, ".", name), field->put, out));
  }
  return {};
}

Status put_features(const ordered_json& features, std::string* out) {
  MR_TRY(check_object(features, "features"));
  for (const auto& [name, entries] : features.items()) {
    if (name != "feature") return no_such_field("features", name);
    if (entries.is_null()) continue;
    MR_TRY(check_object(entries, "features.feature"));
    for (const auto& [key, feature] : entries.items()) {
      const NestedField entry(out, 1);
      wire::put_bytes_field(out, 1, key);
      if (feature.is_null()) continue;
      const NestedField value(out, 2);
      MR_TRY(put_feature(feature, str_cat("features.feature['", key.substr(0, 100), "']"), out));
    }
  }
  return {};
}

}  // namespace

Result<std::string> example_of_json(std::string_view text) {
  JsonTree tree;
  if (!ordered_json::sax_parse(text, &tree)) return json_error("", tree.problem());
  const ordered_json& example = tree.root();
  std::string bytes;
  MR_TRY(check_object(example, ""));
  for (const auto& [name, features] : example.items()) {
    if (name != "features") return no_such_field("", name);
    if (features.is_null()) continue;
    const NestedField nested(&bytes, 1);
    MR_TRY(put_features(features, &bytes));
  }
  return bytes;
}

}  // namespace millrace
