#include "millrace/io/paths.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace millrace::io {

std::string_view scheme_of(std::string_view path) {
  const size_t end = path.find("://");
  if (end == path.npos) return {};
  const std::string_view scheme = path.substr(0, end);
  const bool is_one = !scheme.empty() && std::all_of(scheme.begin(), scheme.end(), [](char letter) {
    return absl::ascii_isalnum(static_cast<unsigned char>(letter)) || letter == '+' ||
           letter == '-' || letter == '.';
  });
  return is_one ? scheme : std::string_view();
}

std::string_view root_of(std::string_view path) {
  const std::string_view scheme = scheme_of(path);
  if (scheme.empty()) return path.substr(0, path.starts_with('/') ? 1 : 0);
  const size_t slash = path.find('/', scheme.size() + 3);
  return path.substr(0, slash == path.npos ? path.size() : slash + 1);
}

std::string directory_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  return std::string(slash == path.npos ? std::string_view() : path.substr(0, slash));
}

Status make_directory_of(Files& files, std::string_view path) {
  const std::string directory = directory_of(path);
  return directory.empty() ? Status() : files.make_directories(directory);
}

}  // namespace millrace::io
