// Which instructions loops may use. Millrace is compiled for any x86-64, whose vectors have 16
// bytes; a loop that pays for it is compiled for wider ones as well, and a kernel chooses when it
// is made. Wider vectors change no result of plain arithmetic: no compiler may join a product and a
// sum into one rounding in these loops.
#pragma once

#include <cstdint>

// In front of a function: it may use AVX2. What it calls inline is compiled with it.
#if defined(__x86_64__)
#define MR_AVX2 __attribute__((target("avx2")))
#else
#define MR_AVX2
#endif
// In front of a function that is the body of several, each for other instructions.
#define MR_BODY [[gnu::always_inline]] inline
// Behind the parameters of a lambda that is such a body.
#define MR_LAMBDA_BODY __attribute__((always_inline))

namespace millrace::cpu {

// Each includes those before: avx2 also F16C and FMA, avx512 the groups F, BW, DQ and VL.
enum class Instructions : uint8_t { plain, avx2, avx512 };

// Those of this processor. Any thread.
Instructions instructions();

// The loop that was compiled for AVX2 where the processor has it, else the other.
template <class Loop>
Loop widest(Loop plain, Loop avx2) {
  return instructions() >= Instructions::avx2 ? avx2 : plain;
}

// Calls `body`, compiled for AVX2 where the processor has it: for loops that stand where they are
// needed and have no name.
//
//   in_widest([&]() MR_LAMBDA_BODY {
//     for (int64_t c = 0; c < channels; ++c) sum[c] += row[c];
//   });
namespace internal_instructions {
template <class Body>
MR_AVX2 void call_avx2(const Body& body) {
  body();
}
}  // namespace internal_instructions
template <class Body>
void in_widest(const Body& body) {
  if (instructions() >= Instructions::avx2) {
    internal_instructions::call_avx2(body);
  } else {
    body();
  }
}

}  // namespace millrace::cpu
