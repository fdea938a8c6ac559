#include "millrace/graph/name_index.h"

#include <bit>

#include "absl/hash/hash.h"

#include "millrace/graph/graph.h"

namespace millrace {
namespace {
constexpr size_t kFewestSlots = 16;
// Linear probing stays short below two thirds.
bool is_crowded(size_t used, size_t slots) { return used * 3 > slots * 2; }
}  // namespace

uint32_t NameIndex::hash_of(std::string_view name) {
  // Seeded per process, so that a client can't send a million names that collide.
  const uint64_t hash = absl::HashOf(to_absl(name));
  return static_cast<uint32_t>(hash ^ (hash >> 32));
}

size_t NameIndex::probe(std::string_view name, uint32_t hash, const Nodes& nodes) const {
  const size_t mask = slots_.size() - 1;
  for (size_t at = hash & mask;; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.id == kNoNode) return at;
    if (slot.hash == hash && nodes[slot.id].name == name) return at;
  }
}

uint32_t NameIndex::find(std::string_view name, const Nodes& nodes) const {
  if (slots_.empty()) return kNoNode;
  return slots_[probe(name, hash_of(name), nodes)].id;
}

std::vector<uint32_t> NameIndex::find_all(std::span<const std::string_view> names,
                                          const Nodes& nodes) const {
  std::vector<uint32_t> ids(names.size(), kNoNode);
  if (slots_.empty()) return ids;
  const size_t mask = slots_.size() - 1;
  std::vector<uint32_t> hashes(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    hashes[i] = hash_of(names[i]);
    __builtin_prefetch(&slots_[hashes[i] & mask]);
  }
  // Where the first slot is the right one, which is mostly the case, its node will be read next,
  // and the node's name after that.
  const auto first_guess = [&](size_t i) { return slots_[hashes[i] & mask].id; };
  for (size_t i = 0; i < names.size(); ++i) {
    if (first_guess(i) != kNoNode) __builtin_prefetch(&nodes[first_guess(i)]);
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (first_guess(i) != kNoNode) __builtin_prefetch(nodes[first_guess(i)].name.data());
  }
  for (size_t i = 0; i < names.size(); ++i) {
    ids[i] = slots_[probe(names[i], hashes[i], nodes)].id;
  }
  return ids;
}

uint32_t NameIndex::insert(std::string_view name, uint32_t id, const Nodes& nodes) {
  if (is_crowded(used_ + 1, slots_.size())) reserve(slots_.size());  // doubles
  const uint32_t hash = hash_of(name);
  Slot& slot = slots_[probe(name, hash, nodes)];
  if (slot.id != kNoNode) return slot.id;
  slot = {hash, id};
  ++used_;
  return kNoNode;
}

template <class IdOf>
void NameIndex::rebuild(size_t num_slots, IdOf id_of) {
  std::vector<Slot> old(num_slots);
  old.swap(slots_);
  used_ = 0;
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    const uint32_t id = slot.id == kNoNode ? kNoNode : id_of(slot.id);
    if (id == kNoNode) continue;
    size_t at = slot.hash & mask;
    while (slots_[at].id != kNoNode) at = (at + 1) & mask;
    slots_[at] = {slot.hash, id};
    ++used_;
  }
}

void NameIndex::reserve(size_t count) {
  size_t wanted = std::bit_ceil(std::max(count, kFewestSlots));
  if (is_crowded(count, wanted)) wanted *= 2;
  if (wanted > slots_.size()) rebuild(wanted, [](uint32_t id) { return id; });
}

void NameIndex::erase(size_t at) {
  const size_t mask = slots_.size() - 1;
  for (size_t next = (at + 1) & mask; slots_[next].id != kNoNode; next = (next + 1) & mask) {
    const size_t wanted = slots_[next].hash & mask;
    // One that stands behind where it wants to be may move up as far as there.
    if (((next - wanted) & mask) < ((next - at) & mask)) continue;
    slots_[at] = slots_[next];
    at = next;
  }
  slots_[at] = {};
  --used_;
}

void NameIndex::truncate(uint32_t size, const Nodes& nodes) {
  if (nodes.size() - size > slots_.size() / 8) {
    rebuild(slots_.size(), [&](uint32_t id) { return id < size ? id : kNoNode; });
    return;
  }
  for (size_t id = size; id < nodes.size(); ++id) {
    const std::string_view name = nodes[id].name;
    erase(probe(name, hash_of(name), nodes));
  }
}

void NameIndex::renumber(std::span<const uint32_t> new_ids) {
  rebuild(slots_.size(), [&](uint32_t id) { return new_ids[id]; });
}

}  // namespace millrace
