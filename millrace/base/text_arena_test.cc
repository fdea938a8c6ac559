#include "millrace/base/text_arena.h"

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace millrace {
namespace {

std::string text_of(size_t i) { return std::string(i % 50 + 1, static_cast<char>('a' + i % 26)); }

TEST_CASE("texts of any length stay what and where they are") {
  TextArena arena;
  std::vector<std::string_view> kept;
  for (size_t i = 0; i < 10'000; ++i) kept.push_back(arena.add(text_of(i)));
  const std::string huge(100'000, 'x');
  const std::string_view kept_huge = arena.add(huge);
  CHECK(arena.add("").empty());
  for (size_t i = 0; i < kept.size(); ++i) REQUIRE(kept[i] == text_of(i));
  CHECK(kept_huge == huge);
}

TEST_CASE("the room of texts that are taken back is used again") {
  TextArena arena;
  std::vector<std::string_view> kept;
  for (size_t i = 0; i < 1000; ++i) kept.push_back(arena.add(text_of(i)));
  for (const size_t size : {999, 500, 3}) {
    arena.take_back_from(kept[size]);
    for (size_t i = 0; i < size; ++i) REQUIRE(kept[i] == text_of(i));
    kept.resize(size);
    const std::string_view next = arena.add("next");
    CHECK(next == "next");
    for (size_t i = 0; i < size; ++i) REQUIRE(kept[i] == text_of(i));
    arena.take_back_from(next);
  }
  arena.take_back_from(kept[0]);
  CHECK(arena.add("first").data() == kept[0].data());
}

TEST_CASE("texts that come and go need no more room than those that are there") {
  TextArena arena;
  const std::string_view first = arena.add("first");
  const char* place = nullptr;
  for (int i = 0; i < 1000; ++i) {
    const std::string_view text = arena.add("another");
    if (place != nullptr) REQUIRE(text.data() == place);
    place = text.data();
    arena.take_back_from(text);
  }
  CHECK(first == "first");
}

}  // namespace
}  // namespace millrace
