#include "millrace/base/start_thread.h"

#include <pthread.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace millrace {

Result<std::thread> start_thread(std::string name, absl::AnyInvocable<void()> body) {
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
