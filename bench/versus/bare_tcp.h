// A TCP connection between two processes of this machine with nothing on top: what tensors between
// tasks can't be faster than, as long as they go over a socket.
#pragma once

#include <cstddef>
#include <vector>

namespace millrace::bench {

// A forked process sends, this one asks and receives into one warm buffer. The congestion control
// is the one that suits loopback, where the system allows it.
class BareTcp {
 public:
  explicit BareTcp(size_t bytes);
  ~BareTcp();
  BareTcp(const BareTcp&) = delete;
  BareTcp& operator=(const BareTcp&) = delete;

  // Asks with a byte, returns when all `bytes` have come. Aborts the benchmark if they don't.
  void receive();

 private:
  int sender_ = -1;
  int socket_ = -1;
  std::vector<char> buffer_;
};

}  // namespace millrace::bench
