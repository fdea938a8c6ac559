#include "millrace/transport/sockets/free_descriptors.h"

#include <sys/resource.h>

#include <doctest/doctest.h>

namespace millrace {
namespace {

TEST_CASE("a process with enough descriptors may go on, and one without is told what to do") {
  CHECK(need_descriptors(16).ok());
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  MESSAGE(
      "the rest is left out: a sanitizer looks at memory through pipes, and finds what is not "
      "true without descriptors; build without one");
  return;
#endif
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit few = before;
  few.rlim_cur = 8;
  setrlimit(RLIMIT_NOFILE, &few);
  const Status status = need_descriptors(16);
  setrlimit(RLIMIT_NOFILE, &before);
  CHECK(status.code() == Code::resource_exhausted);
  CHECK(status.message().find("a server needs 16") != std::string::npos);
  CHECK(status.message().find("ulimit -n") != std::string::npos);
}

}  // namespace
}  // namespace millrace
