// NameIndex: from the names of a graph's nodes to their ids.
//
// An open-addressed table of (hash, id) that keeps no copy of the names: they stay in the nodes,
// which the caller hands in with every call. A graph of a million nodes pays 16 bytes a node for
// it, and copying it is copying an array. Part of Graph; nobody else needs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "millrace/base/slabs.h"

namespace millrace {

struct Node;
// Of one graph, by their ids.
using Nodes = Slabs<Node>;

class NameIndex {
 public:
  // The id of the node of this name, or kNoNode.
  uint32_t find(std::string_view name, const Nodes& nodes) const;
  // The ids of many names at once. Quicker than one by one in a large graph, since the accesses to
  // memory overlap.
  std::vector<uint32_t> find_all(std::span<const std::string_view> names, const Nodes& nodes) const;
  // Adds `id` under `name` and returns kNoNode; or, if the name is taken, changes nothing and
  // returns the id of the node that has it. nodes[id] need not be there yet.
  uint32_t insert(std::string_view name, uint32_t id, const Nodes& nodes);
  // Makes room for `count` names in total.
  void reserve(size_t count);
  // Forgets ids from `size` on; `nodes` has them still. Costs by how many they are.
  void truncate(uint32_t size, const Nodes& nodes);
  // Gives every node its new id; forgets those whose new id is kNoNode.
  void renumber(std::span<const uint32_t> new_ids);

 private:
  struct Slot {
    uint32_t hash = 0;
    uint32_t id = ~uint32_t{0};  // kNoNode: free
  };
  static uint32_t hash_of(std::string_view name);
  // The slot of the name, or the free one where it belongs. Requires a table.
  size_t probe(std::string_view name, uint32_t hash, const Nodes& nodes) const;
  // Frees a slot, and moves those behind it up that would not be found any more.
  void erase(size_t at);
  // Fills a table of so many slots with what the old one has, under the ids that `id_of` gives.
  template <class IdOf>
  void rebuild(size_t num_slots, IdOf id_of);

  std::vector<Slot> slots_;  // size a power of two, or empty
  size_t used_ = 0;
};

}  // namespace millrace
