#include "bench/child_process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace millrace::bench {
namespace {
[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::exit(1);
}
}  // namespace

ChildProcess::ChildProcess(std::vector<std::string> argv) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) die("pipe");
  pid_ = fork();
  if (pid_ < 0) die("fork");
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(pipe_ends[1], STDOUT_FILENO);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    std::vector<char*> pointers;
    for (std::string& argument : argv) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    execvp(pointers[0], pointers.data());
    std::perror(pointers[0]);
    _exit(127);
  }
  close(pipe_ends[1]);
  output_ = pipe_ends[0];
  char byte;
  while (read(output_, &byte, 1) == 1 && byte != '\n') first_line_ += byte;
  if (first_line_.empty()) die("a benchmark's server said nothing");
}

ChildProcess::~ChildProcess() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  close(output_);
}

std::string own_path() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : std::string();
}

double resident_megabytes(int pid) {
  std::ifstream statm("/proc/" + std::to_string(pid) + "/statm");
  double total_pages = 0, resident_pages = 0;
  statm >> total_pages >> resident_pages;
  return resident_pages * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

}  // namespace millrace::bench
