#include "millrace/launch/local_journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace millrace {
namespace {

struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

Result<LocalJournal> LocalJournal::create(const std::string& path, Readers readers) {
  // A link says where it is to be kept.
  std::error_code no_link;
  const auto linked = std::filesystem::read_symlink(path, no_link);
  const std::string kept = no_link ? path : linked.string();
  Descriptor file(open(kept.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666));
  if (!file.is_open() && errno == EEXIST)
    return error(Code::already_exists, "'", path, "' is there: this job has been started before");
  if (!file.is_open()) return unavailable("can't write '", path, "': ", strerror(errno));
  // Not inherited by what this process starts, and gone when it is; told with the process's number.
  struct flock lock = whole_file();
  if (fcntl(file.number(), F_SETLK, &lock) != 0 && readers == Readers::here)
    return unavailable("can't lock '", path, "': ", strerror(errno));
  return LocalJournal(path, std::move(file), readers);
}

Status LocalJournal::flush() {
  std::string_view rest = pending_;
  while (!is_cut_off_ && !rest.empty()) {
    const ssize_t size = write(file_.number(), rest.data(), rest.size());
    if (size >= 0) rest.remove_prefix(static_cast<size_t>(size));
    if (size >= 0 || errno == EINTR) continue;
    Status fault = unavailable("can't write '", path_, "': ", strerror(errno));
    // The file stays open: its lock says that the launcher lives.
    is_cut_off_ = true;
    pending_.clear();
    return fault;
  }
  if (!pending_.empty() && !is_cut_off_ && readers_ == Readers::elsewhere)
    fdatasync(file_.number());
  pending_.clear();
  return {};
}

Result<pid_t> journal_holder(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open() && errno == ENOENT) return not_found("there is no '", path, "'");
  if (!file.is_open()) return unavailable("can't read '", path, "': ", strerror(errno));
  struct flock lock = whole_file();
  if (fcntl(file.number(), F_GETLK, &lock) != 0)
    return unavailable("can't ask who holds '", path, "': ", strerror(errno));
  if (lock.l_type == F_UNLCK) return pid_t{0};
  // Nought or less: a process of another machine, or of another container.
  return lock.l_pid > 0 ? lock.l_pid : pid_t{-1};
}

}  // namespace millrace
