// str_cat, str_append: absl's, for std::string_view too.
//
// Distributions build absl with a string_view of its own, which std::string_view does not convert
// to; every message of ours is put together here instead of with absl::StrCat.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace millrace {

// For absl functions that take an absl::string_view.
inline absl::string_view to_absl(std::string_view text) { return {text.data(), text.size()}; }

namespace internal_str_cat {
template <class Part>
decltype(auto) part(const Part& value) {
  if constexpr (std::is_same_v<Part, std::string_view>) {
    return to_absl(value);
  } else {
    return (value);
  }
}
}  // namespace internal_str_cat

template <class... Parts>
std::string str_cat(const Parts&... parts) {
  return absl::StrCat(internal_str_cat::part(parts)...);
}
template <class... Parts>
void str_append(std::string* text, const Parts&... parts) {
  absl::StrAppend(text, internal_str_cat::part(parts)...);
}

}  // namespace millrace
