// Programs of this machine that are asked something: started, heard to their end or line by line.
// No shell takes part. Who waits does so in a time limit. Single-threaded.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/base/result.h"
#include "millrace/launch/descriptor.h"
#include "millrace/launch/line_splitter.h"

namespace millrace {

struct CommandOutput {
  int code = 0;  // 128 and its number for a signal
  std::string out = {};
  std::string err = {};
};

// No answer is longer; the program is ended then.
inline constexpr size_t kLongestAnswer = size_t{256} << 20;

// Runs the program with `input` as its standard input, to its end; kills it if it closes its output
// and does not end soon after that. Errors: NOT_FOUND if there is no such program on the PATH;
// DEADLINE_EXCEEDED when it took longer, and was killed; RESOURCE_EXHAUSTED for too long an answer,
// or no process.
Result<CommandOutput> run_command(const std::vector<std::string>& argv, std::string_view input,
                                  Clock::Duration time_limit, const Clock& clock);

// A program that goes on: its lines come as it writes them. Killed when destroyed.
class RunningCommand {
 public:
  // Whether what it writes to standard error comes, too.
  enum class Errors { dropped, heard };
  static Result<RunningCommand> start(const std::vector<std::string>& argv,
                                      Errors errors = Errors::dropped);

  RunningCommand(RunningCommand&& other) noexcept;
  RunningCommand& operator=(RunningCommand&&) = delete;
  ~RunningCommand();

  // Readable when there is something to read, or the program has closed its output; -1 after that.
  int descriptor() const { return out_.number(); }
  // Passes on the lines that are there, without waiting. False once the output is over.
  bool read(const std::function<void(std::string_view line)>& sink);
  // The exit code, after the output is over; kills a program that does not end soon after that.
  int wait();

 private:
  RunningCommand(pid_t pid, Descriptor out) : pid_(pid), out_(std::move(out)) {}

  pid_t pid_;  // 0 once reaped
  Descriptor out_;
  LineSplitter lines_;
};

// A program that is told and tells bytes, as many as there are: its input and output are written
// and read as they come. Killed when destroyed. Ignores the end of a reader while it lives.
class PipedCommand {
 public:
  static Result<std::unique_ptr<PipedCommand>> start(const std::vector<std::string>& argv);

  PipedCommand(const PipedCommand&) = delete;
  PipedCommand& operator=(const PipedCommand&) = delete;
  ~PipedCommand();

  // All of it. Errors: DEADLINE_EXCEEDED if nothing moves for so long; UNAVAILABLE if the program
  // reads no more.
  Status write(std::string_view bytes, Clock::Duration patience, const Clock& clock);
  void close_input();
  // What has come, at least a byte; nothing at the end. Errors: DEADLINE_EXCEEDED.
  Result<std::string> read(Clock::Duration patience, const Clock& clock);
  // After that: its exit code, and what it wrote to standard error, of which the last 64 KiB are
  // kept.
  CommandOutput finish();

 private:
  struct Ends;
  PipedCommand(pid_t pid, std::unique_ptr<Ends> ends);
  // False if nothing moves for so long. Takes what is said on standard error.
  bool await(const Descriptor& end, short events, Clock::Duration patience, const Clock& clock);

  pid_t pid_;  // 0 once reaped
  std::unique_ptr<Ends> ends_;
};

}  // namespace millrace
