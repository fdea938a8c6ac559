#include "doctest/doctest.h"

#include "millrace/graph/testing/test_ops.h"
#include "millrace/graph/validate.h"
#include "millrace/plan/fold.h"
#include "millrace/plan/merge_equal.h"
#include "millrace/plan/testing/text_case.h"

namespace millrace {
namespace {

using testing::graph_of;
using testing::TextCase;

// Roots are those that the case names, and else the nodes that nobody consumes.
StepGraph step_of(const TextCase& text_case) {
  StepGraph step{graph_of(testing::with_full_names(text_case.input)), {}, {}, {}};
  for (const std::string& root : text_case.list("roots")) {
    step.roots.push_back(step.graph.find(root)->id);
  }
  const FanOut fan_out(step.graph);
  for (const Node& node : step.graph.nodes()) {
    if (fan_out.of(node.id).empty()) step.roots.push_back(node.id);
  }
  return step;
}

std::string run_pass(const TextCase& text_case) {
  StepGraph step = step_of(text_case);
  FoldOptions options;
  const auto number = [&](const char* name, int64_t fallback) {
    return text_case.has(name) ? std::stoll(text_case.options.at(name)) : fallback;
  };
  options.max_result_bytes = number("bytes", options.max_result_bytes);
  options.max_total_bytes = number("total", options.max_total_bytes);
  const Status status =
      text_case.command == "fold" ? fold_constants(step, options) : merge_equal_nodes(step);
  if (!status.ok()) return status.to_string();
  CHECK(validate(step.graph).ok());
  return testing::with_short_names(to_text(step.graph));
}

TEST_CASE("steps are made smaller without changing what they compute") {
  testing::run_text_cases("optimize.txt", run_pass);
}

TEST_CASE("a step with nothing to gain is left as it is") {
  StepGraph step{graph_of("x = Placeholder(dtype=float)  y = Identity(x)"), {1}, {}, {}};
  const Node* before = &step.graph[0];
  CHECK(fold_constants(step).ok());
  CHECK(merge_equal_nodes(step).ok());
  CHECK(&step.graph[0] == before);
}

}  // namespace
}  // namespace millrace
