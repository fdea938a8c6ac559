// FunctionDef on the wire. Private to this room.
#pragma once

#include "millrace/wire/attr_codec.h"
#include "millrace/wire/function_def.h"

namespace millrace::wire {

// Errors: INVALID_ARGUMENT for malformed bytes and for a function without a name.
Status read_function(Reader reader, AttrContext& context, FunctionDef* function);
// As field `number` of the message being written.
void put_function(std::string* out, int number, const FunctionDef& function);

}  // namespace millrace::wire
