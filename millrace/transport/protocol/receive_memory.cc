#include "millrace/transport/protocol/receive_memory.h"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "millrace/tensor/memory_bound.h"
#include "millrace/transport/protocol/chunks.h"

namespace millrace::transport {
namespace {

// Even a process with no memory left takes small messages: they may be what ends its work.
constexpr size_t kLeast = 4 << 20;

// How much address space is left to this process.
size_t address_space_left() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return MemoryBound::kNone;
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const size_t used = pages * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return used < limit.rlim_cur ? limit.rlim_cur - used : 0;
}

}  // namespace

void keep_receive_memory() {
#ifdef __GLIBC__
  if (std::getenv("MALLOC_TRIM_THRESHOLD_") != nullptr) return;
  // An arena other than the first grows to 64 MB and then a new one is begun: less than that would
  // let go of what is about to be used, more changes nothing.
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  // Setting one threshold stops malloc from adapting the other. This is as far as it would adapt.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
#endif
}

ReceiveLimits receive_limits(size_t memory_left) {
  const size_t all = std::max(memory_left / 2, kLeast);
  const size_t one = std::clamp(memory_left / 3, kLeast, kMaxMessageBytes);
  return {all, static_cast<int>(one)};
}

const ReceiveLimits& receive_limits() {
  static const ReceiveLimits limits = receive_limits(
      std::min(MemoryBound::read("/", MemoryBound::kNone).bytes, address_space_left()));
  return limits;
}

}  // namespace millrace::transport
