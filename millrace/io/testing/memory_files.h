// MemoryFiles: files of a test's own, in memory, that break when the test says so. Any
// thread may call what Files has; the test itself looks and says while nobody else does.
#pragma once

#include <map>
#include <set>
#include <string>

#include "millrace/base/files.h"
#include "millrace/base/mutex.h"

namespace millrace::testing {

class MemoryFiles final : public Files {
 public:
  // After `changes` more calls that change something (a piece appended, a file made, renamed,
  // removed, brought to the disk) every one fails like a full disk, or as if the process were gone:
  // nothing more is changed, not even by who cleans up.
  void break_after(int changes) { left_ = changes; }
  void mend() { left_ = -1; }
  // How many calls have changed something so far.
  int changes() const { return changes_; }

  std::map<std::string, std::string>& contents() { return contents_; }

  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> append_to(const std::string& path) override;
  Result<FileFacts> facts(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& directory) override;
  Status make_directories(const std::string& path) override;
  Status remove(const std::string& path) override;
  Status remove_directory(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;

 private:
  class Writable;
  Status change();

  Mutex mutex_;  // of all that follows, while others may call
  std::map<std::string, std::string> contents_;
  std::set<std::string> directories_;
  int left_ = -1;  // changes until it breaks; below 0: never
  int changes_ = 0;
};

}  // namespace millrace::testing
