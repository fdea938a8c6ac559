// The words of a text: what stands between white space, as Python's str.split() has it for text in
// UTF-8. Valid as long as the text; nothing is copied.
//
//   for (std::string_view word : mapreduce::words_of(line)) ...
#pragma once

#include <cstddef>
#include <iterator>
#include <string_view>

namespace millrace::mapreduce {

class Words {
 public:
  class Iterator {
   public:
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::input_iterator_tag;
    using pointer = const std::string_view*;
    using reference = std::string_view;

    std::string_view operator*() const { return word_; }
    Iterator& operator++() { return step(), *this; }
    friend bool operator==(const Iterator& it, std::default_sentinel_t) { return it.word_.empty(); }

   private:
    friend class Words;
    explicit Iterator(std::string_view rest) : rest_(rest) { step(); }
    void step();  // an empty word at the end

    std::string_view word_, rest_;
  };

  explicit Words(std::string_view text) : text_(text) {}
  Iterator begin() const { return Iterator(text_); }
  static std::default_sentinel_t end() { return {}; }

 private:
  std::string_view text_;
};

inline Words words_of(std::string_view text) { return Words(text); }

}  // namespace millrace::mapreduce
