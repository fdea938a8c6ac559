#include "millrace/graph/names.h"

#include <doctest/doctest.h>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

TEST_CASE("a name has letters, digits and a few signs, and begins with a letter, digit or dot") {
  for (const char* name : {"a", "A9", "9", ".", "a/b", "while/cond/x-1", "a>b", "x_1", "import/."})
    CHECK(is_program_name(name));
  for (const char* name : {"", "-a", "/a", ">a", "a b", "a\\b", "a:0", "^a", "a\n", "ä"})
    CHECK_FALSE(is_program_name(name));
}

TEST_CASE("only the runtime's own names begin with an underscore") {
  CHECK_FALSE(is_program_name("_send"));
  CHECK(check_node_name("_send").ok());
  CHECK(check_node_name("send").ok());
}

TEST_CASE("inside of a name any of its signs may come first") {
  for (const char* text : {"_x", "-", "/", "a", ""}) CHECK(is_name_part(text));
  for (const char* text : {"\\", "a b", "a\n"}) CHECK_FALSE(is_name_part(text));
}

TEST_CASE("what is wrong with a name is said with what is allowed") {
  CHECK(check_node_name("a\\b").message() ==
        "'a\\b' is no name for a node: allowed are letters, digits and _ . - / >, "
        "the first a letter, digit, . or _");
  CHECK(check_node_name("").message() == "a node has no name");
}

TEST_CASE("a name that is taken gets the first free number") {
  NameClaims claims;
  CHECK(claims.claim("x") == "x");
  CHECK(claims.claim("x") == "x_1");
  CHECK(claims.claim("x") == "x_2");
  CHECK(claims.claim("x_2") == "x_2_1");
  CHECK(claims.claim("y_1") == "y_1");
  CHECK(claims.claim("y") == "y");
  CHECK(claims.claim("y") == "y_2");
}

TEST_CASE("names that differ only in case count as equal and keep their letters") {
  NameClaims claims;
  CHECK(claims.claim("Add") == "Add");
  CHECK(claims.claim("add") == "add_1");
  CHECK(claims.claim("ADD") == "ADD_2");
  CHECK(claims.claim("ADD_1") == "ADD_1_1");
}

TEST_CASE("a name that a number made is taken as any other, and only that") {
  NameClaims claims;
  for (const char* made : {"x", "x_1", "x_2", "x_3"}) CHECK(claims.claim("x") == made);
  CHECK(claims.claim("X_1") == "X_1_1");
  CHECK(claims.claim("x_1") == "x_1_2");
  CHECK(claims.claim("x_1_1") == "x_1_1_1");
  CHECK(claims.claim("x_3") == "x_3_1");
  for (const char* other : {"x_4", "x_0", "x_01", "x1", "x_", "x__1", "_1", "x_99999999999", "y_1"})
    CHECK(claims.claim(other) == other);
  CHECK(claims.claim("x") == "x_5");
}

TEST_CASE("a look at the next name takes nothing") {
  NameClaims claims;
  CHECK(claims.peek("x") == "x");
  CHECK(claims.claim("x") == "x");
  CHECK(claims.peek("x") == "x_1");
  CHECK(claims.peek("x") == "x_1");
  CHECK(claims.claim("x") == "x_1");
}

TEST_CASE("a name that somebody has who did not ask is not given away") {
  NameClaims claims;
  const auto is_taken = [](std::string_view name) { return name == "x" || name == "x_2"; };
  CHECK(claims.peek("x", is_taken) == "x_1");
  CHECK(claims.claim("x", is_taken) == "x_1");
  CHECK(claims.claim("x", is_taken) == "x_3");
  CHECK(claims.claim("y", is_taken) == "y");
}

TEST_CASE("a hundred thousand names are all different") {
  NameClaims claims;
  for (int i = 0; i < 100'000; ++i) {
    const std::string name = str_cat("layer_", i % 300, "/unit_", i);
    REQUIRE(claims.claim(name) == name);
  }
}

}  // namespace
}  // namespace millrace
