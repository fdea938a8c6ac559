#include "millrace/worker/group_book.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "millrace/op/device_name.h"

namespace millrace {
namespace {

// In order of jobs, tasks and devices by number: CPU:10 stands behind CPU:9.
auto place_of(const std::string& device) {
  const auto parsed = DeviceName::parse(device);
  const DeviceName name = parsed.ok() ? *parsed : DeviceName();
  return std::tuple(name.job.value_or(""), name.replica.value_or(0), name.task.value_or(0),
                    name.type.value_or(""), name.id.value_or(0), device);
}

// More than are ever asked for: members hear of an end within a minute or so.
constexpr size_t kMostEnded = 100;

}  // namespace

int CollectiveGroup::rank_of(std::string_view device) const {
  for (size_t i = 0; i < members.size(); ++i)
    if (members[i].device == device) return static_cast<int>(i);
  return -1;
}

bool CollectiveGroup::is_on_one_machine() const {
  return std::ranges::all_of(members, [&](const GroupMember& member) {
    return !member.machine.empty() && member.machine == members.front().machine;
  });
}

Status of_lost_leader(const CollectiveGroup& group, const Status& answer) {
  if (answer.message().starts_with("group ")) return Status(Code::aborted, answer.message());
  return aborted("group ", group.key, " of ", group.members.size(),
                 " has lost its leader: ", answer.message());
}

std::vector<GroupBook::Answer> GroupBook::come(const Coming& coming, const std::string& epoch) {
  const GroupMember& member = coming.member;
  const auto refuse = [&](const Status& why) { return std::vector<Answer>{{coming.ticket, why}}; };
  Record& record = records_[coming.key];
  const bool is_new = record.size == 0;
  if (is_new) record.size = coming.size;
  if (record.size != coming.size) {
    return refuse(internal("Collective Op on ", member.device, " has group_size ", coming.size,
                           " and group_key ", coming.key, " but that group has size ",
                           record.size));
  }
  if (!record.group.epoch.empty()) {
    const int rank = record.group.rank_of(member.device);
    if (rank < 0)
      return refuse(internal("Collective Op is assigned to device ", member.device,
                             " and group_key ", coming.key,
                             " but that group doesn't contain that device."));
    const bool knows_it = record.group.members[static_cast<size_t>(rank)] == member &&
                          coming.lost_epoch != record.group.epoch;
    if (knows_it) return {{coming.ticket, record.group}};
  }
  std::vector<Answer> answers =
      dissolve(record, str_cat(member.device, coming.lost_epoch.empty() ? " has started again"
                                                                        : " has given it up"));
  // An earlier life of the device is over, and so are its requests.
  GroupMember& seat = record.come[member.device];
  if (seat.incarnation != 0 && seat.incarnation != member.incarnation) {
    std::erase_if(record.waiting, [&](const auto& waiting) {
      if (waiting.second != member.device) return false;
      answers.push_back({waiting.first, aborted(member.device, " has started again")});
      return true;
    });
  }
  seat = member;
  record.waiting[coming.ticket] = member.device;
  if (static_cast<int64_t>(record.come.size()) < record.size) return answers;
  record.group.key = coming.key;
  record.group.epoch = epoch;
  for (const auto& [device, one] : record.come) record.group.members.push_back(one);
  std::ranges::sort(record.group.members, {},
                    [](const GroupMember& one) { return place_of(one.device); });
  for (const auto& [ticket, device] : record.waiting) answers.push_back({ticket, record.group});
  record.waiting.clear();
  record.come.clear();
  return answers;
}

std::vector<GroupBook::Answer> GroupBook::dissolve(Record& record, const std::string& why) {
  std::vector<Answer> answers;
  if (record.group.epoch.empty()) return answers;
  const std::string told =
      str_cat("group ", record.group.key, " of ", record.size, " was given up: ", why);
  for (const auto& [name, instance] : record.instances)
    for (const uint64_t ticket : instance.waiting) answers.push_back({ticket, aborted(told)});
  ended_.emplace_back(record.group.epoch, told);
  if (ended_.size() > kMostEnded) ended_.pop_front();
  record.group = {};
  record.instances.clear();
  return answers;
}

std::vector<GroupBook::Answer> GroupBook::lose(int64_t key, const std::string& epoch,
                                               const std::string& why) {
  const auto found = records_.find(key);
  if (found == records_.end() || epoch.empty() || found->second.group.epoch != epoch) return {};
  std::vector<Answer> answers = dissolve(found->second, why);
  // Whoever comes next may mean another size.
  records_.erase(found);
  return answers;
}

std::string GroupBook::missing(const Record& record) {
  std::string text = str_cat(record.come.size(), " of ", record.size, " members have come:");
  for (const auto& [device, member] : record.come) str_append(&text, " ", device);
  return text;
}

std::vector<GroupBook::Answer> GroupBook::leave(int64_t key, uint64_t ticket, const Status& why) {
  const auto found = records_.find(key);
  if (found == records_.end()) return {};
  Record& record = found->second;
  const auto waiting = record.waiting.find(ticket);
  if (waiting == record.waiting.end()) return {};
  const std::string who = missing(record);
  const std::string device = waiting->second;
  record.waiting.erase(waiting);
  const bool waits_still = std::ranges::any_of(
      record.waiting, [&](const auto& other) { return other.second == device; });
  if (!waits_still) record.come.erase(device);
  // Nobody has come, and nobody has been there: another size may be meant next time.
  if (record.come.empty() && record.group.epoch.empty()) records_.erase(found);
  return {{ticket, why.then(str_cat(" (", who, ")"))}};
}

std::vector<GroupBook::Source> GroupBook::ask(const Asking& asking) {
  const auto found = records_.find(asking.key);
  if (found == records_.end() || found->second.group.epoch != asking.epoch) {
    const auto ended =
        std::ranges::find(ended_, asking.epoch, &decltype(ended_)::value_type::first);
    if (ended != ended_.end()) return {{asking.ticket, aborted(ended->second)}};
    return {{asking.ticket, aborted("group ", asking.key, " is not known to ", leader_,
                                    ", who leads it: it has started again since, or the group "
                                    "ended too long ago")}};
  }
  Record& record = found->second;
  const int rank = record.group.rank_of(asking.device);
  if (rank < 0)
    return {{asking.ticket, internal(asking.device, " is no member of group ", asking.key)}};
  Instance& instance = record.instances[asking.instance];
  if (asking.is_source) {
    if (instance.source >= 0 && instance.source != rank) {
      return {
          {asking.ticket,
           internal("Instance ", asking.instance, " of group ", asking.key, " already has source ",
                    record.group.members[static_cast<size_t>(instance.source)].device,
                    ", received a CollectiveBcastSend from ", asking.device)}};
    }
    instance.source = rank;
  }
  instance.waiting.push_back(asking.ticket);
  std::vector<Source> answers;
  if (instance.source < 0) return answers;
  for (const uint64_t ticket : std::exchange(instance.waiting, {}))
    answers.push_back({ticket, instance.source});
  return answers;
}

std::vector<GroupBook::Source> GroupBook::stop_asking(int64_t key, uint64_t ticket,
                                                      const Status& why) {
  const auto found = records_.find(key);
  if (found == records_.end()) return {};
  for (auto& [name, instance] : found->second.instances) {
    if (std::erase(instance.waiting, ticket) > 0)
      return {{ticket, why.then(" (no member of the group has said that it sends)")}};
  }
  return {};
}

}  // namespace millrace
