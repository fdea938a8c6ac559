// What a flag takes that counts something, checked with a message that says what is allowed.
#pragma once

#include <CLI/CLI.hpp>

namespace millrace {

// For CLI::Option::check(): a whole number from `lowest` to `highest`.
CLI::Validator whole_number(int lowest, int highest);

}  // namespace millrace
