#include "millrace/transport/grpc/receive_memory.h"

#include <malloc.h>

#include <cstdlib>

namespace millrace::transport {

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

}  // namespace millrace::transport
