#include "millrace/base/text_arena.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace millrace {
namespace {
// A graph of few nodes shall not pay for many.
constexpr size_t kFirstBlock = 128;
constexpr size_t kLargestBlock = 16 << 10;
}  // namespace

std::string_view TextArena::add(std::string_view text) {
  if (text.empty()) return {};
  if (blocks_.empty() || blocks_.back().size - blocks_.back().used < text.size()) {
    const size_t usual =
        blocks_.empty() ? kFirstBlock : std::min(2 * blocks_.back().size, kLargestBlock);
    const size_t size = std::max(usual, text.size());
    blocks_.push_back({.bytes = std::make_unique_for_overwrite<char[]>(size), .size = size});
  }
  Block& block = blocks_.back();
  char* at = block.bytes.get() + block.used;
  std::memcpy(at, text.data(), text.size());
  block.used += text.size();
  return {at, text.size()};
}

void TextArena::take_back_from(std::string_view text) {
  if (text.empty()) return;
  const auto holds = [&](const Block& block) {
    const char* begin = block.bytes.get();
    return std::greater_equal<>()(text.data(), begin) &&
           std::less<>()(text.data(), begin + block.used);
  };
  while (!blocks_.empty() && !holds(blocks_.back())) blocks_.pop_back();
  if (!blocks_.empty())
    blocks_.back().used = static_cast<size_t>(text.data() - blocks_.back().bytes.get());
}

}  // namespace millrace
