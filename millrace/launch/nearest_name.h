// The name that somebody most likely meant: for errors on names that are not known. Pure.
#pragma once

#include <span>
#include <string_view>

namespace millrace {

// The one of `names` that is fewest insertions, removals, replacements and swaps of neighbours away
// from `text`; "" if all are further than a third of the longer one's length. `text` may be of any
// length, and is cut at 64 bytes.
std::string_view nearest_name(std::string_view text, std::span<const std::string_view> names);

}  // namespace millrace
