// Transfers between the devices of one task, as they are compiled when their graph is registered:
// both ends are there, so they get a number, and a step looks nothing up.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/graph/graph.h"
#include "millrace/op/kernel.h"

namespace millrace {

// Which channels of a graph have both their ends in it, and the number of the slot of each.
class SlotNumbers {
 public:
  // `pieces` are all of the graph. A channel has a slot if one node sends to it and one receives
  // from it; feeds, fetches and what goes to other tasks have none.
  explicit SlotNumbers(std::span<const Graph* const> pieces);

  // The channels' keys outside of loops, by number.
  const std::vector<std::string>& keys() const { return keys_; }
  // The kernel of a Send or a Recv that has a slot; null if it has none. It runs only in steps that
  // have TransferSlots, and in loops only in those that have a rendezvous, through which it goes
  // there.
  std::unique_ptr<Kernel> transfer(const Node& node) const;

 private:
  std::vector<std::string> keys_;
  absl::flat_hash_map<std::string, uint32_t> numbers_;
};

}  // namespace millrace
