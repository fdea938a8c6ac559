#include "millrace/base/hash.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

// The frame that `name` opens in iteration `iteration` of `parent`, as cross-task loops name it.
uint64_t frame(uint64_t parent, uint64_t iteration, std::string_view name) {
  return combine64(parent, combine64(iteration, murmur64(name)));
}

TEST_CASE("the hash is TensorFlow's") {
  CHECK(murmur64("") == 9328806548029283899u);
  CHECK(murmur64("a") == 2996632905371535868u);
  CHECK(murmur64("while/while_context") == 13831510404854872022u);
  CHECK(murmur64(";0;while/while_context") == 1496156560211570566u);
}

TEST_CASE("the hash agrees with TensorFlow for tails of every length it tests") {
  constexpr uint64_t kSeed = 0xbc9f1d34;
  CHECK(murmur64("", kSeed) == 0x4c61ea3eeda4cb87u);
  CHECK(murmur64("\x62", kSeed) == 0x091309f7ef916c8au);
  CHECK(murmur64("\xc3\x97", kSeed) == 0xa815bcdf1d1af01cu);
  CHECK(murmur64("\xe2\x99\xa5", kSeed) == 0x02167564e4d06430u);
  CHECK(murmur64("\xe1\x80\xb9\x32", kSeed) == 0x8f7ed82ffc21071fu);
}

TEST_CASE("frame ids agree with TensorFlow's executors") {
  CHECK(frame(0, 0, "while/while_context") == 18186195969791715286u);
  const uint64_t outer = frame(0, 0, "outer/while_context");
  CHECK(outer == 16151483404557480959u);
  CHECK(frame(outer, 0, "outer/inner/while_context") == 10647713286725882191u);
  CHECK(frame(outer, 1, "outer/inner/while_context") == 10647713286725883216u);
  CHECK(frame(outer, 2, "outer/inner/while_context") == 10647713286725884237u);
}

}  // namespace
}  // namespace millrace
