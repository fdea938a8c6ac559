#include "millrace/base/flush_denormals.h"

#include <optional>
#include <thread>

#include <doctest/doctest.h>

#include "millrace/base/thread_pool.h"

namespace millrace {
namespace {

// Computed where it is called, whatever the compiler knows.
float halved(float number) {
  volatile float operand = number;
  return operand * 0.5f;
}

constexpr float kSmall = 1.5e-38f;  // its half is a denormal

TEST_CASE("small numbers are zero on this thread alone, and while it is asked for") {
  CHECK(halved(kSmall) > 0);
  {
    const FlushDenormals flush;
    CHECK(halved(kSmall) == 0);
    float other = 0;
    std::thread([&other] {
      const FlushDenormals inner;
      other = halved(1);
    }).join();
    CHECK(other == 0.5f);
    {
      const FlushDenormals again;
      CHECK(halved(kSmall) == 0);
    }
    CHECK(halved(kSmall) == 0);
  }
  CHECK(halved(kSmall) > 0);
}

TEST_CASE("threads of a pool work so") {
  std::optional<float> found;
  {
    ThreadPool pool(1);
    pool.post([&found] { found = halved(kSmall); });
  }
  CHECK(found == 0.0f);
}

}  // namespace
}  // namespace millrace
