// Members of a cluster whose launcher keeps a roster (roster.h): where each task listens is known
// and stays; which of them are absent, so that no session waits for them, is read from the file
// again and again. A task that is absent in the roster and answers all the same takes part: what is
// read is never too late for that.
//
// Any thread. Watches are called on the Host's blocking runner.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "millrace/base/host.h"
#include "millrace/base/mutex.h"
#include "millrace/cluster/members.h"
#include "millrace/cluster/roster.h"

namespace millrace {

class RosterMembers final : public Members {
 public:
  // Between two looks at the roster.
  static constexpr Clock::Duration kBetweenReads = std::chrono::milliseconds(250);

  // Reads the roster; while it can't be read, what was read last counts, and at first nobody is
  // absent: all are waited for. `host` outlives it.
  RosterMembers(ClusterSpec cluster, std::string roster, const Host& host);
  // Waits for a look at the roster that is under way.
  ~RosterMembers() override;
  RosterMembers(const RosterMembers&) = delete;
  RosterMembers& operator=(const RosterMembers&) = delete;

  std::vector<Member> list() const override { return addresses_->list(); }
  Result<std::string> address(const TaskName& task) const override {
    return addresses_->address(task);
  }
  bool has_ended(const TaskName& task) const override;
  uint64_t generation() const override;
  TaskWatch watch(std::function<void(const TaskName&)> on_change) override {
    return watches_->add(std::move(on_change));
  }
  Status serves(const TaskName& task, const std::string& address) override {
    return addresses_->serves(task, address);
  }

 private:
  // Who looks again: nobody once the members are gone.
  struct Reader {
    Mutex mutex;
    RosterMembers* members MR_GUARDED_BY(mutex);
  };
  static void look_again(const std::shared_ptr<Reader>& reader);
  // The tasks of which something else is true now.
  std::vector<TaskName> read();
  void read_later();
  Result<std::string> text() const;
  bool is_absent(const AbsentTasks& absent, const TaskName& task) const;

  const std::shared_ptr<Members> addresses_;
  const std::string roster_;
  const Host host_;
  const std::shared_ptr<TaskWatches> watches_;
  const std::shared_ptr<Reader> reader_;
  mutable Mutex mutex_;
  AbsentTasks absent_ MR_GUARDED_BY(mutex_);
  uint64_t generation_ MR_GUARDED_BY(mutex_) = 1;
  Timers::Timer timer_;  // of whoever has the reader
};

}  // namespace millrace
