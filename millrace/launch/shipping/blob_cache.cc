#include "millrace/launch/shipping/blob_cache.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <vector>

#include "millrace/base/str_cat.h"
#include "millrace/launch/shipping/digest.h"
#include "millrace/launch/shipping/scratch.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kForOwner = 0600;
constexpr mode_t kReadOnly = 0400;
constexpr int kBetweenLocks = 50;  // milliseconds
constexpr std::string_view kPart = ".part";

// Who waited for it may have one that another has finished, and that is called otherwise now.
bool is_still_at(const Descriptor& file, const std::string& path) {
  struct stat own {};
  struct stat there {};
  return fstat(file.number(), &own) == 0 && lstat(path.c_str(), &there) == 0 &&
         own.st_ino == there.st_ino && own.st_dev == there.st_dev;
}

Status lock(const Descriptor& file, const std::function<Status()>& may_wait) {
  while (flock(file.number(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return unavailable("no lock: ", std::strerror(errno));
    MR_TRY(may_wait());
    poll(nullptr, 0, kBetweenLocks);
  }
  return {};
}

}  // namespace

Result<Descriptor> BlobCache::find(const std::string& digest) const {
  const std::string path = path_of(digest);
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.is_open() && errno != ENOENT) return said_by_system_of("can't read", path);
  if (!file.is_open()) return file;
  const Result<std::string> found = digest_of_file(file.number());
  if (found.ok() && *found == digest) {
    futimens(file.number(), nullptr);  // it was used
    return file;
  }
  unlink(path.c_str());
  return Descriptor();
}

Result<Descriptor> BlobCache::get(const Wanted& wanted) {
  const std::string part_path = path_of(wanted.digest) + std::string(kPart);
  for (;;) {
    MR_ASSIGN(Descriptor found, find(wanted.digest));
    if (found.is_open()) return found;
    const Descriptor part(
        open(part_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kForOwner));
    if (!part.is_open()) return said_by_system_of("can't write", part_path);
    MR_TRY(lock(part, wanted.may_wait));
    if (!is_still_at(part, part_path)) continue;
    MR_TRY(bring(wanted, part));
  }
}

Status BlobCache::bring(const Wanted& wanted, const Descriptor& part) const {
  const std::string path = path_of(wanted.digest);
  const std::string part_path = path + std::string(kPart);
  Status brought = wanted.bring(part.number());
  if (brought.ok()) {
    const Result<std::string> found = digest_of_file(part.number());
    brought = found.status();
    if (found.ok() && *found != wanted.digest)
      brought = error(Code::data_loss, "what came is something else: its SHA-256 is ", *found,
                      ", and not ", wanted.digest);
  }
  if (brought.ok() &&
      (fchmod(part.number(), kReadOnly) != 0 || rename(part_path.c_str(), path.c_str()) != 0))
    brought = said_by_system_of("can't write", path);
  if (!brought.ok()) unlink(part_path.c_str());
  return brought;
}

void BlobCache::trim(uint64_t most_bytes, const std::set<std::string>& kept) const {
  struct Entry {
    fs::file_time_type used;
    uint64_t size;
    std::string name;
  };
  std::vector<Entry> entries;
  uint64_t bytes = 0;
  std::error_code fault;
  for (auto it = fs::directory_iterator(folder_, fault); !fault && it != fs::directory_iterator();
       it.increment(fault)) {
    std::error_code gone;
    Entry entry{.used = it->last_write_time(gone), .name = it->path().filename().string()};
    if (!gone) entry.size = it->file_size(gone);
    if (gone) continue;
    bytes += entry.size;
    entries.push_back(std::move(entry));
  }
  std::ranges::sort(entries, {}, &Entry::used);
  for (const Entry& entry : entries) {
    if (bytes <= most_bytes) return;
    if (kept.contains(entry.name)) continue;
    const std::string path = folder_ + "/" + entry.name;
    if (entry.name.ends_with(kPart)) {
      const Descriptor part(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
      if (!part.is_open() || flock(part.number(), LOCK_EX | LOCK_NB) != 0) continue;
      if (is_still_at(part, path)) unlink(path.c_str());
    } else {
      unlink(path.c_str());
    }
    bytes -= entry.size;
  }
}

}  // namespace millrace
