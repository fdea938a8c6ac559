#include "millrace/launch/local_company.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "millrace/launch/descriptor.h"

namespace millrace {
namespace {

constexpr int kCanNotRun = 126;

}  // namespace

Result<pid_t> start_detached(std::vector<std::string> words, int output) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const Descriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!nothing.is_open()) return error(Code::resource_exhausted, "/dev/null: ", strerror(errno));
  const pid_t pid = fork();
  if (pid < 0) return error(Code::resource_exhausted, "no process: ", strerror(errno));
  if (pid > 0) return pid;
  setsid();
  dup2(nothing.number(), STDIN_FILENO);
  for (int number : {STDOUT_FILENO, STDERR_FILENO})
    dup2(output < 0 ? nothing.number() : output, number);
  close_range(STDERR_FILENO + 1, ~0U, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(number, SIG_DFL);
  execv(argv[0], argv.data());
  _exit(kCanNotRun);
}

}  // namespace millrace
