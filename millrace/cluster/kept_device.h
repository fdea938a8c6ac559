// How a task's devices tell, in their attributes' description, that the task keeps its state
// (docs/design/durable.md), and which: whoever sees the same words in the next life of the task
// knows that it has what it had. A task that keeps only what asks says that, too. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "millrace/base/str_cat.h"
#include "millrace/op/durable.h"

namespace millrace {

inline constexpr std::string_view kKeepsState = "keeps its state: ",
                                  kKeepsWhatAsks = "keeps what asks for it: ";

// `identity` is the state's; not empty.
inline std::string kept_device_description(std::string_view identity, Keep keep = Keep::all) {
  return str_cat(keep == Keep::all ? kKeepsState : kKeepsWhatAsks, identity);
}

// Which of its resources; none of a device that keeps nothing.
inline std::optional<Keep> kept_on(std::string_view description) {
  if (description.starts_with(kKeepsState)) return Keep::all;
  if (description.starts_with(kKeepsWhatAsks)) return Keep::asked;
  return std::nullopt;
}

// Empty for a device that keeps nothing.
inline std::string_view kept_identity(std::string_view description) {
  const std::optional<Keep> keep = kept_on(description);
  if (!keep) return {};
  return description.substr((*keep == Keep::all ? kKeepsState : kKeepsWhatAsks).size());
}

}  // namespace millrace
