// Endpoint: one output of one node, by number.
#pragma once

#include <compare>
#include <cstdint>

namespace millrace {

// Nodes of a graph are numbered densely in order of creation.
using NodeId = uint32_t;
inline constexpr NodeId kNoNode = ~NodeId{0};

struct Endpoint {
  NodeId node = kNoNode;
  int32_t output = 0;
  friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
  template <class H>
  friend H AbslHashValue(H h, const Endpoint& e) {
    return H::combine(std::move(h), e.node, e.output);
  }
};

}  // namespace millrace
