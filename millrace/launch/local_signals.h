// The signals that ask a launcher to end, as a descriptor that a poll loop can wait for.
//
// From construction to destruction SIGINT, SIGTERM and SIGHUP arrive here and SIGPIPE is ignored.
// A signal that was ignored before (nohup, background jobs of a script) stays ignored.
#pragma once

#include <csignal>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "millrace/launch/descriptor.h"

namespace millrace {

struct TakenSignal {
  int number = 0;
  std::string sender = {};  // as sender_text() says
};

// "SIGTERM (signal 15), sent by process 4711 (sh)"
std::string to_text(const TakenSignal& signal);

// Who sent a signal, from what the kernel tells with it (si_code, si_pid) and the words of that
// process's command, each ended by a zero byte; empty: it has ended. "process 4711 (sh -c …)";
// empty if no process did, as for the keys of a terminal.
std::string sender_text(int code, int pid, std::string_view command);

class SignalWatch {
 public:
  // `more` are watched as well.
  explicit SignalWatch(std::initializer_list<int> more = {});
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  // Readable while a signal is pending.
  int descriptor() const { return signals_.number(); }
  // The next pending signal, without waiting. Who sent it is looked up at once: it may be gone
  // soon.
  std::optional<TakenSignal> take();

 private:
  sigset_t mask_before_;
  struct sigaction pipe_before_;
  Descriptor signals_;
};

}  // namespace millrace
