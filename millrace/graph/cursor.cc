#include "millrace/graph/cursor.h"

#include <algorithm>

#include "absl/strings/escaping.h"

namespace millrace {
namespace {
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-' || c == '/' || c == '>' || c == '+';
}
}  // namespace

char Cursor::peek() {
  while (at_ < text_.size() && (is_space(text_[at_]) || text_[at_] == '#')) {
    if (text_[at_] == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      ++at_;
    }
  }
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool Cursor::take(char token) {
  if (peek() != token || at_ == text_.size()) return false;
  ++at_;
  return true;
}

Status Cursor::expect(char token) {
  if (take(token)) return {};
  const std::string found = at_end() ? "the end" : str_cat("'", std::string(1, peek()), "'");
  return fail("expected '", std::string(1, token), "', found ", found);
}

std::string_view Cursor::word() {
  const size_t begin = position();
  while (at_ < text_.size() && is_word_char(text_[at_])) ++at_;
  return text_.substr(begin, at_ - begin);
}

bool Cursor::take_word(std::string_view text) {
  const size_t begin = position();
  if (word() == text) return true;
  at_ = begin;
  return false;
}

std::string_view Cursor::until_space() {
  const size_t begin = position();
  while (at_ < text_.size() && !is_space(text_[at_])) ++at_;
  return text_.substr(begin, at_ - begin);
}

Result<std::string> Cursor::quoted() {
  const size_t begin = position();
  MR_TRY(expect('"'));
  const size_t content = at_;
  while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
  if (at_ >= text_.size()) return error_at(begin, "this string does not end");
  const std::string_view escaped = text_.substr(content, at_++ - content);
  std::string value, why;
  if (absl::CUnescape(to_absl(escaped), &value, &why)) return value;
  return error_at(begin, str_cat("in this string: ", why));
}

Status Cursor::error_at(size_t position, std::string_view message) const {
  const std::string_view before = text_.substr(0, position);
  const size_t line = 1 + static_cast<size_t>(std::ranges::count(before, '\n'));
  const size_t column = position - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
  return invalid(line, ":", column, ": ", message);
}

}  // namespace millrace
