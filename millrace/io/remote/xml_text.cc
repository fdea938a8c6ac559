#include "millrace/io/remote/xml_text.h"

#include <cstdint>
#include <vector>

#include "absl/strings/ascii.h"

#include "millrace/base/result.h"

namespace millrace::remote {
namespace {

constexpr size_t kDeepest = 16;
constexpr size_t kLongestEntity = 10;  // "&#x10FFFF;" without its "&"

Status no_answer(std::string_view why) {
  return error(Code::data_loss, "an answer in XML is damaged: ", why);
}

void put_utf8(std::string* out, uint32_t point) {
  const auto put = [&](uint32_t byte) { *out += static_cast<char>(byte); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0 | point >> 6);
    put(0x80 | (point & 63));
  } else if (point < 0x10000) {
    put(0xE0 | point >> 12);
    put(0x80 | (point >> 6 & 63));
    put(0x80 | (point & 63));
  } else {
    put(0xF0 | point >> 18);
    put(0x80 | (point >> 12 & 63));
    put(0x80 | (point >> 6 & 63));
    put(0x80 | (point & 63));
  }
}

// "amp", "#38", "#x26": what stands between & and ;.
bool put_entity(std::string* out, std::string_view name) {
  constexpr std::pair<std::string_view, char> kNamed[] = {
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
  for (const auto& [known, letter] : kNamed) {
    if (name != known) continue;
    *out += letter;
    return true;
  }
  if (!name.starts_with('#')) return false;
  const bool is_hex = name.starts_with("#x");
  const std::string_view digits = name.substr(is_hex ? 2 : 1);
  if (digits.empty()) return false;
  uint32_t point = 0;
  for (const char letter : digits) {
    const auto byte = static_cast<unsigned char>(letter);
    if (is_hex ? !absl::ascii_isxdigit(byte) : !absl::ascii_isdigit(byte)) return false;
    const uint32_t digit = absl::ascii_isdigit(byte)
                               ? static_cast<uint32_t>(letter - '0')
                               : static_cast<uint32_t>(absl::ascii_tolower(byte) - 'a' + 10);
    point = point * (is_hex ? 16 : 10) + digit;
    if (point > 0x10FFFF) return false;
  }
  put_utf8(out, point);
  return true;
}

class Walk {
 public:
  explicit Walk(std::string_view text) : rest_(text) {}

  Status run(const std::function<Status(std::string_view, std::string&&)>& see) {
    while (!rest_.empty()) {
      if (rest_.front() != '<') {
        MR_TRY(text());
        continue;
      }
      const size_t end = rest_.starts_with("<!--") ? rest_.find("-->") : rest_.find('>');
      if (end == rest_.npos) return no_answer("a tag has no end");
      const bool is_comment = rest_.starts_with("<!--");
      const std::string_view tag = rest_.substr(1, end - 1);
      rest_.remove_prefix(end + (is_comment ? 3 : 1));
      if (is_comment || tag.starts_with('?')) continue;
      if (tag.starts_with('!')) return no_answer("it has a declaration");
      MR_TRY(tag.starts_with('/') ? close(tag.substr(1), see) : open(tag, see));
    }
    if (!open_.empty()) return no_answer("it ends inside an element");
    return has_root_ ? Status() : no_answer("there is no element in it");
  }

 private:
  struct Element {
    std::string inside;
    size_t path_before;  // letters of path_
  };

  Status text() {
    const size_t end = std::min(rest_.size(), rest_.find('<'));
    std::string_view piece = rest_.substr(0, end);
    rest_.remove_prefix(end);
    if (open_.empty()) {
      for (const char letter : piece)
        if (!absl::ascii_isspace(static_cast<unsigned char>(letter)) && !is_mark(letter))
          return no_answer("text stands outside of all elements");
      return {};
    }
    std::string& inside = open_.back().inside;
    while (!piece.empty()) {
      const size_t mark = piece.find('&');
      inside.append(piece.substr(0, mark));
      if (mark == piece.npos) break;
      piece.remove_prefix(mark + 1);
      const size_t semicolon = piece.substr(0, kLongestEntity).find(';');
      if (semicolon == piece.npos || !put_entity(&inside, piece.substr(0, semicolon)))
        return no_answer("it has an entity that is not known");
      piece.remove_prefix(semicolon + 1);
    }
    return {};
  }

  // The bytes of UTF-8's mark of byte order.
  static bool is_mark(char letter) {
    return letter == '\xEF' || letter == '\xBB' || letter == '\xBF';
  }

  static std::string_view name_of(std::string_view tag) {
    return tag.substr(0, tag.find_first_of(" \t\r\n/"));
  }

  Status open(std::string_view tag,
              const std::function<Status(std::string_view, std::string&&)>& see) {
    const std::string_view name = name_of(tag);
    if (name.empty()) return no_answer("an element has no name");
    if (open_.size() == kDeepest) return no_answer("its elements are too deep");
    if (open_.empty() && has_root_) return no_answer("it has two documents");
    has_root_ = true;
    open_.push_back({.inside = {}, .path_before = path_.size()});
    if (!path_.empty()) path_ += '/';
    path_ += name;
    return tag.ends_with('/') ? close(name, see) : Status();
  }

  Status close(std::string_view tag,
               const std::function<Status(std::string_view, std::string&&)>& see) {
    if (open_.empty()) return no_answer("an element ends that did not begin");
    Element ended = std::move(open_.back());
    open_.pop_back();
    const size_t begin = ended.path_before == 0 ? 0 : ended.path_before + 1;
    if (name_of(tag) != std::string_view(path_).substr(begin))
      return no_answer("its elements do not end in order");
    MR_TRY(see(path_, std::move(ended.inside)));
    path_.resize(ended.path_before);
    return {};
  }

  std::string_view rest_;
  std::vector<Element> open_;
  std::string path_;
  bool has_root_ = false;
};

}  // namespace

Status walk_xml(std::string_view text,
                const std::function<Status(std::string_view path, std::string&& inside)>& see) {
  return Walk(text).run(see);
}

}  // namespace millrace::remote
