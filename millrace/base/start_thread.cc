#include "millrace/base/start_thread.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace millrace {

namespace {

// glibc's malloc reserves 64 MB of addresses for each thread that allocates. A process that may
// have few of them (ulimit -v) needs them for messages and tensors, for lack of which gRPC would
// end it.
bool spare_addresses() {
#ifdef __GLIBC__
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    return mallopt(M_ARENA_MAX, 1) == 1;
#endif
  return false;
}

}  // namespace

Result<std::thread> start_thread(std::string name, absl::AnyInvocable<void()> body) {
  [[maybe_unused]] static const bool is_sparing = spare_addresses();
  name.resize(std::min<size_t>(name.size(), 15));
  try {
    return std::thread([name, body = std::move(body)]() mutable {
      pthread_setname_np(pthread_self(), name.c_str());
      body();
    });
  } catch (const std::exception& problem) {
    return error(Code::resource_exhausted, "can't start the thread '", name, "': ", problem.what(),
                 "; look at the limits of processes and of memory (ulimit -u, ulimit -v, and those "
                 "of the container)");
  }
}

}  // namespace millrace
