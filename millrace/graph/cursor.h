// Cursor: a place in a text that is being read, and the errors that point at it.
//
// Part of the graph's text form. White space, newlines and comments (# to the end of the line) are
// skipped before every token. Errors are INVALID_ARGUMENT "line:column: …".
#pragma once

#include <string>
#include <string_view>

#include "millrace/base/result.h"

namespace millrace {

class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  // The next character that is no space; 0 at the end.
  char peek();
  bool at_end() { return peek() == 0; }
  // Takes `token` if it is next.
  bool take(char token);
  Status expect(char token);
  // Takes letters, digits and _ . - / > + as far as they go; maybe none. Names, types and numbers.
  std::string_view word();
  // Takes `text` if it is the next word.
  bool take_word(std::string_view text);
  // Takes everything up to white space.
  std::string_view until_space();
  // Takes a string in double quotes, with C escapes.
  Result<std::string> quoted();

  // Where the next token begins.
  size_t position() { return peek(), at_; }
  void rewind(size_t position) { at_ = position; }
  template <class... Parts>
  Status fail(const Parts&... parts) {
    return error_at(position(), str_cat(parts...));
  }
  Status error_at(size_t position, std::string_view message) const;

 private:
  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace millrace
