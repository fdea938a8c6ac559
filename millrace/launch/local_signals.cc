#include "millrace/launch/local_signals.h"

#include <sys/signalfd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/launch/exit_reason.h"

namespace millrace {
namespace {

constexpr size_t kShownCommand = 120;

std::string command_of(int pid) {
  std::ifstream file(str_cat("/proc/", pid, "/cmdline"), std::ios::binary);
  std::stringstream words;
  words << file.rdbuf();
  return std::move(words).str();
}

}  // namespace

std::string sender_text(int code, int pid, std::string_view command) {
  // What has another code comes from the kernel or a timer, and the number means something else.
  if (code != SI_USER && code != SI_QUEUE && code != SI_TKILL) return "";
  if (pid == 0) return "a process that can't be seen from here: outside of this container";
  std::string words(command.substr(0, kShownCommand));
  while (!words.empty() && words.back() == '\0') words.pop_back();
  std::ranges::replace_if(
      words, [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  if (command.size() > kShownCommand) words += "...";
  return str_cat("process ", pid, words.empty() ? ", which has ended" : str_cat(" (", words, ")"));
}

std::string to_text(const TakenSignal& signal) {
  return str_cat(signal_text(signal.number), signal.sender.empty() ? "" : ", sent by ",
                 signal.sender);
}

SignalWatch::SignalWatch(std::initializer_list<int> more) {
  sigset_t watched;
  sigemptyset(&watched);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action;
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN)
      sigaddset(&watched, signal);
  }
  for (int signal : more) sigaddset(&watched, signal);
  sigprocmask(SIG_BLOCK, &watched, &mask_before_);
  signals_ = Descriptor(signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &pipe_before_);
}

SignalWatch::~SignalWatch() {
  // A signal that nobody took would end the process when it is unblocked: it has been obeyed.
  while (take()) continue;
  sigaction(SIGPIPE, &pipe_before_, nullptr);
  sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
}

std::optional<TakenSignal> SignalWatch::take() {
  signalfd_siginfo info;
  if (read(signals_.number(), &info, sizeof info) != sizeof info) return {};
  const int pid = static_cast<int>(info.ssi_pid);
  return TakenSignal{static_cast<int>(info.ssi_signo),
                     sender_text(info.ssi_code, pid, pid > 0 ? command_of(pid) : "")};
}

}  // namespace millrace
