// All-reduce and sync replicas: what many workers' gradients make of variables. All-reduce between
// several is tested by its example, which needs their tasks.
#include <thread>

#include <doctest/doctest.h>

#include "millrace/session/server.h"
#include "millrace/train/all_reduce.h"
#include "millrace/train/first_values.h"
#include "millrace/train/layers.h"
#include "millrace/train/optimizers.h"
#include "millrace/train/reductions.h"
#include "millrace/train/sync_replicas.h"
#include "millrace/train/testing/model.h"

namespace millrace {
namespace {

using testing::check_near;
using testing::Model;

// A worker on a device of its own: sum(x * w) for whatever it is fed, w on the first device.
struct Worker {
  GraphBuilder graph{Model::runtime()->ops()};
  VariableScope root{graph.root().device("/cpu:0")};
  Variable w = root.variable("w", {1.0, 1.0});
  Variable step = root.global_step();
  VariableScope own;
  Output x;
  MomentumOptimizer momentum{1.0, 0.5};
  SyncReplicasOptimizer optimizer;
  Operation train;
  FirstValues first;
  std::unique_ptr<Session> session;

  Worker(Server& server, int index, int wanted)
      : own(root.in(graph.root().device(str_cat("/cpu:", index)))),
        x(own.scope().add("Placeholder", {}, {{"dtype", DType::f32}, {"shape", PartialShape{2}}}),
          0),
        optimizer(momentum, {.num_replicas = 2, .replica = index, .gradients_per_step = wanted}),
        train(optimizer.minimize(own, reduce_sum(own, w * x), {.global_step = step})),
        first(root),
        session(Session::create(server).value()) {
    REQUIRE_MESSAGE(graph.status().ok(), graph.status().to_string());
    REQUIRE(session->extend(graph).ok());
    REQUIRE(first.give(*session).ok());
    const auto begun = session->run({}, {}, {.targets = {optimizer.begin().name()}});
    REQUIRE_MESSAGE(begun.ok(), begun.status().to_string());
  }

  Result<int64_t> run(float a, float b) {
    MR_ASSIGN(const auto made,
              session->run({{x.name(), Tensor::vector<float>({a, b})}}, {train.name()}));
    return made[0].item<int64_t>();
  }
  std::vector<float> weights() {
    const Tensor value = session->run({}, {w.value.name()}).value()[0];
    return {value.flat<float>().begin(), value.flat<float>().end()};
  }
};

std::unique_ptr<Server> server_of_two() {
  ClusterSpec cluster;
  REQUIRE(cluster.add_job("local", {"localhost:0"}).ok());
  auto made =
      Server::start({.cluster = cluster, .job = "local", .cpu_devices = 2}, Model::runtime());
  REQUIRE_MESSAGE(made.ok(), made.status().to_string());
  return std::move(*made);
}

TEST_CASE("a step of two workers is one of the mean of what they found") {
  const auto server = server_of_two();
  Worker chief(*server, 0, 2), other(*server, 1, 2);
  for (int64_t step = 1; step <= 3; ++step) {
    Result<int64_t> of_other = 0;
    std::thread beside([&] { of_other = other.run(3, 0); });
    const Result<int64_t> of_chief = chief.run(1, 2);
    beside.join();
    REQUIRE_MESSAGE(of_chief.ok(), of_chief.status().to_string());
    REQUIRE_MESSAGE(of_other.ok(), of_other.status().to_string());
    CHECK(*of_chief == step);
    CHECK(*of_other == step);
  }
  // Three steps of momentum by {2, 1}: 1 + 1.5 + 1.75 of it.
  check_near(chief.weights(), {1 - 2 * 4.25, 1 - 4.25});
}

TEST_CASE("a backup worker that comes too late is dropped, and goes on with the others") {
  const auto server = server_of_two();
  Worker chief(*server, 0, 1), late(*server, 1, 1);
  CHECK(chief.run(1, 1).value() == 1);
  CHECK(chief.run(1, 1).value() == 2);
  const std::vector<float> before = chief.weights();
  CHECK(late.run(100, 100).value() == 2);
  CHECK(chief.weights() == before);
  CHECK(chief.run(0, 0).value() == 3);
  check_near(chief.weights(), {before[0] - 0.75, before[1] - 0.75});
}

TEST_CASE("rows are gathered as rows") {
  Model model;
  const Variable table =
      model.root.get_variable("table", {3, 1}, {.initializer = initializers::ones()});
  GradientDescentOptimizer descent(0.5);
  SyncReplicasOptimizer optimizer(descent, {});
  const Output rows = embedding_lookup(model.root, table, constant(model.root, {2, 0, 2}));
  const Operation train = optimizer.minimize(model.root, reduce_sum(model.root, rows),
                                             {.global_step = model.root.global_step()});
  REQUIRE(model.status() == "OK");
  model.initialize();
  model.perform(optimizer.begin());
  model.perform(train);
  check_near(model.floats(table), {0.5, 1, 0});
}

TEST_CASE("sync replicas say what they lack") {
  SUBCASE("a global step") {
    Model model;
    const Variable w = model.root.variable("w", 1.0);
    GradientDescentOptimizer descent(0.5);
    SyncReplicasOptimizer(descent, {}).minimize(model.root, w);
    CHECK(model.status() ==
          "INVALID_ARGUMENT: sync_replicas: a global step is required to check staleness");
  }
  SUBCASE("workers") {
    Model model;
    const Variable w = model.root.variable("w", 1.0);
    GradientDescentOptimizer descent(0.5);
    SyncReplicasOptimizer(descent, {.num_replicas = 2, .gradients_per_step = 3})
        .minimize(model.root, w, {.global_step = model.root.global_step()});
    CHECK(model.status().find("replica 0 of 2, 3 gradients per step") != std::string::npos);
  }
}

TEST_CASE("one replica that all-reduces is as if it did not, in groups of any size") {
  for (const int64_t bytes : {int64_t{1}, int64_t{1} << 20}) {
    Model model;
    const Variable a = model.root.variable("a", {1.0, 2.0}), b = model.root.variable("b", 3.0);
    const Variable table =
        model.root.get_variable("table", {3, 1}, {.initializer = initializers::ones()});
    const Output rows = embedding_lookup(model.root, table, constant(model.root, {0, 2, 0}));
    const Output loss = reduce_sum(model.root, a * b) + reduce_sum(model.root, rows);
    GradientDescentOptimizer descent(1.0);
    AllReduceOptimizer optimizer(descent, {.num_replicas = 1, .bucket_bytes = bytes});
    const Operation train = optimizer.minimize(model.root, loss);
    const Operation equal = optimizer.equal_variables(model.root, true);
    REQUIRE(model.status() == "OK");
    model.initialize();
    model.perform(equal);
    model.perform(train);
    check_near(model.floats(a), {-2, -1});
    check_near(model.floats(b), {0});
    check_near(model.floats(table), {-1, 1, 0});
  }
}

TEST_CASE("a group of no replicas is refused") {
  Model model;
  const Variable w = model.root.variable("w", 1.0);
  GradientDescentOptimizer descent(1.0);
  AllReduceOptimizer(descent, {.num_replicas = 0}).minimize(model.root, w);
  CHECK(model.status().find("num_replicas must be positive, but is 0") != std::string::npos);
}

}  // namespace
}  // namespace millrace
