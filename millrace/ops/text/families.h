// The families of ops in this room: strings.
//
// A family is a source file with its ops as values; register_text adds all of them.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

// All of them.
Status register_text(OpRegistry& ops);

// Strings: joining, splitting, measuring, to numbers and back.
Status register_strings(OpRegistry& ops);

}  // namespace millrace
