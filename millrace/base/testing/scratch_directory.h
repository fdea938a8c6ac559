// A directory of a test's own, removed with all that is in it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace millrace::testing {

class ScratchDirectory {
 public:
  ScratchDirectory()
      : path_((std::filesystem::temp_directory_path() / "millrace-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  // Of what is in it; "" for itself.
  std::string path(std::string_view name) const {
    return name.empty() ? path_ : path_ + "/" + std::string(name);
  }

 private:
  std::string path_;
};

}  // namespace millrace::testing
