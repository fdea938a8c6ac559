#include "millrace/launch/shipping/task_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/launch/local_descriptors.h"
#include "millrace/launch/shipping/scratch.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kOwnerOnly = 0700;
constexpr const char* kLock = ".lock";
constexpr time_t kFresh = 60;  // seconds: so soon nobody is gone whom nobody has missed
// Of a folder into which somebody may still write.
constexpr int kMostRemovals = 100;
constexpr int kBetweenRemovals = 50'000;  // microseconds

// Folders without the right to write there can't be emptied.
void allow_removal(const std::string& path) {
  std::error_code ignored;
  for (auto it = fs::recursive_directory_iterator(path, ignored);
       !ignored && it != fs::recursive_directory_iterator(); it.increment(ignored)) {
    std::error_code no;
    if (it->is_directory(no) && !it->is_symlink(no))
      fs::permissions(it->path(), fs::perms::owner_all, fs::perm_options::add, no);
  }
}

bool remove_folder(const std::string& path) {
  std::error_code fault;
  fs::remove_all(path, fault);
  if (!fault) return true;
  allow_removal(path);
  fs::remove_all(path, fault);
  return !fault;
}

void remove_all_of(const std::string& path) {
  if (remove_folder(path)) unlink((path + kLock).c_str());
}

// Those whose makers are gone without a trace, by the time at which the last lock was made. Each of
// the tasks of a job that begin together would try the locks of all others.
void sweep(const std::string& tasks, time_t now) {
  std::error_code fault;
  for (auto it = fs::directory_iterator(tasks, fault); !fault && it != fs::directory_iterator();
       it.increment(fault)) {
    const std::string path = it->path().string();
    struct stat facts {};
    if (!path.ends_with(kLock) || lstat(path.c_str(), &facts) != 0) continue;
    if (std::abs(now - facts.st_mtime) < kFresh) continue;
    const Descriptor lock(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (!lock.is_open() || flock(lock.number(), LOCK_EX | LOCK_NB) != 0) continue;
    remove_all_of(path.substr(0, path.size() - std::strlen(kLock)));
  }
}

[[noreturn]] void stay_beside(const std::string& path, int life, int lock) {
  leave_terminal();
  prctl(PR_SET_NAME, "millrace-broom");
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  // Nobody's pipe stays open because of this process.
  close_all_but({life, lock});
  if (chdir("/") != 0) _exit(1);
  char byte = 0;
  while (read(life, &byte, 1) < 0 && errno == EINTR) continue;
  for (int i = 0; i < kMostRemovals && !remove_folder(path); ++i) usleep(kBetweenRemovals);
  unlink((path + kLock).c_str());
  _exit(0);
}

// Twice forked: it is no child of who goes on, who may end all its children.
Result<Descriptor> begin_beside(const std::string& path, int lock) {
  MR_ASSIGN(Pipe pipe, make_pipe());
  const pid_t between = fork();
  if (between == 0) {
    pipe.write.close();
    const pid_t beside = fork();
    if (beside == 0) stay_beside(path, pipe.read.number(), lock);
    _exit(beside < 0 ? 1 : 0);
  }
  int status = 1;
  while (between > 0 && waitpid(between, &status, 0) < 0 && errno == EINTR) continue;
  if (status != 0)
    return error(Code::resource_exhausted, "no process to remove '", path, "' at the end");
  return std::move(pipe.write);
}

}  // namespace

Result<TaskFolder> TaskFolder::make(const std::string& tasks, const std::string& name) {
  for (;;) {
    // The lock first: without it, it could be taken for one that was left behind.
    std::string path = str_cat(tasks, "/", name, "-XXXXXX", kLock);
    Descriptor lock(mkostemps(path.data(), static_cast<int>(std::strlen(kLock)), O_CLOEXEC));
    if (!lock.is_open()) return said_by_system_of("can't write in", tasks);
    struct stat facts {};
    if (flock(lock.number(), LOCK_EX | LOCK_NB) != 0 || fstat(lock.number(), &facts) != 0 ||
        facts.st_nlink == 0)
      continue;  // a sweep was quicker
    path.resize(path.size() - std::strlen(kLock));
    if (mkdir(path.c_str(), kOwnerOnly) != 0) {
      const Status fault = said_by_system_of("can't make the folder", path);
      unlink((path + kLock).c_str());
      return fault;
    }
    sweep(tasks, facts.st_mtime);
    Result<Descriptor> life = begin_beside(path, lock.number());
    if (!life.ok()) remove_all_of(path);
    MR_TRY(life.status());
    return TaskFolder(std::move(path), std::move(lock), *std::move(life));
  }
}

TaskFolder::TaskFolder(TaskFolder&& other) noexcept
    : path_(std::exchange(other.path_, "")),
      lock_(std::move(other.lock_)),
      life_(std::move(other.life_)) {}

TaskFolder::~TaskFolder() {
  if (!path_.empty() && lock_.is_open()) remove_all_of(path_);
}

TaskFolder TaskFolder::lent(std::string path) {
  return TaskFolder(std::move(path), Descriptor(), Descriptor());
}

}  // namespace millrace
