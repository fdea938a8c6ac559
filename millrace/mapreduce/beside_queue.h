// BesideQueue: the queue of a job's results on a server that stands beside, for a job without a
// cluster. One thread; calls wait for the server.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "millrace/base/files.h"
#include "millrace/mapreduce/filling.h"
#include "millrace/mapreduce/workshop.h"
#include "millrace/session/runtime.h"
#include "millrace/session/session.h"

namespace millrace::mapreduce {

class BesideQueue {
 public:
  // Nobody is contacted yet. Errors: those of Session::create(), of building.
  static Result<std::unique_ptr<BesideQueue>> create(std::shared_ptr<Runtime> runtime,
                                                     const ResultQueue& queue);
  // A queue that was begun and not closed: who reads waits for nothing any more.
  ~BesideQueue();
  BesideQueue(const BesideQueue&) = delete;
  BesideQueue& operator=(const BesideQueue&) = delete;

  // Has the queue for a job. Errors: those of Filling::check(), of the workshop's.
  Status begin(const Workshop& workshop);
  // Puts in what reducers have written, and closes the queue. Errors: those of Filling.
  Status fill(Files& files, const std::vector<std::string>& parts);

 private:
  BesideQueue(std::unique_ptr<Session> session, Filling filling)
      : session_(std::move(session)), filling_(std::move(filling)) {}

  const std::unique_ptr<Session> session_;
  const Filling filling_;
  bool is_open_ = false;
};

}  // namespace millrace::mapreduce
