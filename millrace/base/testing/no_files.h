// A machine without a disk. Tests that need files have some of their own
// (io/testing/memory_files.h).
#pragma once

#include "millrace/base/files.h"

namespace millrace::testing {

class NoFiles final : public Files {
 public:
  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    return none(path);
  }
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override {
    return none(path);
  }
  Result<std::unique_ptr<WritableFile>> append_to(const std::string& path) override {
    return none(path);
  }
  Result<FileFacts> facts(const std::string& path) override { return none(path); }
  Result<std::vector<std::string>> list(const std::string& path) override { return none(path); }
  Status make_directories(const std::string& path) override { return none(path); }
  Status remove(const std::string& path) override { return none(path); }
  Status remove_directory(const std::string& path) override { return none(path); }
  Status rename(const std::string& from, const std::string&) override { return none(from); }

 private:
  static Status none(const std::string& path) {
    return failed_precondition(path, "; this machine has no disk");
  }
};

}  // namespace millrace::testing
