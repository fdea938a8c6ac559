// Which tasks of a cluster are absent, as a text.
#include "millrace/cluster/roster.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

TEST_CASE("a roster is read as it was written") {
  const AbsentTasks absent = {{"map:2", "127.0.0.1:40123"}, {"map:10", "[::1]:7"}};
  CHECK(to_roster(absent) == "map:10 [::1]:7\nmap:2 127.0.0.1:40123\n");
  CHECK(parse_roster(to_roster(absent)) == absent);
  CHECK(parse_roster("").empty());
}

TEST_CASE("lines of a roster that make no sense say nothing") {
  CHECK(parse_roster("\nmap:2\n :3\nmap:4 \n x\nmap:5 a:1") == AbsentTasks{{"map:5", "a:1"}});
}

}  // namespace
}  // namespace millrace
