#include "millrace/launch/signal_words.h"

#include <charconv>
#include <csignal>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

constexpr std::string_view kLine = "signal ";

struct NamedSignal {
  std::string_view name;
  int number;
};
constexpr NamedSignal kSignals[] = {{"HUP", SIGHUP},    {"INT", SIGINT},   {"QUIT", SIGQUIT},
                                    {"USR1", SIGUSR1},  {"USR2", SIGUSR2}, {"ALRM", SIGALRM},
                                    {"TERM", SIGTERM},  {"CONT", SIGCONT}, {"URG", SIGURG},
                                    {"WINCH", SIGWINCH}};

}  // namespace

std::optional<int> signal_number(std::string_view name) {
  if (name.starts_with("SIG")) name.remove_prefix(3);
  for (const NamedSignal& signal : kSignals)
    if (signal.name == name) return signal.number;
  return {};
}

std::string signal_line(int signal) { return str_cat(kLine, signal, "\n"); }

std::optional<int> parse_signal_line(std::string_view line) {
  if (!line.starts_with(kLine)) return {};
  line.remove_prefix(kLine.size());
  int signal = 0;
  const auto [end, fault] = std::from_chars(line.data(), line.data() + line.size(), signal);
  if (fault != std::errc() || end != line.data() + line.size()) return {};
  for (const NamedSignal& known : kSignals)
    if (known.number == signal) return signal;
  return {};
}

}  // namespace millrace
