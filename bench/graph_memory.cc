// What a node of a large graph costs in memory when a C++ program holds all of its outputs.
#include <unistd.h>

#include <string>
#include <vector>

#include "bench/child_process.h"
#include "bench/harness.h"

#include "millrace/millrace.h"

namespace millrace::bench {
namespace {

constexpr int kNodes = 200000, kWidth = 100;

struct Held {
  explicit Held(const OpRegistry& ops) : builder(ops) {}
  GraphBuilder builder;
  std::vector<Output> outputs;
};

void add_constants(Held& held, int count) {
  const Scope root = held.builder.root();
  for (int i = 0; i < count; ++i) held.outputs.push_back(constant(root, 1.0f));
}

// Layers, a hundred wide.
void add_additions(Held& held, int count) {
  add_constants(held, kWidth);
  const Scope root = held.builder.root();
  auto& made = held.outputs;
  for (size_t i = kWidth; i < static_cast<size_t>(count); ++i)
    made.emplace_back(root.add("AddV2", {made[i - kWidth], made[i - 1]}, {}), 0);
}

// What the graph grows the process by. The graphs stay: none is made in the memory of another.
template <class Add>
void measure(const std::string& name, const OpRegistry& ops, std::vector<Held>& graphs, Add add) {
  Held& held = graphs.emplace_back(ops);
  add(held, kWidth + 1);  // what is made once
  const double before = resident_megabytes(getpid());
  Held& large = graphs.emplace_back(ops);
  add(large, kNodes);
  const double bytes = (resident_megabytes(getpid()) - before) * 1e6;
  report({.name = "a node of " + std::to_string(kNodes) + " " + name + ", all outputs held, C++",
          .unit = "B",
          .samples = {{bytes / kNodes}}});
}

}  // namespace
}  // namespace millrace::bench

int main() {
  using namespace millrace;         // NOLINT(google-build-using-namespace): a program, not a header
  using namespace millrace::bench;  // NOLINT(google-build-using-namespace)
  const auto runtime = Runtime::create();
  std::vector<Held> graphs;
  graphs.reserve(4);
  measure("additions", runtime->ops(), graphs, add_additions);
  measure("constants", runtime->ops(), graphs, add_constants);
}
