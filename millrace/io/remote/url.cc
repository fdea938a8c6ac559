#include "millrace/io/remote/url.h"

#include <algorithm>

#include "absl/strings/ascii.h"

#include "millrace/base/str_cat.h"

namespace millrace::remote {
namespace {

constexpr size_t kMostShown = 300;

bool is_plain(char letter) {
  return absl::ascii_isalnum(static_cast<unsigned char>(letter)) || letter == '-' ||
         letter == '.' || letter == '_' || letter == '~';
}

int digit_of(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  return -1;
}

}  // namespace

std::string Address::to_string() const { return str_cat(scheme, "://", authority, "/", path); }

Result<Address> parse_address(const std::string& path) {
  const size_t colon = path.find("://");
  if (colon == path.npos || colon == 0)
    return invalid(path, "; is no remote path: those are 's3://BUCKET/KEY' and the like");
  const size_t begin = colon + 3;
  const size_t slash = std::min(path.size(), path.find('/', begin));
  Address made{.scheme = path.substr(0, colon),
               .authority = path.substr(begin, slash - begin),
               .path = slash == path.size() ? "" : path.substr(slash + 1)};
  if (made.authority.empty())
    return invalid(path, "; names no ", made.scheme == "s3" ? "bucket" : "host");
  for (const char letter : made.authority) {
    if (!is_plain(letter) && letter != ':' && letter != '[' && letter != ']')
      return invalid(path, "; '", shown_text(made.authority), "' is no name of a ",
                     made.scheme == "s3" ? "bucket" : "host");
  }
  return made;
}

std::string percent_encoded(std::string_view text, Slashes slashes) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string made;
  made.reserve(text.size());
  for (const char letter : text) {
    if (is_plain(letter) || (letter == '/' && slashes == Slashes::kept)) {
      made += letter;
      continue;
    }
    const auto byte = static_cast<unsigned char>(letter);
    made += '%';
    made += kDigits[byte >> 4];
    made += kDigits[byte & 15];
  }
  return made;
}

std::string percent_decoded(std::string_view text) {
  std::string made;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      const int high = digit_of(text[i + 1]), low = digit_of(text[i + 2]);
      if (high >= 0 && low >= 0) {
        made += static_cast<char>(high * 16 + low);
        i += 2;
        continue;
      }
    }
    made += text[i];
  }
  return made;
}

std::string encoded_query(const Query& query) {
  std::string made;
  for (const auto& [name, value] : query) {
    if (!made.empty()) made += '&';
    str_append(&made, percent_encoded(name, Slashes::encoded), "=",
               percent_encoded(value, Slashes::encoded));
  }
  return made;
}

std::string shown_text(std::string_view said) {
  std::string made;
  for (const char letter : said.substr(0, kMostShown)) {
    if (absl::ascii_isprint(static_cast<unsigned char>(letter))) {
      made += letter;
    } else if (!made.empty() && made.back() != ' ') {
      made += ' ';
    }
  }
  if (said.size() > kMostShown) made += "...";
  return made;
}

}  // namespace millrace::remote
