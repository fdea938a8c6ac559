// DirectServer: serves the methods of a task to peers that are programs of ours, over connections
// that its listener hands over. The calls are among the server's running calls, whatever way they
// came.
#pragma once

#include <memory>
#include <vector>

#include "millrace/base/host.h"
#include "millrace/base/mutex.h"
#include "millrace/transport/direct/direct_threads.h"
#include "millrace/transport/direct/served_line.h"

namespace millrace::transport {

class DirectServer {
 public:
  // `host`, `methods` and `threads` live until stop() has returned. A peer that waits for answers
  // and says nothing for `patience`, asked or not, is hung up on.
  DirectServer(const Host& host, const ServedMethods& methods,
               std::shared_ptr<RunningCalls> running, const DirectThreads& threads,
               Clock::Duration patience);
  // As stop() at once.
  ~DirectServer();

  // A connection that begins with the greeting (frame.h), all bytes still to be read.
  void take(FileDescriptor connection);
  // Hangs up, once what was answered has been written, and at `until` at the latest. No connection
  // must come any more.
  void stop(Clock::Time until);

 private:
  const std::shared_ptr<Poller> poller_;
  const std::shared_ptr<Intake> intake_;
  const std::shared_ptr<const LineService> service_;
  Mutex mutex_;
  std::vector<std::weak_ptr<ServedLine>> lines_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::transport
