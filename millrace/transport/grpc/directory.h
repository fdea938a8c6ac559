// GrpcDirectory: reaches the workers of a cluster over gRPC.
//
// One connection per address, shared by all tasks and sessions that use it. It lives as long as
// somebody holds a worker at that address; of those that nobody holds the directory keeps so many,
// the ones last asked for, so that the next session finds them. Whoever asks for an address whose
// connection can't be made at the moment gets a fresh one, which tries at once and not when it is
// the failing one's turn: a task that has come back is found by the next session. Workers that it
// gave out may live longer than it does. Proxies (http_proxy) are never used.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "millrace/base/host.h"
#include "millrace/base/mutex.h"
#include "millrace/cluster/services.h"
#include "millrace/transport/grpc/threads.h"
#include "millrace/transport/transport.h"

namespace millrace {

namespace transport {
class Channel;
class DirectThreads;
class Rounds;
}  // namespace transport

class GrpcDirectory final : public WorkerDirectory {
 public:
  struct Options {
    // How often gRPC asks a silent connection whether it stands; a TensorFlow server that was cut
    // off without a word is noticed after this long and 20 seconds. TensorFlow's servers close
    // connections that ask more often than every five minutes; in a cluster without them 20 s is a
    // good choice.
    std::chrono::milliseconds keepalive{310'000};
    PeerPatience patience = {};
    // How many connections are kept for whoever comes next.
    size_t kept_channels = 256;
  };
  // `host` and `threads` outlive this.
  GrpcDirectory(const GrpcThreads& threads, const Host& host);
  GrpcDirectory(const GrpcThreads& threads, const Host& host, Options options);
  ~GrpcDirectory() override;

  // Errors: INVALID_ARGUMENT for an address that is not host:port, or has port 0.
  Result<std::shared_ptr<WorkerService>> worker(const TaskName& task,
                                                std::string_view address) override;
  void let_go(std::string_view address) override;

 private:
  struct Kept {
    std::weak_ptr<transport::Channel> channel;
    std::shared_ptr<transport::Channel> kept;  // the same; null: only its users have it
    uint64_t last_use = 0;                     // by the count of uses
  };

  std::shared_ptr<transport::Channel> channel(const std::string& address);
  // Lets go of what is too much. Returns what may go with it, for when the lock is released.
  std::shared_ptr<transport::Channel> let_go() MR_REQUIRES(mutex_);

  const std::shared_ptr<transport::CompletionQueue> queue_;
  const transport::DirectThreads* const direct_;  // null: gRPC alone
  const Options options_;
  const Host host_;
  const std::shared_ptr<transport::Rounds> rounds_;
  Mutex mutex_;
  std::map<std::string, Kept> channels_ MR_GUARDED_BY(mutex_);
  uint64_t uses_ MR_GUARDED_BY(mutex_) = 0;
  size_t num_kept_ MR_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace
