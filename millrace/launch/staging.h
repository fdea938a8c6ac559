// The word of a job file for staging without a store: what goes along comes from who submits it.
#pragma once

namespace millrace {

inline constexpr const char* kBySubmitter = "submitter";

}  // namespace millrace
