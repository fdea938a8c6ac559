#include "millrace/cluster/roster_members.h"

#include <algorithm>
#include <span>
#include <utility>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

constexpr uint64_t kLongestRoster = 1 << 20;  // more than 4096 tasks can be

}  // namespace

RosterMembers::RosterMembers(ClusterSpec cluster, std::string roster, const Host& host)
    : addresses_(constant_members(std::move(cluster))),
      roster_(std::move(roster)),
      host_(host),
      watches_(std::make_shared<TaskWatches>()),
      reader_(std::make_shared<Reader>()) {
  MutexLock lock(reader_->mutex);
  reader_->members = this;
  (void)read();
  read_later();
}

RosterMembers::~RosterMembers() {
  MutexLock lock(reader_->mutex);
  reader_->members = nullptr;
}

bool RosterMembers::is_absent(const AbsentTasks& absent, const TaskName& task) const {
  const auto found = absent.find(str_cat(task.job, ":", task.task));
  if (found == absent.end()) return false;
  const Result<std::string> known = addresses_->address(task);
  return known.ok() && *known == found->second;
}

bool RosterMembers::has_ended(const TaskName& task) const {
  MutexLock lock(mutex_);
  return is_absent(absent_, task);
}

uint64_t RosterMembers::generation() const {
  MutexLock lock(mutex_);
  return generation_;
}

Result<std::string> RosterMembers::text() const {
  MR_ASSIGN(const auto file, host_.files.open(roster_));
  MR_ASSIGN(const uint64_t size, file->size());
  std::string text(std::min(size, kLongestRoster), '\0');
  MR_ASSIGN(const size_t got, file->read(0, std::span<char>(text)));
  text.resize(got);
  return text;
}

std::vector<TaskName> RosterMembers::read() {
  std::vector<TaskName> changed;
  const Result<std::string> now = text();
  if (!now.ok()) return changed;
  const AbsentTasks absent = parse_roster(*now);
  AbsentTasks before;
  {
    MutexLock lock(mutex_);
    if (absent == absent_) return changed;
    before = std::exchange(absent_, absent);
    ++generation_;
  }
  for (const Member& member : addresses_->list())
    if (is_absent(before, member.task) != is_absent(absent, member.task))
      changed.push_back(member.task);
  return changed;
}

// What waits for the time and for the disk holds the reader and not the members, which may go.
void RosterMembers::read_later() {
  timer_ = host_.timers.at(host_.clock.now() + kBetweenReads,
                           [reader = reader_, &blocking = host_.blocking] {
                             blocking.post([reader] { look_again(reader); });
                           });
}

void RosterMembers::look_again(const std::shared_ptr<Reader>& reader) {
  std::vector<TaskName> changed;
  std::shared_ptr<TaskWatches> watches;
  {
    MutexLock lock(reader->mutex);
    if (reader->members == nullptr) return;
    changed = reader->members->read();
    watches = reader->members->watches_;
    reader->members->read_later();
  }
  // Who hears of it may let the members go.
  for (const TaskName& task : changed) watches->tell(task);
}

}  // namespace millrace
