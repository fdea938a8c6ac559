// How much work a message may set off, which decides on whose thread it is done.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace::transport {

enum class Work : uint8_t {
  brief,       // some microseconds
  bounded,     // may compute or copy for a while; what ends other work is of this kind
  open_ended,  // may run kernels, for as long as they like
};

// Of handling a call of `method`.
Work work_of_call(std::string_view method);
// Of what goes on when the answer to our own call of `method` is there.
Work work_of_answer(std::string_view method);

}  // namespace millrace::transport
