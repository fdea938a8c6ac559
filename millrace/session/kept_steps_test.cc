// What a session leaves behind of steps that differ every time, at its master and its worker, which
// are both in this process.
#include <malloc.h>

#include <doctest/doctest.h>

#include "millrace/api/input.h"
#include "millrace/api/ops.h"
#include "millrace/session/session.h"

namespace millrace {
namespace {

constexpr int kNodes = 100;
constexpr int kSteps = kNodes * kNodes;
// By then the session keeps as much as it ever will (MasterOptions::kept_steps).
constexpr int kWarm = 3'000;
// A step that is kept takes several kilobytes.
constexpr size_t kMostPerStep = 100;

size_t bytes_in_use() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

// Pairs of its nodes are fetches that differ.
struct Pairs {
  std::shared_ptr<Runtime> runtime = Runtime::create({.threads = 2});
  std::unique_ptr<Session> session = Session::create("", {}, runtime).value();
  std::string feed;
  std::vector<std::string> nodes;

  Pairs() {
    GraphBuilder builder(runtime->ops());
    const Output in = ops::placeholder(builder.root(), DType::f32);
    feed = in.name();
    for (int i = 0; i < kNodes; ++i)
      nodes.push_back(ops::add(builder.root(), in, static_cast<float>(i)).name());
    REQUIRE(session->extend(builder).ok());
  }
  std::vector<std::string> fetches(int step) const {
    return {nodes[static_cast<size_t>(step / kNodes)], nodes[static_cast<size_t>(step % kNodes)]};
  }
};

// How much memory is in use after all steps that was not after the first ones.
template <class RunStep>
size_t growth(RunStep run_step) {
  size_t warm = 0;
  int failures = 0;
  for (int step = 0; step < kSteps; ++step) {
    if (step == kWarm) warm = bytes_in_use();
    failures += !run_step(step);
  }
  CHECK(failures == 0);
  const size_t now = bytes_in_use();
  return now > warm ? now - warm : 0;
}

TEST_CASE("ten thousand different fetches take no more memory than the steps that are kept") {
  Pairs pairs;
  CHECK(growth([&](int step) {
          return pairs.session->run({{pairs.feed, Tensor::scalar(1.0f)}}, pairs.fetches(step)).ok();
        }) < kMostPerStep * (kSteps - kWarm));
}

TEST_CASE("nor do ten thousand callables that are released") {
  Pairs pairs;
  CHECK(growth([&](int step) {
          auto callable = pairs.session->make_callable({pairs.feed}, pairs.fetches(step));
          return callable.ok() && (*callable)({Tensor::scalar(1.0f)}).ok();
        }) < kMostPerStep * (kSteps - kWarm));
}

TEST_CASE("more callables than steps are kept for can all be called") {
  Pairs pairs;
  std::vector<Callable> callables;
  for (int step = 0; step < kWarm; ++step) {
    auto made = pairs.session->make_callable({pairs.feed}, pairs.fetches(step));
    REQUIRE(made.ok());
    callables.push_back(std::move(made).value());
  }
  for (const int step : {0, 1, kWarm - 1, 0}) {
    const auto values = callables[static_cast<size_t>(step)]({Tensor::scalar(1.0f)});
    REQUIRE(values.ok());
    CHECK(values->back() == Tensor::scalar(1.0f + static_cast<float>(step % kNodes)));
  }
}

}  // namespace
}  // namespace millrace
