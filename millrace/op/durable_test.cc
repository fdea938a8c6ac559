#include "millrace/op/durable.h"

#include <doctest/doctest.h>

#include "millrace/op/found_by_name.h"

namespace millrace {
namespace {

TEST_CASE("a node asks to last by an attribute, and says so with true or false") {
  CHECK_FALSE(*asks_to_last("VariableV2", {}));
  CHECK_FALSE(*asks_to_last("VariableV2", {{"_durable", false}}));
  CHECK(*asks_to_last("VariableV2", {{"_durable", true}}));
  CHECK(asks_to_last("VariableV2", {{"_durable", "yes"}}).status() ==
        invalid("_durable is \"yes\", and has to be true or false"));
}

TEST_CASE("variables and queues can last, and nothing else that asks is passed over in silence") {
  for (const char* op : {"Variable", "VariableV2", "VarHandleOp", "FIFOQueue", "PriorityQueueV2"})
    CHECK(can_be_durable(op));
  for (const char* op : {"FakeQueue", "HashTableV2", "Barrier", "ReadVariableOp"})
    CHECK_FALSE(can_be_durable(op));
  CHECK_FALSE(*asks_to_last("HashTableV2", {{"_durable", false}}));
  CHECK(asks_to_last("HashTableV2", {{"_durable", true}}).status() ==
        unimplemented("a HashTableV2 can't be kept (_durable): only variables and queues can be "
                      "durable"));
}

TEST_CASE(
    "programs find variables, queues and accumulators of others by name, and no data of theirs") {
  for (const char* op : {"VarHandleOp", "FIFOQueueV2", "ConditionalAccumulator",
                         "ResourceConditionalAccumulator", "SparseConditionalAccumulator"})
    CHECK(is_found_by_name(op));
  for (const char* op : {"IteratorV2", "TFRecordReaderV2", "HashTableV2", "ReadVariableOp"})
    CHECK_FALSE(is_found_by_name(op));
}

TEST_CASE("what a task keeps has two words") {
  CHECK(keep_of("all") == Keep::all);
  CHECK(keep_of("asked") == Keep::asked);
  CHECK_FALSE(keep_of("").has_value());
  CHECK_FALSE(keep_of("some").has_value());
}

}  // namespace
}  // namespace millrace
