// InstanceId: one run of one collective among those of a step: what the op calls its instance, and
// in which frame and iteration it runs.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "millrace/base/str_cat.h"

namespace millrace {

struct InstanceId {
  int64_t key = 0;
  uint64_t frame = 0;
  int64_t iteration = 0;

  std::string text() const { return str_cat(key, ".", frame, ".", iteration); }
  // The reverse; nothing for what is none.
  static std::optional<InstanceId> parse(std::string_view text) {
    InstanceId made;
    const char* at = text.data();
    const char* const end = at + text.size();
    const auto read = [&](auto& number, bool is_last) {
      const auto [stop, problem] = std::from_chars(at, end, number);
      if (problem != std::errc() || (stop == end) != is_last || (stop != end && *stop != '.'))
        return false;
      at = stop + 1;
      return true;
    };
    if (!read(made.key, false) || !read(made.frame, false) || !read(made.iteration, true))
      return std::nullopt;
    return made;
  }

  friend bool operator==(const InstanceId&, const InstanceId&) = default;
  template <class H>
  friend H AbslHashValue(H state, const InstanceId& id) {
    return H::combine(std::move(state), id.key, id.frame, id.iteration);
  }
};

}  // namespace millrace
