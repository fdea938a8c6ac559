#include "millrace/io/testing/failing_disk.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace millrace::testing {
namespace {

Status no_such(const std::string& path) { return not_found(path, "; No such file or directory"); }

}  // namespace

class FailingDisk::Readable final : public ReadableFile {
 public:
  explicit Readable(std::shared_ptr<const Content> content) : content_(std::move(content)) {}
  Result<size_t> read(uint64_t offset, std::span<char> into) const override {
    const std::string& bytes = content_->bytes;
    if (offset >= bytes.size()) return size_t{0};
    const size_t some = std::min<size_t>(into.size(), bytes.size() - offset);
    std::memcpy(into.data(), bytes.data() + offset, some);
    return some;
  }
  Result<uint64_t> size() const override { return content_->bytes.size(); }

 private:
  const std::shared_ptr<const Content> content_;
};

class FailingDisk::Writable final : public WritableFile {
 public:
  Writable(FailingDisk& disk, std::shared_ptr<Content> content)
      : disk_(disk), content_(std::move(content)) {}
  Status append(std::string_view bytes) override {
    Status changed = disk_.change();
    content_->bytes += changed.ok() ? bytes : bytes.substr(0, std::exchange(disk_.torn_, 0));
    return changed;
  }
  Status flush() override { return {}; }
  Status sync() override {
    MR_TRY(disk_.change());
    content_->synced = content_->bytes.size();
    return {};
  }
  Status close() override { return {}; }

 private:
  FailingDisk& disk_;
  const std::shared_ptr<Content> content_;
};

class FailingDisk::Lock final : public FileLock {
 public:
  Lock(std::shared_ptr<std::set<std::string>> locked, std::string path)
      : locked_(std::move(locked)), path_(std::move(path)) {}
  ~Lock() override { locked_->erase(path_); }

 private:
  const std::shared_ptr<std::set<std::string>> locked_;
  const std::string path_;
};

FailingDisk FailingDisk::after_kill() const {
  FailingDisk left;
  for (const auto& [name, content] : names_)
    left.names_[name] = std::make_shared<Content>(Content{content->bytes, content->bytes.size()});
  left.synced_names_ = left.names_;
  left.folders_ = folders_;
  return left;
}

FailingDisk FailingDisk::after_power_loss(Random& random) const {
  Names names = synced_names_;
  const size_t arrived = random.next() % (unsynced_.size() + 1);
  for (size_t i = 0; i < arrived; ++i) unsynced_[i](names);
  FailingDisk left;
  for (const auto& [name, content] : names) {
    // Of what was not synced some blocks are there, and others are zeros, be it that a later one
    // arrived first.
    std::string bytes = content->bytes;
    const size_t unsynced = bytes.size() - content->synced;
    bytes.resize(content->synced + random.next() % (unsynced + 1));
    if (bytes.size() > content->synced && random.next() % 2 == 0) {
      const size_t from = content->synced + random.next() % (bytes.size() - content->synced);
      const size_t until = from + random.next() % (bytes.size() - from + 1);
      std::fill(bytes.begin() + static_cast<ptrdiff_t>(from),
                bytes.begin() + static_cast<ptrdiff_t>(until), '\0');
    }
    left.names_[name] = std::make_shared<Content>(Content{bytes, bytes.size()});
  }
  left.synced_names_ = left.names_;
  left.folders_ = folders_;
  return left;
}

std::set<std::string> FailingDisk::names() const {
  std::set<std::string> all;
  for (const auto& [name, content] : names_) all.insert(name);
  return all;
}

Status FailingDisk::change() {
  if (left_ == 0) return error(Code::resource_exhausted, "No space left on device");
  if (left_ > 0) --left_;
  ++changes_;
  return {};
}

Status FailingDisk::change_names(const std::function<void(Names&)>& how) {
  MR_TRY(change());
  how(names_);
  unsynced_.push_back(how);
  return {};
}

Result<std::unique_ptr<ReadableFile>> FailingDisk::open(const std::string& path) {
  const auto found = names_.find(path);
  if (found == names_.end()) return no_such(path);
  return std::unique_ptr<ReadableFile>(std::make_unique<Readable>(found->second));
}

Result<std::unique_ptr<WritableFile>> FailingDisk::create(const std::string& path) {
  const auto content = std::make_shared<Content>();
  MR_TRY(change_names([path, content](Names& names) { names[path] = content; }));
  return std::unique_ptr<WritableFile>(std::make_unique<Writable>(*this, content));
}

Result<std::unique_ptr<WritableFile>> FailingDisk::append_to(const std::string& path) {
  const auto found = names_.find(path);
  if (found == names_.end()) return create(path);
  return std::unique_ptr<WritableFile>(std::make_unique<Writable>(*this, found->second));
}

Result<FileFacts> FailingDisk::facts(const std::string& path) {
  if (folders_.contains(path)) return FileFacts{.is_directory = true};
  const auto found = names_.find(path);
  if (found == names_.end()) return no_such(path);
  return FileFacts{.size = found->second->bytes.size()};
}

Result<std::vector<std::string>> FailingDisk::list(const std::string& directory) {
  if (!folders_.contains(directory)) return no_such(directory);
  std::vector<std::string> found;
  const std::string before = directory + "/";
  for (const auto& [path, content] : names_)
    if (path.starts_with(before)) found.push_back(path.substr(before.size()));
  return found;
}

Status FailingDisk::make_directories(const std::string& path) {
  MR_TRY(change());
  folders_.insert(path);
  return {};
}

Status FailingDisk::remove(const std::string& path) {
  if (!names_.contains(path)) return no_such(path);
  return change_names([path](Names& names) { names.erase(path); });
}

Status FailingDisk::remove_directory(const std::string& path) {
  MR_TRY(change());
  return folders_.erase(path) == 1 ? Status() : no_such(path);
}

Status FailingDisk::rename(const std::string& from, const std::string& to) {
  if (!names_.contains(from)) return no_such(from);
  return change_names([from, to](Names& names) {
    names[to] = names.at(from);
    names.erase(from);
  });
}

Status FailingDisk::sync_folder(const std::string&) {
  MR_TRY(change());
  synced_names_ = names_;
  unsynced_.clear();
  return {};
}

Result<std::unique_ptr<FileLock>> FailingDisk::lock(const std::string& path) {
  if (!locked_->insert(path).second)
    return failed_precondition(path, "; another process has it locked");
  return std::unique_ptr<FileLock>(std::make_unique<Lock>(locked_, path));
}

}  // namespace millrace::testing
