// Members: which tasks a cluster has, and where each of them listens, as far as that is known.
//
// Which tasks there are is decided when a job is planned and stays. Where they listen may be known
// from the start, as in a ClusterSpec (constant_members()), or become known while servers run
// already and change when a task is started again elsewhere: LateMembers (late_members.h) is told
// so by the program; who has a manager of machines to ask may implement this for it. It says
// nothing about who is alive: that is found out by asking.
//
// Given to a server (session/server.h) and shared by all that looks for tasks there. Any thread may
// call; no function waits for anybody or calls back, but those that change something call watches.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/cluster/cluster_spec.h"
#include "millrace/cluster/task_watches.h"

namespace millrace {

struct Member {
  TaskName task;
  std::string address;  // "host:port"; empty while it is not known
};

class Members {
 public:
  virtual ~Members() = default;

  // Every task, in order of names; always the same ones, with what is known of them now.
  virtual std::vector<Member> list() const = 0;
  // Where a task listens.
  // Errors: NOT_FOUND for a task that is not in the cluster, with what there is instead;
  // UNAVAILABLE, and why, while it is not known.
  virtual Result<std::string> address(const TaskName& task) const = 0;
  // True for a task that is known to have ended well: nobody waits for it. It may come back.
  virtual bool has_ended(const TaskName& task) const = 0;
  // Another number after each change, and before watches hear of it.
  virtual uint64_t generation() const = 0;
  // Tells of each task whose address becomes known, changes or gets lost, or that has ended. Null
  // if nothing will ever change.
  virtual TaskWatch watch(std::function<void(const TaskName&)> on_change) = 0;
  // The server of `task` listens, and is reached at `address`: which is where it is from now on.
  // Whoever implements this for others to read publishes it.
  virtual Status serves(const TaskName& task, const std::string& address) = 0;
};

// Those of a cluster whose addresses are known and stay.
std::shared_ptr<Members> constant_members(ClusterSpec cluster);

}  // namespace millrace
