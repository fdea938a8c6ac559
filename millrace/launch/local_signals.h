// The signals that ask a launcher to end, as a descriptor that a poll loop can wait for.
//
// From construction to destruction SIGINT, SIGTERM and SIGHUP arrive here and SIGPIPE is ignored.
// A signal that was ignored before (nohup, background jobs of a script) stays ignored.
#pragma once

#include <csignal>
#include <initializer_list>
#include <optional>

#include "millrace/launch/descriptor.h"

namespace millrace {

class SignalWatch {
 public:
  // `more` are watched as well.
  explicit SignalWatch(std::initializer_list<int> more = {});
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  // Readable while a signal is pending.
  int descriptor() const { return signals_.number(); }
  // The next pending signal, without waiting.
  std::optional<int> take();

 private:
  sigset_t mask_before_;
  struct sigaction pipe_before_;
  Descriptor signals_;
};

}  // namespace millrace
