// Objects as YAML that people read and managers accept. Pure.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace millrace {

// Keys in their order, two blanks per level. A text stands bare only if no reader of YAML can take
// it for a number, a truth value, a date or nothing; with several lines it is a block; otherwise it
// stands in double quotes. Ends with a newline.
std::string to_yaml(const nlohmann::ordered_json& value);

}  // namespace millrace
