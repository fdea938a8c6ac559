// What a Millrace server says about itself in the first headers of its answers.
// TensorFlow's clients skip headers that they do not know.
#pragma once

#include <string_view>

#include "millrace/transport/protocol/methods.h"

namespace millrace::transport {

// "1": however busy it is, the server answers questions at once, so one that is silent is frozen.
inline constexpr std::string_view kAnswersAtOnceKey = "millrace-answers-at-once";

// "1": on the same port the server speaks what transport/direct speaks, of that version.
inline constexpr std::string_view kDirectKey = "millrace-direct";
inline constexpr std::string_view kDirectVersion = "1";

// In the answers to these, which a caller has before it hands over work that takes long.
constexpr bool carries_promises(std::string_view method) {
  return method == worker_method::kGetStatus || method == master_method::kCreateSession;
}

}  // namespace millrace::transport
