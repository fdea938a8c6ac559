// What one task writes: read from its two pipes, shown line by line, kept for the reason of its
// end, and copied to its log file. Part of local_run. Single-threaded.
#pragma once

#include <string>

#include "millrace/base/result.h"
#include "millrace/launch/descriptor.h"
#include "millrace/launch/error_lines.h"
#include "millrace/launch/line_splitter.h"
#include "millrace/launch/local_console.h"

namespace millrace {

class TaskOutput {
 public:
  TaskOutput(size_t task, Console& console) : task_(task), console_(&console) {}

  // Errors: UNAVAILABLE with what the system says.
  Status open_log(const std::string& path);

  enum class Pipe { open, ended };
  // Reads what there is, up to one pipe's capacity, so that no task keeps the others waiting.
  Pipe read(int pipe, Stream stream);
  // The last line may lack its end: nothing more comes.
  void finish();

  const ErrorLines& errors() const { return errors_; }

 private:
  void take(std::string_view bytes, Stream stream);
  void copy_to_log(std::string_view bytes);
  LineSplitter& splitter(Stream stream) { return stream == Stream::out ? out_ : err_; }
  LineSplitter::Sink sink(Stream stream);

  const size_t task_;
  Console* const console_;
  LineSplitter out_;
  LineSplitter err_;
  ErrorLines errors_;
  Descriptor log_;
  std::string log_path_;
};

}  // namespace millrace
