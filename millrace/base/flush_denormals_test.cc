#include "millrace/base/flush_denormals.h"

#include <limits>

#include <doctest/doctest.h>

#include "millrace/base/thread_pool.h"

namespace millrace {
namespace {

// Memory that the compiler may not look through, so that it computes where it is told to.
bool halves_to_nothing() {
  const volatile float least = std::numeric_limits<float>::min();
  const volatile float half = least * 0.5f;
  const volatile float whole = half * 0x1p+30f;  // a number again if the half was one
  return whole == 0.0f;
}

TEST_CASE("numbers too small to be normal are nothing for as long as it is asked for") {
  CHECK_FALSE(halves_to_nothing());
  {
    const FlushDenormals outer;
    CHECK(halves_to_nothing());
    { const FlushDenormals inner; }
    CHECK(halves_to_nothing());
  }
  CHECK_FALSE(halves_to_nothing());
}

TEST_CASE("a number too small to be normal counts as nothing where it comes in") {
  const volatile float tiny = std::numeric_limits<float>::denorm_min();
  const FlushDenormals flush;
  const volatile float scaled = tiny * 0x1p+100f;
  CHECK(scaled == 0.0f);
}

TEST_CASE("threads of a pool take what is too small to be normal for nothing") {
  bool is_nothing = false;
  {
    ThreadPool pool(1);
    pool.post([&] { is_nothing = halves_to_nothing(); });
  }
  CHECK(is_nothing);
}

}  // namespace
}  // namespace millrace
