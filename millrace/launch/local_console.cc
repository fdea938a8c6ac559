#include "millrace/launch/local_console.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

constexpr std::string_view kLauncher = "millrace";
constexpr std::string_view kEraseLine = "\r\033[K";
constexpr std::string_view kPlain = "\033[0m";
constexpr std::array<std::string_view, 6> kColours = {"\033[36m", "\033[33m", "\033[32m",
                                                      "\033[35m", "\033[34m", "\033[96m"};

bool same_place(int a, int b) {
  struct stat first, second;
  return fstat(a, &first) == 0 && fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

std::string prefix(std::string_view name, size_t width, std::string_view colour) {
  std::string padding(width - name.size(), ' ');
  return colour.empty() ? str_cat(name, padding, " | ")
                        : str_cat(colour, name, padding, " |", kPlain, " ");
}

}  // namespace

Console::Console(const std::vector<std::string>& names, const Options& options)
    : signals_(options.signals),
      lines_(options.lines),
      same_place_(same_place(options.out, options.err)),
      err_is_terminal_(isatty(options.err) == 1),
      out_{.number = options.out},
      err_{.number = options.err} {
  size_t width = kLauncher.size();
  for (const std::string& name : names) width = std::max(width, name.size());
  for (size_t i = 0; i < names.size(); ++i)
    prefixes_.push_back(
        prefix(names[i], width, options.colours ? kColours[i % kColours.size()] : ""));
  prefixes_.push_back(prefix(kLauncher, width, options.colours ? "\033[1m" : ""));
}

// One buffer when both lead to the same place, so that lines keep their order.
Console::Output& Console::of(Stream stream) {
  return stream == Stream::err && !same_place_ ? err_ : out_;
}

void Console::append(Output& output, const std::string& prefix, std::string_view text) {
  if (!output.deserted) str_append(&output.pending, prefix, text, "\n");
}

void Console::line(size_t task, Stream stream, std::string_view text) {
  if (lines_ == Options::Lines::shown) append(of(stream), prefixes_.at(task), text);
}

void Console::note(std::string_view text) { append(of(Stream::err), prefixes_.back(), text); }

void Console::text(std::string_view text) {
  if (!out_.deserted) out_.pending += text;
}

void Console::flush() {
  bool has_lines = !out_.pending.empty() || !err_.pending.empty();
  if (err_is_terminal_ && !shown_progress_.empty() && (has_lines || shown_progress_ != progress_)) {
    // Before the lines, on whichever stream they are: a terminal shows both.
    Output erase{.number = err_.number, .pending = std::string(kEraseLine)};
    write(erase);
    shown_progress_.clear();
  }
  write(out_);
  write(err_);
  if (err_is_terminal_ && shown_progress_.empty() && !progress_.empty()) {
    err_.pending = shown_progress_ = progress_;
    write(err_);
  }
}

void Console::write(Output& output) {
  std::string_view rest = output.pending;
  while (!rest.empty() && !output.deserted) {
    std::array<pollfd, 2> events = {pollfd{output.number, POLLOUT, 0}, pollfd{signals_, POLLIN, 0}};
    int ready = poll(events.data(), events.size(), patience_milliseconds_);
    if (ready < 0 && errno == EINTR) continue;
    if (events[0].revents == 0) break;
    // Not more than what a pipe that is ready takes without waiting.
    ssize_t written = ::write(output.number, rest.data(), std::min<size_t>(rest.size(), PIPE_BUF));
    if (written > 0) rest.remove_prefix(static_cast<size_t>(written));
    if (written < 0 && errno != EINTR && errno != EAGAIN) output.deserted = true;
  }
  output.pending.clear();
}

}  // namespace millrace
