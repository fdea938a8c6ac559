// Which files of a task's folder are brought back when it has ended. Looks at the folder; follows
// no link out of it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "millrace/base/result.h"

namespace millrace {

// Paths from the folder on, sorted (output_patterns.h says which). Errors: UNAVAILABLE with what
// the system says; INVALID_ARGUMENT for a name that can't be brought back.
Result<std::vector<std::string>> find_outputs(const std::string& folder,
                                              const std::vector<std::string>& patterns,
                                              const std::set<std::string, std::less<>>& shipped);

}  // namespace millrace
