#include "millrace/base/random.h"

namespace millrace {

uint64_t SeededRandom::next() {
  MutexLock lock(mutex_);
  for (;;)
    if (const uint64_t number = engine_(); number != 0) return number;
}

std::unique_ptr<Random> make_random() {
  std::random_device device;
  const uint64_t high = device();
  return std::make_unique<SeededRandom>(high << 32 | device());
}

}  // namespace millrace
