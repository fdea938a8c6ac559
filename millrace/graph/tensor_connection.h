// TensorConnection: a step in which one tensor stands for another.
#pragma once

#include <string>
#include <utility>

namespace millrace {

// Whoever reads `to` reads `from`, as if its value were fed; TensorFlow's callables have them
// (CallableOptions.tensor_connection).
struct TensorConnection {
  std::string from;  // "x:0" or "x"
  std::string to;    // likewise
  friend bool operator==(const TensorConnection&, const TensorConnection&) = default;
  friend auto operator<=>(const TensorConnection&, const TensorConnection&) = default;
  template <class H>
  friend H AbslHashValue(H state, const TensorConnection& connection) {
    return H::combine(std::move(state), connection.from, connection.to);
  }
};

}  // namespace millrace
