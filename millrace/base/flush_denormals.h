// FlushDenormals: while one lives, its thread computes with 0 for numbers that are too small to be
// normal (below 1.2e-38 for floats), as operands and as results.
//
// Most processors take a hundred times as long for those, and exponentials and gradients that
// vanish are full of them. TensorFlow's kernels compute so, too, which is why values agree.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace millrace {

class FlushDenormals {
 public:
  FlushDenormals() : before_(control()) {
    if (!was_so()) set_control(before_ | kFlushing);
  }
  // The thread is as it was, exceptions that it had noted included.
  ~FlushDenormals() {
    if (!was_so()) set_control(before_);
  }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__x86_64__)
  using Word = uint32_t;
  static constexpr Word kFlushing = 0x8040;  // results (FTZ), operands (DAZ)
  static Word control() { return _mm_getcsr(); }
  static void set_control(Word word) { _mm_setcsr(word); }
#elif defined(__aarch64__)
  using Word = uint64_t;
  static constexpr Word kFlushing = Word{1} << 24;  // FZ: both
  static Word control() {
    Word word;
    asm volatile("mrs %0, fpcr" : "=r"(word));
    return word;
  }
  static void set_control(Word word) { asm volatile("msr fpcr, %0" : : "r"(word)); }
#else
  using Word = uint32_t;
  static constexpr Word kFlushing = 0;
  static Word control() { return 0; }
  static void set_control(Word) {}
#endif

  bool was_so() const { return (before_ & kFlushing) == kFlushing; }

  const Word before_;
};

}  // namespace millrace
