#include "millrace/base/start_thread.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>

namespace millrace {

namespace {

bool has_few_addresses() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

// glibc's malloc reserves 64 MB of addresses for each thread that allocates. A process that may
// have few of them (ulimit -v) needs them for messages and tensors, for lack of which gRPC would
// end it.
bool spare_addresses() {
#ifdef __GLIBC__
  if (has_few_addresses()) return mallopt(M_ARENA_MAX, 1) == 1;
#endif
  return false;
}

// Addresses kept free beside a new thread's stack, for what it allocates in its first steps. Where
// only the stack fits, its first wait for a mutex would end the process, since Abseil takes pages
// for it and can't go on without them.
class Room {
 public:
  Room() : pages_(::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ~Room() {
    if (is_there()) ::munmap(pages_, kBytes);
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  bool is_there() const { return pages_ != MAP_FAILED; }

 private:
  static constexpr size_t kBytes = 1 << 20;
  void* const pages_;
};

Status cant_start(std::string_view name, std::string_view problem) {
  return error(Code::resource_exhausted, "can't start the thread '", name, "': ", problem,
               "; look at the limits of processes and of memory (ulimit -u, ulimit -v, and those "
               "of the container)");
}

}  // namespace

Result<std::thread> start_thread(std::string name, absl::AnyInvocable<void()> body) {
  [[maybe_unused]] static const bool is_sparing = spare_addresses();
  name.resize(std::min<size_t>(name.size(), 15));
  std::unique_ptr<Room> room;
  if (has_few_addresses()) {
    room = std::make_unique<Room>();
    if (!room->is_there()) return cant_start(name, "no addresses are left for what it allocates");
  }
  try {
    return std::thread([name, body = std::move(body), room = std::move(room)]() mutable {
      room.reset();
      pthread_setname_np(pthread_self(), name.c_str());
      body();
    });
  } catch (const std::exception& problem) {
    return cant_start(name, problem.what());
  }
}

}  // namespace millrace
