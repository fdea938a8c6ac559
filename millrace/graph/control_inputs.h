// ControlInputs: the nodes that must have run before another one, in eight bytes.
//
// Most nodes of a graph have none, many of a conditional or a loop have one, and few have more. So
// none and one fit in place, and only several take a block of their own. A list of ids, in the
// order in which they were added; it doesn't care about repeats. A value; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "millrace/op/endpoint.h"

namespace millrace {

class ControlInputs {
 public:
  ControlInputs() = default;
  ControlInputs(const ControlInputs& other) { assign(other); }
  ControlInputs(ControlInputs&& other) noexcept { swap(other); }
  // NOLINTNEXTLINE(bugprone-unhandled-self-assignment): it is handled
  ControlInputs& operator=(const ControlInputs& other) {
    if (this != &other) assign(other);
    return *this;
  }
  ControlInputs& operator=(ControlInputs&& other) noexcept {
    swap(other);
    return *this;
  }
  ~ControlInputs() { clear(); }

  size_t size() const { return has_block() ? block()[0] : words_[1] == kOne; }
  bool empty() const { return (words_[0] | words_[1]) == 0; }
  NodeId* begin() { return has_block() ? block() + kHeader : words_; }
  NodeId* end() { return begin() + size(); }
  const NodeId* begin() const { return const_cast<ControlInputs*>(this)->begin(); }
  const NodeId* end() const { return begin() + size(); }
  NodeId operator[](size_t at) const { return begin()[at]; }
  NodeId front() const { return *begin(); }

  void push_back(NodeId id);
  void assign(std::span<const NodeId> ids);
  void clear();

  friend bool operator==(const ControlInputs& a, std::span<const NodeId> b);

 private:
  // What the second word is where the first is the only id: no address has such an upper half.
  static constexpr uint32_t kOne = ~uint32_t{0};
  // A block begins with how many ids it has, and how many it has room for.
  static constexpr size_t kHeader = 2;

  bool has_block() const { return words_[1] != kOne && !empty(); }
  NodeId* block() const;
  // Moves what is there to a block with so much room.
  void grow(size_t room);
  void swap(ControlInputs& other) noexcept;

  // Both 0: empty. (id, kOne): one. Else the address of a block.
  alignas(8) uint32_t words_[2] = {0, 0};
};

}  // namespace millrace
