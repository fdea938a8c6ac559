// FlushDenormals: on this thread, for as long as it lives, numbers too small for the usual form
// (denormals, below about 1e-38 for a float) count as zero and come out as zero.
//
// Processors take a hundred times as long over such numbers, and a model that has learned its task
// is full of them: its gradients fade towards zero. TensorFlow's threads do the same, so results
// are TensorFlow's too. Nothing happens on processors that are not known here.
#pragma once

#include <cstdint>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace millrace {

class FlushDenormals {
 public:
  FlushDenormals() : before_(flags()) {
    if ((before_ & kFlush) != kFlush) set_flags(before_ | kFlush);
  }
  ~FlushDenormals() {
    if ((before_ & kFlush) != kFlush) set_flags((flags() & ~kFlush) | (before_ & kFlush));
  }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__SSE__)
  using Flags = uint32_t;
  static constexpr Flags kFlush = 0x8040;  // results, and operands
  static Flags flags() { return _mm_getcsr(); }
  static void set_flags(Flags flags) { _mm_setcsr(flags); }
#elif defined(__aarch64__)
  using Flags = uint64_t;
  static constexpr Flags kFlush = 1 << 24;
  static Flags flags() {
    Flags flags = 0;
    asm volatile("mrs %0, fpcr" : "=r"(flags));
    return flags;
  }
  static void set_flags(Flags flags) { asm volatile("msr fpcr, %0" : : "r"(flags)); }
#else
  using Flags = uint32_t;
  static constexpr Flags kFlush = 0;
  static Flags flags() { return 0; }
  static void set_flags(Flags) {}
#endif

  const Flags before_;
};

}  // namespace millrace
