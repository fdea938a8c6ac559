#include "millrace/io/local_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

namespace millrace {
namespace {

Code code_of(int problem) {
  switch (problem) {
    case ENOENT:
      return Code::not_found;
    case EEXIST:
      return Code::already_exists;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::permission_denied;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return Code::resource_exhausted;
    case EISDIR:
    case ENOTDIR:
    case ENOTEMPTY:
    case EBUSY:
      return Code::failed_precondition;
    case EINVAL:
    case ENAMETOOLONG:
      return Code::invalid_argument;
    default:
      return Code::unknown;
  }
}

// What the last call said of `path`.
Status refused(const std::string& path) {
  const int problem = errno;
  return error(code_of(problem), path, "; ", std::generic_category().message(problem));
}

// Calls that a signal may cut short are made again.
template <class Call>
auto uninterrupted(Call call) {
  auto answer = call();
  while (answer < 0 && errno == EINTR) answer = call();
  return answer;
}

// An open file, closed in the end.
class Descriptor {
 public:
  Descriptor(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  Descriptor(Descriptor&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }

  int fd() const { return fd_; }
  const std::string& path() const { return path_; }
  Status close() {
    if (fd_ < 0) return failed_precondition(path_, " is closed");
    // Linux lets go of the number whatever it says.
    return ::close(std::exchange(fd_, -1)) == 0 ? Status() : refused(path_);
  }

 private:
  int fd_;
  std::string path_;
};

Result<Descriptor> open_descriptor(const std::string& path, int flags) {
  const int fd = uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0666); });
  if (fd < 0) return refused(path);
  return Descriptor(fd, path);
}

Result<struct stat> stat_of(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return refused(path);
  return found;
}

class LocalReadable final : public ReadableFile {
 public:
  explicit LocalReadable(Descriptor file) : file_(std::move(file)) {}

  Result<size_t> read(uint64_t offset, std::span<char> into) const override {
    size_t done = 0;
    while (done < into.size()) {
      const ssize_t some = uninterrupted([&] {
        return ::pread(file_.fd(), into.data() + done, into.size() - done,
                       static_cast<off_t>(offset + done));
      });
      if (some < 0) return refused(file_.path());
      if (some == 0) break;
      done += static_cast<size_t>(some);
    }
    return done;
  }

  Result<uint64_t> size() const override {
    struct stat found {};
    if (::fstat(file_.fd(), &found) != 0) return refused(file_.path());
    return static_cast<uint64_t>(found.st_size);
  }

 private:
  const Descriptor file_;
};

// Small pieces wait in memory for more; large ones are written as they come.
class LocalWritable final : public WritableFile {
 public:
  explicit LocalWritable(Descriptor file) : file_(std::move(file)) {}
  ~LocalWritable() override {
    if (!waiting_.empty() && file_.fd() >= 0) static_cast<void>(flush());
  }

  Status append(std::string_view bytes) override {
    if (waiting_.size() + bytes.size() < kPiece) {
      waiting_.append(bytes);
      return {};
    }
    MR_TRY(flush());
    if (bytes.size() >= kPiece) return write(bytes);
    waiting_.assign(bytes);
    return {};
  }

  Status flush() override {
    const std::string bytes = std::exchange(waiting_, {});
    return write(bytes);
  }

  Status sync() override {
    MR_TRY(flush());
    return ::fsync(file_.fd()) == 0 ? Status() : refused(file_.path());
  }

  Status close() override {
    const Status flushed = flush();
    const Status closed = file_.close();
    return flushed.ok() ? closed : flushed;
  }

 private:
  static constexpr size_t kPiece = 64 << 10;

  Status write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t some =
          uninterrupted([&] { return ::write(file_.fd(), bytes.data(), bytes.size()); });
      if (some < 0) return refused(file_.path());
      bytes.remove_prefix(static_cast<size_t>(some));
    }
    return {};
  }

  Descriptor file_;
  std::string waiting_;
};

class LocalLock final : public FileLock {
 public:
  explicit LocalLock(Descriptor file) : file_(std::move(file)) {}

 private:
  const Descriptor file_;
};

Result<std::unique_ptr<WritableFile>> open_for_writing(const std::string& path, int how) {
  MR_ASSIGN(Descriptor file, open_descriptor(path, O_WRONLY | O_CREAT | how));
  return std::unique_ptr<WritableFile>(std::make_unique<LocalWritable>(std::move(file)));
}

}  // namespace

Result<std::unique_ptr<ReadableFile>> LocalFiles::open(const std::string& path) {
  MR_ASSIGN(Descriptor file, open_descriptor(path, O_RDONLY));
  struct stat found {};
  if (::fstat(file.fd(), &found) != 0) return refused(path);
  if (S_ISDIR(found.st_mode)) return failed_precondition(path, "; is a directory");
  return std::unique_ptr<ReadableFile>(std::make_unique<LocalReadable>(std::move(file)));
}

Result<std::unique_ptr<WritableFile>> LocalFiles::create(const std::string& path) {
  return open_for_writing(path, O_TRUNC);
}

Result<std::unique_ptr<WritableFile>> LocalFiles::append_to(const std::string& path) {
  return open_for_writing(path, O_APPEND);
}

Result<FileFacts> LocalFiles::facts(const std::string& path) {
  MR_ASSIGN(const struct stat found, stat_of(path));
  return FileFacts{.size = static_cast<uint64_t>(found.st_size),
                   .is_directory = S_ISDIR(found.st_mode),
                   .changed_micros = static_cast<int64_t>(found.st_mtim.tv_sec) * 1'000'000 +
                                     found.st_mtim.tv_nsec / 1'000};
}

Result<std::vector<std::string>> LocalFiles::list(const std::string& directory) {
  DIR* const open = ::opendir(directory.c_str());
  if (open == nullptr) return refused(directory);
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(open)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  const Status read = errno == 0 ? Status() : refused(directory);
  ::closedir(open);
  MR_TRY(read);
  return names;
}

Status LocalFiles::make_directories(const std::string& path) {
  for (size_t end = 0; end < path.size();) {
    end = std::min(path.find('/', end + 1), path.size());
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), 0777) == 0) continue;
    Status problem = refused(part);
    const Result<struct stat> found = stat_of(part);
    if (!found.ok()) return problem;
    if (!S_ISDIR(found->st_mode)) return failed_precondition(part, "; is not a directory");
  }
  return {};
}

Status LocalFiles::remove(const std::string& path) {
  return ::unlink(path.c_str()) == 0 ? Status() : refused(path);
}

Status LocalFiles::remove_directory(const std::string& path) {
  return ::rmdir(path.c_str()) == 0 ? Status() : refused(path);
}

Status LocalFiles::rename(const std::string& from, const std::string& to) {
  return ::rename(from.c_str(), to.c_str()) == 0 ? Status() : refused(from);
}

Status LocalFiles::sync_folder(const std::string& path) {
  MR_ASSIGN(const Descriptor folder, open_descriptor(path, O_RDONLY | O_DIRECTORY));
  return ::fsync(folder.fd()) == 0 ? Status() : refused(path);
}

Result<std::unique_ptr<FileLock>> LocalFiles::lock(const std::string& path) {
  MR_ASSIGN(Descriptor file, open_descriptor(path, O_RDWR | O_CREAT));
  if (::flock(file.fd(), LOCK_EX | LOCK_NB) == 0)
    return std::unique_ptr<FileLock>(std::make_unique<LocalLock>(std::move(file)));
  if (errno != EWOULDBLOCK) return refused(path);
  return failed_precondition(path, "; another process has it locked");
}

}  // namespace millrace
