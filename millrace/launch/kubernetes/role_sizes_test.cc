#include "millrace/launch/kubernetes/role_sizes.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

TEST_CASE("sizes of a role are read as they were written") {
  const auto sizes = parse_sizes("2 4@1769860805 1@1769860900");
  REQUIRE(sizes);
  REQUIRE(sizes->size() == 3);
  CHECK((*sizes)[0].count == 2);
  CHECK((*sizes)[1].since == 1769860805);
  CHECK(to_text(*sizes) == "2 4@1769860805 1@1769860900");
}

TEST_CASE("a role that is scaled for ever keeps its first size and the last ones") {
  std::vector<RoleSize> sizes = {{.count = 2}};
  for (int i = 1; i <= 1000; ++i) sizes = with_size(sizes, {.count = 1 + i % 7, .since = i});
  CHECK(sizes.size() == 100);
  CHECK(sizes[0].count == 2);
  CHECK(sizes.back().since == 1000);
  CHECK(parse_sizes(to_text(sizes)));
}

TEST_CASE("what are no sizes and no bounds are none") {
  for (const char* text : {"", "0", "two", "2@", "2@x", "2  4", "99999999999", "-1", "2@5@6"})
    CHECK_MESSAGE(!parse_sizes(text), text);
  for (const char* text : {"", "1", "1-", "-1", "3-2", "0-2", "1-2-3", "1-99999"})
    CHECK_MESSAGE(!parse_bounds(text), text);
  CHECK(parse_bounds("1-8")->most == 8);
}

}  // namespace
}  // namespace millrace
