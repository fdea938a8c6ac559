// Graphs that grow: a program adds a node to a large graph and runs it, a thousand times, in one
// process. What an extension costs must be told by what it adds, not by what is there.
#include <cmath>
#include <numeric>
#include <string>

#include "bench/harness.h"
#include "bench/must.h"
#include "bench/program_layers.h"

namespace millrace::bench {
namespace {

constexpr int kExtensions = 1000;

// Seconds for all extensions of a graph of so many nodes, each with a run of the new node, and for
// the one in the middle: now and then a list of nodes grows out of its place and is moved.
struct Growth {
  double all = 0, one = 0;
};

Growth grow(const std::shared_ptr<Runtime>& runtime, int nodes) {
  GraphBuilder builder(runtime->ops());
  const std::vector<Output> made = layers(builder, nodes);
  const auto session = must(Session::create("", {}, runtime));
  must(session->extend(builder));
  must(session->run({}, {made[0].name()}));
  Samples each;
  for (int i = 0; i < kExtensions; ++i) {
    each.values.push_back(seconds([&] {
      const Output added(builder.root().add("Neg", {made[static_cast<size_t>(i % 100)]}, {}), 0);
      must(session->extend(builder));
      must(session->run({}, {added.name()}));
    }));
  }
  return {std::accumulate(each.values.begin(), each.values.end(), 0.0), each.median()};
}

}  // namespace
}  // namespace millrace::bench

int main() {
  using namespace millrace;         // NOLINT(google-build-using-namespace): a program, not a header
  using namespace millrace::bench;  // NOLINT(google-build-using-namespace)
  const auto runtime = Runtime::create();
  double smallest = 0;
  for (const int nodes : {1000, 10000, 100000}) {
    Samples all, one;
    for (Rounds rounds(3); rounds.next();) {
      const Growth growth = grow(runtime, nodes);
      if (!rounds.is_counted()) continue;
      all.values.push_back(growth.all);
      one.values.push_back(growth.one);
    }
    Figure figure{
        .name = "1,000 times a node more in a graph of " + std::to_string(nodes) + " and run it",
        .unit = "s",
        .samples = all};
    if (nodes == 100000) figure.goal = 3;
    report(figure);
    if (smallest == 0) smallest = one.median();
    if (nodes < 100000) continue;
    // Time ~ nodes^exponent.
    report({.name = "a node more, growth exponent from 1,000 to 100,000 nodes",
            .unit = "",
            .samples = {{std::log10(one.median() / smallest) / 2}},
            .goal = 0.2});
  }
}
