#include "millrace/graph/control_inputs.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

namespace millrace {
namespace {
static_assert(sizeof(uintptr_t) == 8 && std::endian::native == std::endian::little,
              "the second word must be the upper half of an address");

struct Words {
  uint32_t low, high;
};
}  // namespace

NodeId* ControlInputs::block() const {
  return reinterpret_cast<NodeId*>(std::bit_cast<uintptr_t>(Words{words_[0], words_[1]}));
}

void ControlInputs::grow(size_t room) {
  auto bigger = std::make_unique_for_overwrite<NodeId[]>(kHeader + room);
  bigger[0] = static_cast<NodeId>(size());
  bigger[1] = static_cast<NodeId>(room);
  std::copy(begin(), end(), bigger.get() + kHeader);
  clear();
  const auto words = std::bit_cast<Words>(reinterpret_cast<uintptr_t>(bigger.release()));
  words_[0] = words.low;
  words_[1] = words.high;
}

void ControlInputs::push_back(NodeId id) {
  if (empty()) {
    words_[0] = id;
    words_[1] = kOne;
    return;
  }
  if (!has_block()) grow(2);
  if (block()[0] == block()[1]) grow(size() * 2);
  block()[kHeader + block()[0]++] = id;
}

void ControlInputs::assign(std::span<const NodeId> ids) {
  clear();
  if (ids.size() > 1) grow(ids.size());
  for (const NodeId id : ids) push_back(id);
}

void ControlInputs::clear() {
  if (has_block()) std::unique_ptr<NodeId[]>(block()).reset();
  words_[0] = words_[1] = 0;
}

void ControlInputs::swap(ControlInputs& other) noexcept { std::swap(words_, other.words_); }

bool operator==(const ControlInputs& a, std::span<const NodeId> b) {
  return std::ranges::equal(a, b);
}

}  // namespace millrace
