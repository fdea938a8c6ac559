// PeerPatience: how long a process waits for peers that have fallen silent.
#pragma once

#include <chrono>

namespace millrace {

class TimerQueue;

struct PeerPatience {
  // Whose thread looks after peers that owe answers; must outlive what it is given to. Null: nobody
  // does, and only the keepalive of the connection notices.
  TimerQueue* timers = nullptr;
  // After so much silence, questions included, a peer is given up: calls to it end with that cause.
  // After a third of it the log says so. 0: never. A slow machine needs no more than a fast one,
  // since servers answer questions whatever their steps do; a debugger that stops a task does.
  std::chrono::milliseconds limit{15'000};
};

}  // namespace millrace
