#include "millrace/plan/late_reads.h"

#include "doctest/doctest.h"

#include "millrace/graph/testing/test_ops.h"
#include "millrace/graph/validate.h"
#include "millrace/plan/testing/text_case.h"

namespace millrace {
namespace {

std::string run_late_reads(const testing::TextCase& text_case) {
  StepGraph step{testing::graph_of(testing::with_full_names(text_case.input)), {}, {}, {}};
  const FanOut fan_out(step.graph);
  for (const Node& node : step.graph.nodes()) {
    if (fan_out.of(node.id).empty()) step.roots.push_back(node.id);
  }
  const Status status = read_late(step);
  if (!status.ok()) return status.to_string();
  CHECK(validate(step.graph).ok());
  return testing::with_short_names(to_text(step.graph));
}

TEST_CASE("who comes after a write to a variable reads it after that write") {
  testing::run_text_cases("late_reads.txt", run_late_reads);
}

}  // namespace
}  // namespace millrace
