// Filling: what is done with the queue of a job's results, as nodes of a graph, and by steps of a
// session that has them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "millrace/base/files.h"
#include "millrace/mapreduce/result_queue.h"
#include "millrace/session/session.h"

namespace millrace::mapreduce {

class Filling {
 public:
  // Makes a step that puts elements in: plainly, or under a lease.
  using Step = std::function<Status(const std::string& target, Session::Feeds feeds)>;

  // Adds the nodes; errors are the builder's.
  Filling(const Scope& scope, ResultQueue queue);

  // Errors: FAILED_PRECONDITION unless the queue is open and empty; those of sessions.
  Status check(Session& session) const;
  // Puts in all that a reducer has written. Under a lease each element is put in once, however
  // often and by however many this is done: a step has the same elements each time. Errors: ABORTED
  // if somebody has closed the queue; those of the step, of the file.
  Status put_file(Files& files, const std::string& path, const Step& step) const;
  // No more elements come. Errors: those of sessions.
  Status close(Session& session) const;
  // The job has failed: who reads, or waits for room, waits for nothing any more.
  void cancel(Session& session) const;

 private:
  const ResultQueue queue_;
  std::vector<std::vector<std::string>> fed_;  // per element of a step, its components
  std::vector<std::string> puts_;              // what puts in the first, the first two, and so on
  std::string is_closed_, size_, close_, cancel_;
};

}  // namespace millrace::mapreduce
