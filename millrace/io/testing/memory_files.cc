#include "millrace/io/testing/memory_files.h"

#include <algorithm>
#include <cstring>

namespace millrace::testing {
namespace {

class MemoryReadable final : public ReadableFile {
 public:
  explicit MemoryReadable(std::string bytes) : bytes_(std::move(bytes)) {}
  Result<size_t> read(uint64_t offset, std::span<char> into) const override {
    if (offset >= bytes_.size()) return size_t{0};
    const size_t some = std::min<size_t>(into.size(), bytes_.size() - offset);
    std::memcpy(into.data(), bytes_.data() + offset, some);
    return some;
  }
  Result<uint64_t> size() const override { return bytes_.size(); }

 private:
  const std::string bytes_;
};

Status missing(const std::string& path) { return not_found(path, "; No such file or directory"); }

}  // namespace

class MemoryFiles::Writable final : public WritableFile {
 public:
  Writable(MemoryFiles& files, std::string path) : files_(files), path_(std::move(path)) {}
  Status append(std::string_view bytes) override {
    MutexLock lock(files_.mutex_);
    // Half of what a failing write was given may have arrived.
    Status changed = files_.change();
    files_.contents_[path_] += changed.ok() ? bytes : bytes.substr(0, bytes.size() / 2);
    return changed;
  }
  Status flush() override { return {}; }
  Status sync() override {
    MutexLock lock(files_.mutex_);
    return files_.change();
  }
  Status close() override { return {}; }

 private:
  MemoryFiles& files_;
  const std::string path_;
};

Status MemoryFiles::change() {
  if (left_ == 0) return error(Code::resource_exhausted, "No space left on device");
  if (left_ > 0) --left_;
  ++changes_;
  return {};
}

Result<std::unique_ptr<ReadableFile>> MemoryFiles::open(const std::string& path) {
  MutexLock lock(mutex_);
  const auto found = contents_.find(path);
  if (found == contents_.end()) return missing(path);
  return std::unique_ptr<ReadableFile>(std::make_unique<MemoryReadable>(found->second));
}

Result<std::unique_ptr<WritableFile>> MemoryFiles::create(const std::string& path) {
  MutexLock lock(mutex_);
  MR_TRY(change());
  contents_[path].clear();
  return std::unique_ptr<WritableFile>(std::make_unique<Writable>(*this, path));
}

Result<std::unique_ptr<WritableFile>> MemoryFiles::append_to(const std::string& path) {
  MutexLock lock(mutex_);
  MR_TRY(change());
  contents_.try_emplace(path);
  return std::unique_ptr<WritableFile>(std::make_unique<Writable>(*this, path));
}

Result<FileFacts> MemoryFiles::facts(const std::string& path) {
  MutexLock lock(mutex_);
  if (directories_.contains(path)) return FileFacts{.is_directory = true};
  const auto found = contents_.find(path);
  if (found == contents_.end()) return missing(path);
  return FileFacts{.size = found->second.size()};
}

Result<std::vector<std::string>> MemoryFiles::list(const std::string& directory) {
  MutexLock lock(mutex_);
  const std::string before = directory.ends_with('/') ? directory : directory + "/";
  std::set<std::string> names;
  for (const auto& [path, bytes] : contents_)
    if (path.starts_with(before))
      names.insert(path.substr(before.size(), path.find('/', before.size()) - before.size()));
  if (names.empty() && !directories_.contains(directory)) return missing(directory);
  return std::vector<std::string>(names.begin(), names.end());
}

Status MemoryFiles::make_directories(const std::string& path) {
  MutexLock lock(mutex_);
  directories_.insert(path);
  return {};
}

Status MemoryFiles::remove(const std::string& path) {
  MutexLock lock(mutex_);
  MR_TRY(change());
  return contents_.erase(path) == 1 ? Status() : missing(path);
}

Status MemoryFiles::remove_directory(const std::string& path) {
  MutexLock lock(mutex_);
  MR_TRY(change());
  return directories_.erase(path) == 1 ? Status() : missing(path);
}

Status MemoryFiles::rename(const std::string& from, const std::string& to) {
  MutexLock lock(mutex_);
  MR_TRY(change());
  const auto found = contents_.find(from);
  if (found == contents_.end()) return missing(from);
  contents_[to] = std::move(found->second);
  contents_.erase(from);
  return {};
}

}  // namespace millrace::testing
