// Functions in the graph's text form (text.h). Part of it.
#pragma once

#include <string>

#include "millrace/graph/cursor.h"
#include "millrace/op/registry.h"
#include "millrace/wire/function_def.h"

namespace millrace {

// What follows the word "function". Errors: INVALID_ARGUMENT "line:column: …".
Result<wire::FunctionDef> parse_function(Cursor& cursor, const OpRegistry& ops);

// Without a line end.
std::string print_function(const wire::FunctionDef& function);

}  // namespace millrace
