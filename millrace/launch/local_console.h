// Shows the lines of many tasks as one stream, each with its name in front, and below them a line
// of progress when a terminal shows it.
//
//   map:0    | 1087 words in Apache-2.0
//   reduce:0 | 4711 words so far
//   millrace | map:1 failed: exit code 3: ValueError: bad record
//
// What tasks write to standard output and standard error stays apart, unless both are the same
// place. Text is collected by the calls and written by flush(), once per turn of the launcher's
// loop. A reader that does not read makes flush() wait (and with it the tasks, whose pipes fill
// up), until a signal is pending: then it gives up what it could not write. Single-threaded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/launch/error_lines.h"

namespace millrace {

class Console {
 public:
  struct Options {
    int out = 1;
    int err = 2;
    int signals = -1;  // readable when a signal is pending
    bool colours = false;
    // Hidden: lines of tasks are shown by somebody else, from where they are kept.
    enum class Lines : uint8_t { shown, hidden };
    Lines lines = Lines::shown;
  };

  Console(const std::vector<std::string>& names, const Options& options);

  void line(size_t task, Stream stream, std::string_view text);
  // A line of the launcher itself, on standard error.
  void note(std::string_view text);
  // As it is, on standard output: the report.
  void text(std::string_view text);
  // Stands below everything else until the next call; empty: none. Only a terminal shows it.
  void set_progress(std::string text) { progress_ = std::move(text); }
  bool shows_progress() const { return err_is_terminal_; }

  void flush();
  // From now on a reader that does not read is given a moment only.
  void hurry() { patience_milliseconds_ = 200; }
  // Nobody reads the tasks' lines any more, which are to be shown on standard output.
  bool is_deserted() const { return lines_ == Options::Lines::shown && out_.deserted; }

 private:
  struct Output {
    int number;
    std::string pending = {};
    bool deserted = false;
  };

  Output& of(Stream stream);
  void append(Output& output, const std::string& prefix, std::string_view text);
  void write(Output& output);

  const int signals_;
  const Options::Lines lines_;
  const bool same_place_;
  const bool err_is_terminal_;
  std::vector<std::string> prefixes_;  // of the tasks, then the launcher's
  int patience_milliseconds_ = -1;
  Output out_;
  Output err_;
  std::string progress_;
  std::string shown_progress_;
};

}  // namespace millrace
