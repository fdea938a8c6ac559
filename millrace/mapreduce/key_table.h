// KeyTable<T>: a T per key, of bytes; an open hash table whose slots point at keys in an arena.
//
// It never grows by itself: whoever adds asks first what growing would take (bytes_grown), because
// a table that doubles is where a bound of memory is broken. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "millrace/mapreduce/arena.h"
#include "millrace/mapreduce/wide_pages.h"

namespace millrace::mapreduce {

// The first eight bytes of a text, and zeros behind a shorter one.
inline uint64_t front_of(std::string_view text) {
  const char* const at = text.data();
  const size_t size = text.size();
  uint64_t made = 0;
  if (size >= 8) {
    std::memcpy(&made, at, 8);
  } else if (size >= 4) {
    uint32_t low = 0, high = 0;
    std::memcpy(&low, at, 4);
    std::memcpy(&high, at + size - 4, 4);
    made = low | uint64_t{high} << (8 * (size - 4));
  } else if (size != 0) {
    const auto byte = [at](size_t i) { return uint64_t{static_cast<unsigned char>(at[i])}; };
    made = byte(0) | byte(size / 2) << (8 * (size / 2)) | byte(size - 1) << (8 * (size - 1));
  }
  return made;
}

// The same of a text that may lie in `around`, of which eight bytes are read at once then: lengths
// of words can't be guessed, and every wrong guess of a branch costs as much as all the rest.
inline uint64_t front_of(std::string_view text, std::string_view around) {
  const auto at = reinterpret_cast<uintptr_t>(text.data());
  const auto begin = reinterpret_cast<uintptr_t>(around.data());
  if (at < begin || at + 8 > begin + around.size()) return front_of(text);
  uint64_t eight = 0;
  std::memcpy(&eight, text.data(), 8);
  const uint64_t shorter = eight & ((uint64_t{1} << (8 * (text.size() & 7))) - 1);
  return text.size() >= 8 ? eight : shorter;
}

// A key as a table looks for it. No defence against keys made to collide, whose author is the
// job's, but for a bound of memory that holds whatever they are.
struct HashedKey {
  explicit HashedKey(std::string_view key) : HashedKey(key, {}) {}
  HashedKey(std::string_view key, std::string_view around)
      : text(key), front(front_of(key, around)), hash(hash_of(key, front)) {}

  std::string_view text;
  uint64_t front;
  uint64_t hash;

 private:
  static uint64_t hash_of(std::string_view text, uint64_t front) {
    constexpr uint64_t kOdd = 0x9e3779b97f4a7c15U;
    const auto folded = [](uint64_t a, uint64_t b) {
      const auto product = static_cast<unsigned __int128>(a) * b;
      return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
    };
    uint64_t hash = folded(((text.size() + 1) * kOdd) ^ front, kOdd);
    if (text.size() <= 8) return hash;
    for (size_t at = 8; at + 8 < text.size(); at += 8)
      hash = folded(hash ^ front_of(text.substr(at, 8)), kOdd);
    return folded(hash ^ front_of(text.substr(text.size() - 8)), kOdd);
  }
};

template <class T>
class KeyTable {
 public:
  // A key of eight bytes or fewer is compared without a look at where it lies: most words are.
  struct Slot {
    uint64_t front = 0;         // of the key
    const char* key = nullptr;  // null: free
    uint32_t size = 0;
    uint32_t tag = 0;  // the hash's upper half
    T value{};

    std::string_view text() const { return {key, size}; }
  };

  // Keys lie in blocks of `block` bytes.
  explicit KeyTable(size_t block) : keys_(block), slots_(kFewest) {}

  // The key's value, or null.
  T* find(const HashedKey& key) {
    Slot& slot = slot_of(key);
    return slot.key == nullptr ? nullptr : &slot.value;
  }
  // Adds a key that is not there, of less than 4 GiB, with a value made of nothing.
  T* add(const HashedKey& key) {
    if (is_full()) grow();
    Slot& slot = slot_of(key);
    // A byte for an empty key, too: without an address a slot is free.
    const std::string_view text = key.text;
    char* const copy = keys_.room(std::max<size_t>(text.size(), 1));
    if (!text.empty()) std::memcpy(copy, text.data(), text.size());
    slot.key = copy;
    slot.front = key.front;
    slot.size = static_cast<uint32_t>(text.size());
    slot.tag = tag_of(key.hash);
    ++count_;
    return &slot.value;
  }

  // Has the slot of a key that will be looked for soon come near.
  void expect(const HashedKey& key) const {
    __builtin_prefetch(&slots_[key.hash & (slots_.size() - 1)]);
  }

  size_t size() const { return count_; }
  // What slots and keys take, used or not; not what values point to.
  size_t bytes() const { return slots_.size() * sizeof(Slot) + keys_.bytes(); }
  // The same while one more key is added: the old slots stand beside the new ones until all are
  // moved.
  size_t bytes_grown() const {
    return bytes() + (is_full() ? 2 * slots_.size() * sizeof(Slot) : 0);
  }

  // Calls f(slot) for each key, in no order.
  template <class F>
  void for_each(const F& f) {
    for (Slot& slot : slots_)
      if (slot.key != nullptr) f(slot);
  }
  // Forgets all; the slots stay.
  void clear() {
    slots_.assign(slots_.size(), Slot());
    keys_.clear();
    count_ = 0;
  }

 private:
  using Slots = std::vector<Slot, WidePages<Slot>>;
  static constexpr size_t kFewest = 16;  // a power of two, as all sizes are

  static uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }
  bool is_full() const { return 8 * (count_ + 1) > 5 * slots_.size(); }
  Slot& slot_of(const HashedKey& key) {
    const size_t mask = slots_.size() - 1;
    const uint32_t tag = tag_of(key.hash);
    const size_t size = key.text.size();
    for (size_t at = key.hash & mask;; at = (at + 1) & mask) {
      Slot& slot = slots_[at];
      if (slot.key == nullptr) return slot;
      if (slot.front != key.front || slot.tag != tag || slot.size != size) continue;
      if (size <= 8 || are_same_behind(slot.key, key.text)) return slot;
    }
  }
  // Whether two of one length agree behind their first eight bytes.
  static bool are_same_behind(const char* one, std::string_view other) {
    const size_t size = other.size();
    const auto last = [size](const char* text) {
      uint64_t eight = 0;
      std::memcpy(&eight, text + size - 8, 8);
      return eight;
    };
    if (last(one) != last(other.data())) return false;
    return size <= 16 || std::memcmp(one + 8, other.data() + 8, size - 16) == 0;
  }
  void grow() {
    Slots old(2 * slots_.size());
    old.swap(slots_);
    const size_t mask = slots_.size() - 1;
    for (Slot& moved : old) {
      if (moved.key == nullptr) continue;
      size_t at = HashedKey(moved.text()).hash & mask;
      while (slots_[at].key != nullptr) at = (at + 1) & mask;
      slots_[at] = std::move(moved);
    }
  }

  Arena keys_;
  Slots slots_;
  size_t count_ = 0;
};

}  // namespace millrace::mapreduce
