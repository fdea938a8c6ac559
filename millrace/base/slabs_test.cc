#include "millrace/base/slabs.h"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

namespace millrace {
namespace {

using Small = Slabs<std::string, 8>;

Small counted(size_t count) {
  Small made;
  for (size_t i = 0; i < count; ++i) made.push_back(std::to_string(i));
  return made;
}

bool counts_to(const Small& slabs, size_t count) {
  if (slabs.size() != count || slabs.empty() != (count == 0)) return false;
  for (size_t i = 0; i < count; ++i)
    if (slabs[i] != std::to_string(i)) return false;
  size_t next = 0;
  return std::ranges::all_of(
             slabs.view(),
             [&](const std::string& text) { return text == std::to_string(next++); }) &&
         next == count;
}

TEST_CASE("elements are found where they were put, whatever piece they are in") {
  for (const size_t count : {0, 1, 5, 7, 8, 9, 16, 17, 100})
    CHECK(counts_to(counted(count), count));
}

TEST_CASE("elements behind the first piece stay where they are") {
  Small slabs = counted(9);
  const std::string* first = &slabs[0];
  const std::string* ninth = &slabs[8];
  for (int i = 0; i < 1000; ++i) slabs.push_back("more");
  CHECK(&slabs[0] == first);
  CHECK(&slabs[8] == ninth);
}

TEST_CASE("what is dropped at the end can be added again") {
  for (const size_t kept : {0, 3, 8, 9, 16, 19}) {
    Small slabs = counted(20);
    slabs.truncate(kept);
    CHECK(counts_to(slabs, kept));
    for (size_t i = kept; i < 30; ++i) slabs.push_back(std::to_string(i));
    CHECK(counts_to(slabs, 30));
    slabs.truncate(31);
    CHECK(counts_to(slabs, 30));
  }
}

TEST_CASE("a copy grows on its own, and what was moved is empty") {
  for (const size_t count : {3, 8, 13}) {
    Small slabs = counted(count);
    Small copy = slabs;
    for (size_t i = count; i < 20; ++i) copy.push_back(std::to_string(i));
    CHECK(counts_to(slabs, count));
    CHECK(counts_to(copy, 20));
    const Small moved = std::move(copy);
    CHECK(counts_to(moved, 20));
    CHECK(counts_to(copy, 0));  // NOLINT(bugprone-use-after-move): that is the point
  }
}

TEST_CASE("room that was made is used, and holds nothing yet") {
  Small slabs;
  slabs.reserve(6);
  CHECK(counts_to(slabs, 0));
  slabs.push_back("0");
  const std::string* first = &slabs[0];
  for (size_t i = 1; i < 6; ++i) slabs.push_back(std::to_string(i));
  CHECK(&slabs[0] == first);
  CHECK(counts_to(slabs, 6));
}

TEST_CASE("a view begins where one says") {
  const Small slabs = counted(20);
  const auto rest = slabs.view().subspan(5).subspan(5);
  CHECK(rest.size() == 10);
  CHECK(rest[0] == "10");
  CHECK(*rest.begin() == "10");
  CHECK(rest.begin()->size() == 2);
  CHECK(slabs.view().subspan(20).empty());
}

}  // namespace
}  // namespace millrace
