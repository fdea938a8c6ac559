// FailingDisk: a disk of a test's own, in memory, that ends where the test says so and tells what
// is left of it. One thread.
//
// It knows what was brought to the disk and what was only written: a process that is killed leaves
// all that it has written, a machine that goes down loses what was not synced: bytes at the end of
// a file, which become fewer or zeros, and names, of which the first few may have arrived.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "millrace/base/random.h"
#include "millrace/io/lasting_files.h"

namespace millrace::testing {

class FailingDisk final : public LastingFiles {
 public:
  // After `changes` more calls that change something (bytes appended or synced, a file made,
  // renamed, removed, a folder synced) every one fails, like a full disk or as if the process were
  // gone. Of what the first append to fail is given `torn` bytes arrive.
  void break_after(int changes, size_t torn = 0) {
    left_ = changes;
    torn_ = torn;
  }
  void mend() { left_ = -1; }
  bool is_broken() const { return left_ == 0; }
  int changes() const { return changes_; }

  // What another process finds when this one was killed. Its locks are free.
  FailingDisk after_kill() const;
  // What is found when the machine went down. `random` decides what of it had arrived.
  FailingDisk after_power_loss(Random& random) const;

  // The bytes of a file, which must be there.
  std::string& bytes(const std::string& path) { return names_.at(path)->bytes; }
  std::set<std::string> names() const;

  Result<std::unique_ptr<ReadableFile>> open(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override;
  Result<std::unique_ptr<WritableFile>> append_to(const std::string& path) override;
  Result<FileFacts> facts(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& directory) override;
  Status make_directories(const std::string& path) override;
  Status remove(const std::string& path) override;
  Status remove_directory(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status sync_folder(const std::string& path) override;
  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override;

 private:
  struct Content {
    std::string bytes;
    size_t synced = 0;
  };
  using Names = std::map<std::string, std::shared_ptr<Content>>;
  class Readable;
  class Writable;
  class Lock;

  Status change();
  Status change_names(const std::function<void(Names&)>& how);

  Names names_;                                        // as processes see them
  Names synced_names_;                                 // as they are on the disk
  std::vector<std::function<void(Names&)>> unsynced_;  // what lies between, in order
  std::set<std::string> folders_;
  std::shared_ptr<std::set<std::string>> locked_ = std::make_shared<std::set<std::string>>();
  int left_ = -1;  // changes until it breaks; below 0: never
  size_t torn_ = 0;
  int changes_ = 0;
};

}  // namespace millrace::testing
