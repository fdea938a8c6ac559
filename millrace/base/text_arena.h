// TextArena: many short texts that live as long as whoever keeps them together, side by side in a
// few large blocks. A text costs its bytes, where a string costs 32 more and an allocation if it is
// long. Texts don't move. Not thread-safe while it is being changed.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace millrace {

class TextArena {
 public:
  // A copy of `text`, valid as long as the arena, or until it is taken back.
  std::string_view add(std::string_view text);
  // Takes back what `add` gave, with all that was added after it.
  void take_back_from(std::string_view text);

 private:
  struct Block {
    std::unique_ptr<char[]> bytes;
    size_t size = 0;
    size_t used = 0;
  };

  std::vector<Block> blocks_;
};

}  // namespace millrace
