// What a step costs in one process, through the whole path: callable, master, worker, executor,
// back.
#include <cstdlib>

#include "bench/harness.h"
#include "bench/must.h"

#include "millrace/millrace.h"

namespace millrace::bench {
namespace {

constexpr int kRounds = 9;
constexpr int kSteps = 100000;

void fetch_a_constant(const std::shared_ptr<Runtime>& runtime) {
  GraphBuilder builder(runtime->ops());
  const Operation constant =
      builder.root().add("Const", {}, {{"value", Tensor::scalar(3.0f)}, {"dtype", DType::f32}});
  const auto session = must(Session::create("", {}, runtime));
  must(session->extend(builder));
  const Callable fetch = must(session->make_callable({}, {constant.name() + ":0"}));
  // The floor: what the caller gets in the end, a vector of one tensor.
  const Tensor value = Tensor::scalar(3.0f);
  const Pair pair = time_in_turn(
      kRounds, kSteps, [&] { must(fetch().status()); },
      [&] {
        std::vector<Tensor> made{value};
        asm volatile("" : : "r"(made.data()) : "memory");
      });
  report({.name = "in-process step that fetches a constant, C++ callable",
          .unit = "us",
          .samples = scaled(pair.ours, 1e6),
          .goal = 1,
          .baseline_name = "a vector of one tensor",
          .baseline = scaled(pair.baseline, 1e6)});
}

void feed_and_fetch(const std::shared_ptr<Runtime>& runtime, int count) {
  GraphBuilder builder(runtime->ops());
  std::vector<std::string> feeds, fetches;
  std::vector<Tensor> values;
  for (int i = 0; i < count; ++i) {
    const Operation in = builder.root().add("Placeholder", {}, {{"dtype", DType::f32}});
    const Operation out = builder.root().add("Identity", {Output(in, 0)}, {});
    feeds.push_back(in.name() + ":0");
    fetches.push_back(out.name() + ":0");
    values.push_back(Tensor::scalar(1.0f));
  }
  const auto session = must(Session::create("", {}, runtime));
  must(session->extend(builder));
  const Callable step = must(session->make_callable(feeds, fetches));
  const Samples samples =
      time_batches(kRounds, kSteps / count, [&] { must(step(values).status()); });
  report({.name = "in-process step, " + std::to_string(count) +
                  " scalar feeds and fetches, C++ callable",
          .unit = "us",
          .samples = scaled(samples, 1e6)});
}

}  // namespace
}  // namespace millrace::bench

int main() {
  const auto runtime = millrace::Runtime::create();
  millrace::bench::fetch_a_constant(runtime);
  for (const int count : {1, 2, 5, 10}) millrace::bench::feed_and_fetch(runtime, count);
}
