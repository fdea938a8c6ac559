// Channel: our end of the connection to one address. Private to this room.
//
// Connects when first used, and again when the connection was lost, at most a second after the last
// try. Any thread may call. Shared by all who talk to that address.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "millrace/base/mutex.h"
#include "millrace/transport/grpc/outgoing_call.h"

namespace millrace::transport {

class Channel {
 public:
  struct Options {
    // How often a silent peer is asked whether it is there. TensorFlow's servers close connections
    // that ask more often than every five minutes.
    int keepalive_millis = 310'000;
  };

  Channel(const std::string& address, std::shared_ptr<CompletionQueue> queue, Options options);
  ~Channel();

  void start_unary(OutgoingRequest request, Done<ByteBuffer> done);
  void start_streamed(OutgoingRequest request, ReadMessage read, Done<void> done);
  // Blocks the caller, who reads the socket.
  Result<ByteBuffer> wait_for(OutgoingRequest request);

 private:
  QueueHandle take_wait_queue();
  void give_back(QueueHandle queue);

  const std::shared_ptr<CompletionQueue> queue_;  // also keeps gRPC initialised
  const ChannelHandle channel_;
  Mutex mutex_;
  std::vector<QueueHandle> wait_queues_ MR_GUARDED_BY(mutex_);  // idle
};

}  // namespace millrace::transport
