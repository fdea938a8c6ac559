// LateMembers: the members of a cluster whose addresses become known while it runs, and change.
//
//   MR_ASSIGN(auto members, LateMembers::create({{"ps", 2}, {"worker", 8}}));
//   MR_ASSIGN(auto server, Server::start({.members = members, .own_address = "host7:0",
//                                         .job = "worker", .task = 3}));
//   registry.publish("worker:3", server->address());      // whatever the job's manager offers
//   registry.on_change([members](TaskName task, std::string address) {
//     (void)members->set_address(task, address);
//   });
//
// What a job under YARN, Kubernetes or another manager needs that chooses machines as it goes, and
// a job that grows and shrinks: it is planned with the most tasks that it may have, and those that
// are not to be waited for have ended. Shared by the program, which tells it what it learns, and a
// server. Any thread; watches are called on the thread of the change.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millrace/base/mutex.h"
#include "millrace/cluster/members.h"

namespace millrace {

class LateMembers final : public Members {
 public:
  // Jobs and how many tasks each of them has: 0, 1 … Nothing is known of where they are.
  // Errors: INVALID_ARGUMENT for a name that no job may have, and for less than one task;
  // ALREADY_EXISTS for a job that is named twice.
  static Result<std::shared_ptr<LateMembers>> create(
      const std::vector<std::pair<std::string, int>>& jobs);

  // Those of `cluster`, each where it says so, until something else is told.
  static std::shared_ptr<LateMembers> of(const ClusterSpec& cluster);

  // It listens at "host:port" from now on. Whoever waited for it goes on; calls that are under way
  // to another address, which it had before, end.
  // Errors: NOT_FOUND for a task that is not in the cluster; INVALID_ARGUMENT for what can't be an
  // address, or has port 0.
  Status set_address(const TaskName& task, std::string_view address);
  // It is not where it was, nor is known where it will be; `why` is told to those who wait for it.
  // Errors: NOT_FOUND.
  Status lose_address(const TaskName& task, std::string_view why);
  // It has ended well: no session waits for it until it has an address again. Errors: NOT_FOUND.
  Status end(const TaskName& task);

  std::vector<Member> list() const override;
  Result<std::string> address(const TaskName& task) const override;
  bool has_ended(const TaskName& task) const override;
  uint64_t generation() const override { return generation_.load(std::memory_order_acquire); }
  TaskWatch watch(std::function<void(const TaskName&)> on_change) override {
    return watches_.add(std::move(on_change));
  }
  Status serves(const TaskName& task, const std::string& address) override {
    return set_address(task, address);
  }

 private:
  struct Known {
    std::string address;                    // empty: not known
    std::string why_not = "not known yet";  // it is not known
    bool has_ended = false;
    friend bool operator==(const Known&, const Known&) = default;
  };
  explicit LateMembers(std::map<TaskName, Known> known) : known_(std::move(known)) {}
  Status set(const TaskName& task, Known known);
  Status no_such_task(const TaskName& task) const MR_REQUIRES(mutex_);

  std::atomic<uint64_t> generation_{1};
  TaskWatches watches_;
  mutable Mutex mutex_;
  std::map<TaskName, Known> known_ MR_GUARDED_BY(mutex_);  // the keys stay
};

}  // namespace millrace
