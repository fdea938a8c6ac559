#include "millrace/launch/local_descriptors.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace millrace {

Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return error(Code::resource_exhausted, "no pipe can be made: ", std::strerror(errno));
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

void never_block(const Descriptor& descriptor) {
  fcntl(descriptor.number(), F_SETFL, fcntl(descriptor.number(), F_GETFL) | O_NONBLOCK);
}

void leave_terminal() {
  setsid();
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, number);
  if (nothing > STDERR_FILENO) close(nothing);
}

void close_all_but(std::vector<int> kept) {
  std::ranges::sort(kept);
  unsigned first = STDERR_FILENO + 1;
  for (const int number : kept) {
    if (number < static_cast<int>(first)) continue;
    if (static_cast<unsigned>(number) > first)
      close_range(first, static_cast<unsigned>(number) - 1, 0);
    first = static_cast<unsigned>(number) + 1;
  }
  close_range(first, ~0U, 0);
}

rlimit raise_descriptor_limit() {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit raised = before;
  raised.rlim_cur = before.rlim_max;
  setrlimit(RLIMIT_NOFILE, &raised);
  return before;
}

}  // namespace millrace
