// A process of the benchmark's own that serves: started from a command line, killed at the end.
#pragma once

#include <string>
#include <vector>

namespace millrace::bench {

class ChildProcess {
 public:
  // Starts `argv` and waits for its first line of output. Aborts the benchmark if there is none.
  explicit ChildProcess(std::vector<std::string> argv);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  const std::string& first_line() const { return first_line_; }
  int pid() const { return pid_; }

 private:
  int pid_ = -1;
  int output_ = -1;
  std::string first_line_;
};

// The program that is running, to start itself again in another role.
std::string own_path();
// Resident memory of a process in MB.
double resident_megabytes(int pid);

}  // namespace millrace::bench
