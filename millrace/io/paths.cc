#include "millrace/io/paths.h"

namespace millrace::io {

std::string directory_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  return std::string(slash == path.npos ? std::string_view() : path.substr(0, slash));
}

Status make_directory_of(Files& files, std::string_view path) {
  const std::string directory = directory_of(path);
  return directory.empty() ? Status() : files.make_directories(directory);
}

}  // namespace millrace::io
