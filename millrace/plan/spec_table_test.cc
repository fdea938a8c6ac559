#include "millrace/plan/spec_table.h"

#include "doctest/doctest.h"

namespace millrace {
namespace {

std::string merged(std::string_view a, std::string_view b, TypeConflict conflict) {
  SpecTable table(conflict);
  const auto id = table.merge(table.parse(a).value(), table.parse(b).value());
  return id.ok() ? table[*id].to_string() : id.status().message();
}

TEST_CASE("what two specifications say adds up") {
  CHECK(merged("/job:ps", "/task:1/cpu:0", TypeConflict::refuse) == "/job:ps/task:1/device:CPU:0");
  CHECK(merged("", "/job:ps", TypeConflict::refuse) == "/job:ps");
  CHECK(merged("/job:ps", "/job:ps/task:1", TypeConflict::clear) == "/job:ps/task:1");
}

TEST_CASE("tasks that differ are an error, types that differ may be given up") {
  CHECK(merged("/job:a", "/job:b", TypeConflict::clear) ==
        "Cannot merge devices with incompatible jobs: '/job:a' and '/job:b'");
  CHECK(merged("/task:1", "/task:2", TypeConflict::clear) ==
        "Cannot merge devices with incompatible tasks: '/task:1' and '/task:2'");
  CHECK(merged("/cpu:0", "/gpu:0", TypeConflict::refuse) ==
        "Cannot merge devices with incompatible types: '/device:CPU:0' and '/device:GPU:0'");
  CHECK(merged("/job:a/cpu:0", "/gpu:0", TypeConflict::clear) == "/job:a");
  CHECK(merged("/cpu:0", "/cpu:1", TypeConflict::clear) == "/device:CPU:*");
}

TEST_CASE("one specification has one number, however it is written") {
  SpecTable table(TypeConflict::refuse);
  CHECK(*table.parse("/job:a/cpu:0") == *table.parse("/job:a/device:CPU:0"));
  CHECK(*table.parse("") == SpecTable::kAnywhere);
  CHECK(*table.parse("/") == SpecTable::kAnywhere);
  CHECK(!table.parse("/nonsense").ok());
}

}  // namespace
}  // namespace millrace
