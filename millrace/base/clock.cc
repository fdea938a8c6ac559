#include "millrace/base/clock.h"

namespace millrace {
namespace {

class RealClock final : public Clock {
 public:
  Time now() const override { return std::chrono::steady_clock::now(); }
  int64_t wall_micros() const override {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
};

}  // namespace

const Clock& Clock::real() {
  static const RealClock clock;
  return clock;
}

}  // namespace millrace
