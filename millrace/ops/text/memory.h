// Texts that grow where they are changed: a text that memory has no room for is an error of its
// step, not the end of the process.
#pragma once

#include <new>

#include "millrace/base/status.h"

namespace millrace {

// What `work` gives, a Status or a Result; RESOURCE_EXHAUSTED if there is no memory for it.
template <class Work>
auto within_memory(Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return error(Code::resource_exhausted,
                 "no memory for what becomes of the texts; use smaller ones, or fewer at a time");
  }
}

}  // namespace millrace
