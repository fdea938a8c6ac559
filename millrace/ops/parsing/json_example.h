// tf.train.Example from JSON, by protobuf's mapping: names of fields as in the message or in
// camelCase, int64 as numbers or strings, bytes in base64, "NaN" and "Infinity".
#pragma once

#include <string>
#include <string_view>

#include "millrace/base/result.h"

namespace millrace {

// The message's bytes, with fields and keys in the order in which the text has them.
// Errors: INVALID_ARGUMENT "Error while parsing JSON: …" with the place, for what is no JSON, for
// fields that there are not, and values that do not fit.
Result<std::string> example_of_json(std::string_view text);

}  // namespace millrace
