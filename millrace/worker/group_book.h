// GroupBook: who has come to which group of collectives. One task leads all groups of a cluster;
// its book decides. A state machine without clock, thread or connection: events in, answers out.
//
//   waiting ──the last of `size` devices comes──> formed ──a member is lost──> waiting
//
// A member is lost when another one says so, or when it comes back under another incarnation: then
// the group as it was is of no use to anybody, whoever asks about it hears why, and all come again.
// Each forming has a name of its own, the epoch, so that what was meant for the group as it was
// does not reach the one that is.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "millrace/base/result.h"

namespace millrace {

struct GroupMember {
  std::string device;  // full name
  uint64_t incarnation = 0;
  // Members with the same word share memory if they may; empty: with nobody.
  std::string machine = {};
  friend bool operator==(const GroupMember&, const GroupMember&) = default;
};

// A group that is complete. Ranks are places in `members`, which are in order of jobs, tasks and
// devices.
struct CollectiveGroup {
  int64_t key = 0;
  std::string epoch;
  std::vector<GroupMember> members;
  // The place of a device; -1 if it is no member.
  int rank_of(std::string_view device) const;
  // Whether all members are on one machine, which all of them see alike.
  bool is_on_one_machine() const;
};
// The error of members whose leader answered so, or not at all: ABORTED.
Status of_lost_leader(const CollectiveGroup& group, const Status& answer);

class GroupBook {
 public:
  // By what name answers call the task that keeps the book.
  explicit GroupBook(std::string leader = "the leader") : leader_(std::move(leader)) {}

  struct Coming {
    uint64_t ticket = 0;  // of the request, for its answer
    int64_t key = 0;
    int64_t size = 0;
    GroupMember member;
    std::string lost_epoch = {};  // the group that it has given up last; empty: none
  };
  struct Answer {
    uint64_t ticket = 0;
    Result<CollectiveGroup> group;
  };
  // `epoch`: a new name, for a group that becomes complete by this.
  // Errors, as answers: INTERNAL in TensorFlow's words for a size that is not the group's, or a
  // device that the complete group does not contain.
  std::vector<Answer> come(const Coming& coming, const std::string& epoch);
  // The request is over, because of `why`; the answer, if it still waited, says who was missing.
  std::vector<Answer> leave(int64_t key, uint64_t ticket, const Status& why);

  // A member has given up the group as it was formed under that name. Answers to who asked.
  std::vector<Answer> lose(int64_t key, const std::string& epoch, const std::string& why);

  struct Asking {
    uint64_t ticket = 0;
    int64_t key = 0;
    std::string epoch;
    std::string instance;
    std::string device;
    bool is_source = false;
  };
  struct Source {
    uint64_t ticket = 0;
    Result<int> rank;
  };
  // Who sends in an instance of a group: answered when that member has asked. An instance that
  // nobody sends in is how a member hears of the end of the group. Errors, as answers: ABORTED,
  // and why, if the group is another by now; INTERNAL if two want to be it.
  std::vector<Source> ask(const Asking& asking);
  std::vector<Source> stop_asking(int64_t key, uint64_t ticket, const Status& why);

 private:
  struct Instance {
    int source = -1;
    std::vector<uint64_t> waiting;
  };
  struct Record {
    int64_t size = 0;
    CollectiveGroup group;                                   // complete if its epoch is not empty
    std::map<std::string, GroupMember> come;                 // while it forms, by device
    std::map<uint64_t, std::string> waiting;                 // ticket -> device
    std::map<std::string, Instance, std::less<>> instances;  // of the complete group
  };
  static std::string missing(const Record& record);
  std::vector<Answer> dissolve(Record& record, const std::string& why);

  const std::string leader_;
  std::map<int64_t, Record> records_;
  // Why the last groups ended, by epoch: for a member who asks too late to be among those who
  // heard.
  std::deque<std::pair<std::string, std::string>> ended_;
};

}  // namespace millrace
