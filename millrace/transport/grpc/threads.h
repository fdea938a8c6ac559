// GrpcThreads: the threads on which gRPC's sockets are read and calls are handled
// (threads/event_threads.h), and the queue that they read.
//
// One per process is enough: give it to the server and to the directory. It outlives both; channels
// that live longer answer every call with UNAVAILABLE. Threads start with the first use.
#pragma once

#include <chrono>
#include <memory>

#include "millrace/base/clock.h"
#include "millrace/base/result.h"
#include "millrace/transport/direct/direct_threads.h"
#include "millrace/transport/threads/event_threads.h"

namespace millrace {

namespace transport {
class CompletionQueue;
}  // namespace transport

class GrpcThreads {
 public:
  struct Options {
    // As of EventThreads.
    int max_threads = 0;
    // How long after a caller has waited for its own call the sockets are left to the next such
    // caller, if nothing else is under way.
    Clock::Duration callers_pause = std::chrono::milliseconds(20);
    // Programs of ours call each other without gRPC once they have met (transport/direct).
    bool direct = false;
  };
  GrpcThreads();
  explicit GrpcThreads(Options options);
  // Waits for the calls that run. Not to be called from one of the threads.
  ~GrpcThreads();

  // Starts as many threads as serving needs: one that reads and one that computes; and sees to it
  // that gRPC will get its own. What uses the queue without this makes do with one if it must.
  // Errors: RESOURCE_EXHAUSTED if the system refuses a thread or a descriptor.
  Status start();

  const std::shared_ptr<transport::CompletionQueue>& queue() const { return queue_; }
  // Null: gRPC alone.
  const transport::DirectThreads* direct() const { return direct_.get(); }
  int max_threads() const { return threads_.max_threads(); }
  // For tests and reports: how many have been started.
  int started() const { return threads_.started(); }

 private:
  const std::shared_ptr<transport::CompletionQueue> queue_;
  transport::EventThreads threads_;
  std::unique_ptr<transport::DirectThreads> direct_;
};

}  // namespace millrace
