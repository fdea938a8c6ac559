#include "millrace/launch/local_scaling.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/launch/job_folder.h"

namespace millrace {
namespace {

constexpr size_t kChanges = 4096;  // bytes of what the system tells at once

}  // namespace

LocalScaling::LocalScaling(const std::string& folder, Descriptor changes)
    : roster_path_(roster_in(folder)), changes_(std::move(changes)), wishes_(wishes_in(folder)) {}

Result<LocalScaling> LocalScaling::create(const std::string& folder) {
  const std::string path = wishes_in(folder);
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!file.is_open()) return unavailable("can't write '", path, "': ", strerror(errno));
  // Of an earlier life of the job.
  unlink(roster_in(folder).c_str());
  Descriptor changes(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (changes.is_open() && inotify_add_watch(changes.number(), path.c_str(), IN_MODIFY) < 0)
    changes.close();
  return LocalScaling(folder, std::move(changes));
}

void LocalScaling::add_descriptors(std::vector<pollfd>& events) const {
  if (changes_.is_open()) events.push_back({changes_.number(), POLLIN, 0});
}

std::vector<ScaleWish> LocalScaling::take() {
  // First what was told, then what there is: a line that comes between is told again.
  std::array<char, kChanges> told;
  while (changes_.is_open() && ::read(changes_.number(), told.data(), told.size()) > 0) continue;
  std::vector<ScaleWish> wishes;
  // What can't be read now is there with the next look.
  (void)wishes_.read(false, [&](std::string_view line) {
    if (auto wish = parse_scale_wish(line)) wishes.push_back(std::move(*wish));
  });
  return wishes;
}

Status LocalScaling::keep_roster(AbsentTasks absent) {
  if (roster_ == absent) return {};
  MR_TRY(write_whole_text(roster_path_, to_roster(absent)));
  roster_ = std::move(absent);
  return {};
}

Status append_wish(const std::string& folder, const ScaleWish& wish) {
  const std::string path = wishes_in(folder);
  const Descriptor file(open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!file.is_open() && errno == ENOENT)
    return failed_precondition(
        "its launcher heeds no wishes: it is of an earlier version; stop the job and submit it "
        "again");
  const std::string line = to_line(wish);
  errno = 0;
  // Of one piece, so that what two append at once does not get mixed.
  if (file.is_open() &&
      ::write(file.number(), line.data(), line.size()) == static_cast<ssize_t>(line.size()))
    return {};
  return unavailable("can't write '", path, "': ", errno == 0 ? "no room" : strerror(errno));
}

}  // namespace millrace
