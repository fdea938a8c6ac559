// Scanner: walks over a line of text and takes words, marks and literals off it; what the signature
// language and the examples of ops are read with. Errors give the column. Private to this room.
#pragma once

#include <string>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/tensor/attr_value.h"

namespace millrace {

class Scanner {
 public:
  // `what` stands in front of every error: "signature of op Add".
  Scanner(std::string what, std::string_view text) : what_(std::move(what)), text_(text) {}

  size_t at() const { return at_; }
  bool at_end();
  // The next character that is not space; 0 at the end.
  char next();
  // Takes `mark` if it is next.
  bool take(std::string_view mark);
  Status expect(std::string_view mark, std::string_view expected);
  // The letters, digits and _ that are next; maybe none.
  std::string_view peek_name();
  Result<std::string_view> name(std::string_view expected);
  // INVALID_ARGUMENT: what was expected in column `at`, and what is there.
  Status fail(size_t at, std::string_view expected) const;

  Result<DType> type();
  // A text in single quotes; there is no escape.
  Result<std::string> quoted();
  Result<int64_t> integer(std::string_view expected);
  Result<double> number(std::string_view expected);
  Result<bool> boolean();
  Result<PartialShape> shape();
  // An attribute's value of the given kind, in the notation of signature.h.
  Result<AttrValue> literal(std::string_view kind);

 private:
  template <class T, class Item>
  Result<AttrValue> list(Item item);

  const std::string what_;
  const std::string_view text_;
  size_t at_ = 0;
};

}  // namespace millrace
