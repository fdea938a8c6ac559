// Explains to the thread sanitizer what happens inside gRPC. Private to this room; nothing in a
// build without the sanitizer.
//
// gRPC is not built with it. So the sanitizer sees neither gRPC's locks nor that what was given to
// it on one thread only comes back on another afterwards, and takes every such passage for a race;
// a real one would drown among them.
#pragma once

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>

extern "C" {  // in the sanitizer's library, but in no header of gcc
void __tsan_ignore_thread_begin();
void __tsan_ignore_thread_end();
}
#endif

namespace millrace::transport {

// Before `what` is given to gRPC: who takes it over sees all that this thread has done so far.
inline void hand_over([[maybe_unused]] void* what) {
#if defined(__SANITIZE_THREAD__)
  __tsan_release(what);
#endif
}

// After gRPC gave `what` back, before it is touched.
inline void take_over([[maybe_unused]] void* what) {
#if defined(__SANITIZE_THREAD__)
  __tsan_acquire(what);
#endif
}

// While it lives, what this thread reads, writes and allocates is gRPC's business. Parts of it are
// templates that only look like ours: a program has one copy of each, and that is the program's.
class InsideGrpc {
 public:
#if defined(__SANITIZE_THREAD__)
  InsideGrpc() { __tsan_ignore_thread_begin(); }
  ~InsideGrpc() { __tsan_ignore_thread_end(); }
#else
  InsideGrpc() {}
  ~InsideGrpc() {}
#endif
  InsideGrpc(const InsideGrpc&) = delete;
  InsideGrpc& operator=(const InsideGrpc&) = delete;
};

}  // namespace millrace::transport
