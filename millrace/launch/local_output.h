// What one task writes: read from its two pipes, shown line by line, kept for the reason of its
// end, and copied to its log file. Part of local_run. Single-threaded.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "millrace/base/result.h"
#include "millrace/launch/descriptor.h"
#include "millrace/launch/error_lines.h"
#include "millrace/launch/line_splitter.h"
#include "millrace/launch/local_console.h"

namespace millrace {

class TaskOutput {
 public:
  TaskOutput(size_t task, Console& console) : task_(task), console_(&console) {}

  // Lines of standard error that `is_foreign` says yes to are shown and kept like the others, but
  // tell nothing of the task.
  void set_foreign(std::function<bool(std::string_view line)> is_foreign) {
    is_foreign_ = std::move(is_foreign);
  }

  // Errors: UNAVAILABLE with what the system says.
  Status open_log(const std::string& path);

  enum class Pipe { open, ended };
  // Reads what there is, up to one pipe's capacity, so that no task keeps the others waiting.
  Pipe read(int pipe, Stream stream);
  // The last line may lack its end: nothing more comes.
  void finish();

  const ErrorLines& errors() const { return errors_; }
  // The task that the last line since the last call tells of waiting for (peer_lines.h), if any.
  std::optional<std::string> take_waiting() { return std::exchange(waiting_, std::nullopt); }

 private:
  void take(std::string_view bytes, Stream stream);
  // Whole lines where they are not too long, so that those of both streams stay apart.
  void copy_to_log(std::string_view bytes, Stream stream);
  void write_log(std::string_view bytes, Stream stream);
  void write_log(std::string_view bytes);
  std::string& unlogged(Stream stream) { return unlogged_[static_cast<size_t>(stream)]; }
  LineSplitter& splitter(Stream stream) { return stream == Stream::out ? out_ : err_; }
  LineSplitter::Sink sink(Stream stream);

  const size_t task_;
  Console* const console_;
  LineSplitter out_;
  LineSplitter err_;
  std::function<bool(std::string_view line)> is_foreign_;
  ErrorLines errors_;
  std::optional<std::string> waiting_;
  Descriptor log_;
  std::string log_path_;
  std::array<std::string, 2> unlogged_;  // by Stream: the start of a line
  Stream log_stream_ = Stream::out;      // who wrote to the log last
  char log_end_ = '\n';                  // and which byte
};

}  // namespace millrace
