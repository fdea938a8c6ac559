// What a node of a large graph costs in memory when a C++ program holds all of its outputs.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/child_process.h"
#include "bench/harness.h"
#include "bench/program_layers.h"

namespace millrace::bench {
namespace {

constexpr int kNodes = 200000;

struct Held {
  explicit Held(const OpRegistry& ops) : builder(ops) {}
  GraphBuilder builder;
  std::vector<Output> outputs;
};

void add_constants(Held& held, int count) {
  held.outputs.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) held.outputs.push_back(constant(held.builder.root(), 1.0f));
}

void add_additions(Held& held, int count) { held.outputs = layers(held.builder, count); }

// What the graph grows a process by: one of its own, so that it isn't made in memory that others
// left.
template <class Add>
void measure(const std::string& name, Add add) {
  const pid_t child = fork();
  if (child != 0) {
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) std::exit(2);
    return;
  }
  const auto runtime = Runtime::create();
  Held small(runtime->ops());
  add(small, kLayerWidth + 1);  // what is made once
  const double before = resident_megabytes(getpid());
  Held large(runtime->ops());
  add(large, kNodes);
  const double bytes = (resident_megabytes(getpid()) - before) * 1e6;
  report({.name = "a node of " + std::to_string(kNodes) + " " + name + ", all outputs held, C++",
          .unit = "B",
          .samples = {{bytes / kNodes}}});
  std::fflush(stdout);
  _exit(0);
}

}  // namespace
}  // namespace millrace::bench

int main() {
  millrace::bench::measure("additions", millrace::bench::add_additions);
  millrace::bench::measure("constants", millrace::bench::add_constants);
}
