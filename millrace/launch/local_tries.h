// How a cluster's manager is asked by a command: again when nobody answered, which may pass.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "millrace/base/result.h"

namespace millrace {

// Between looks at what a manager does in its own time.
inline constexpr std::chrono::milliseconds kBetweenLooks{300};
// Blocks.
void pause(std::chrono::milliseconds time);

enum class Tries { one, several };
// What `ask` returns in the end: while it fails with what may pass (job_place.h) it is called
// again, up to four times, after pauses that double. Blocks.
Result<std::string> ask_again(Tries tries, const std::function<Result<std::string>()>& ask);

}  // namespace millrace
