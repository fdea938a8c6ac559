// Reads JSON that people write by hand, for the files of this room and of launch/.
//
// Stricter than a JSON parser has to be, because a mistake here starts the wrong cluster: a key
// given twice is an error. Includes only the forward declarations of nlohmann's library; sources
// that look into the value include the rest.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "millrace/base/result.h"

namespace millrace {

// The keys of an object keep their order. Errors: INVALID_ARGUMENT with line, column, the text
// around it and, for the usual slips (single quotes, a trailing comma, True), the remedy.
Result<nlohmann::ordered_json> parse_json(std::string_view text);

// What a value is, for an error message: `the string "x"`, `a list of 3`, `null`. Bounded in
// length.
std::string describe_json(const nlohmann::ordered_json& value);

// The path of a member or element: "$.cluster.worker" + 1 -> "$.cluster.worker[1]"; a key that is
// no plain word is quoted: `$.cluster["my job"]`.
std::string json_member(std::string_view path, std::string_view key);
std::string json_element(std::string_view path, size_t index);

// The text as a JSON string, with its quotes; bytes that are not UTF-8 become U+FFFD.
std::string json_quoted(std::string_view text);

}  // namespace millrace
