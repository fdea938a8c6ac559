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

// The first calls to a master and to a worker, which a caller makes before it hands over work that
// takes long. They are made again when the other side may have changed.
constexpr bool is_introduction(std::string_view method) {
  return method == worker_method::kGetStatus || method == master_method::kCreateSession;
}

// In the answers to these. Workers that fetch from each other have not introduced themselves: their
// masters have.
constexpr bool carries_promises(std::string_view method) {
  return is_introduction(method) || method == worker_method::kRecvTensor;
}

}  // namespace millrace::transport
