// How a task's devices tell, in their attributes' description, that the task keeps its state
// (docs/design/durable.md), and which: whoever sees the same words in the next life of the task
// knows that it has what it had. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "millrace/base/str_cat.h"

namespace millrace {

inline constexpr std::string_view kKeepsState = "keeps its state: ";

// `identity` is the state's; not empty.
inline std::string kept_device_description(std::string_view identity) {
  return str_cat(kKeepsState, identity);
}

inline bool keeps_state(std::string_view description) {
  return description.starts_with(kKeepsState);
}

}  // namespace millrace
