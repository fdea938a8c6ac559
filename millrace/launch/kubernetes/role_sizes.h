// How many tasks a role has had since its job began, as its Job's annotations keep it: whoever
// looks later tells by that who was taken away from who has failed.
//
//   sizes   "2 4@1769860805 1@1769860900"     at first 2; from then on 4; ...
//   bounds  "1-8"                             how few and how many there may be
//
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/launch/job.h"

namespace millrace {

inline constexpr const char* kSizesAnnotation = "millrace/sizes";
inline constexpr const char* kBoundsAnnotation = "millrace/bounds";

struct RoleSize {
  int count = 1;
  int64_t since = 0;  // seconds since the Unix epoch; of the first, 0
};

// At least one; nothing for a text that is none.
std::optional<std::vector<RoleSize>> parse_sizes(std::string_view text);
std::string to_text(const std::vector<RoleSize>& sizes);
// With one more, and without the oldest but the first when there are many.
std::vector<RoleSize> with_size(std::vector<RoleSize> sizes, RoleSize next);

struct RoleBounds {
  int least = 1;
  int most = 1;
};
std::optional<RoleBounds> parse_bounds(std::string_view text);
std::string bounds_text(const RoleSpec& role);

}  // namespace millrace
