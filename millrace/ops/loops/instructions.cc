#include "millrace/ops/loops/instructions.h"

namespace millrace::cpu {
namespace {

Instructions found() {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return Instructions::plain;
  const bool has_groups = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return has_groups ? Instructions::avx512 : Instructions::avx2;
#else
  return Instructions::plain;
#endif
}

}  // namespace

Instructions instructions() {
  static const Instructions kFound = found();
  return kFound;
}

}  // namespace millrace::cpu
