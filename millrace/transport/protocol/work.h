// How much work a message may set off, which decides on whose thread it is done.
#pragma once

#include <string_view>

#include "millrace/transport/threads/event.h"

namespace millrace::transport {

// Of handling a call of `method`.
Work work_of_call(std::string_view method);
// Of what goes on when the answer to our own call of `method` is there.
Work work_of_answer(std::string_view method);

}  // namespace millrace::transport
