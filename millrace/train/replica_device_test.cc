#include "millrace/train/replica_device.h"

#include <doctest/doctest.h>

#include "millrace/train/layers.h"
#include "millrace/train/node_scopes.h"
#include "millrace/train/optimizers.h"
#include "millrace/train/testing/model.h"

namespace millrace {
namespace {

using testing::Model;

ClusterSpec two_ps() {
  ClusterSpec cluster;
  REQUIRE(cluster.add_job("ps", {"a:1", "b:1"}).ok());
  REQUIRE(cluster.add_job("worker", {"c:1"}).ok());
  return cluster;
}

VariableScope placed(const Model& model, PsStrategy strategy = nullptr) {
  return model.root.in(replica_device(model.root, {.cluster = two_ps(),
                                                   .worker_device = "/job:worker/task:0",
                                                   .strategy = std::move(strategy)}));
}

TEST_CASE("variables go to the ps in turn, and all else to the worker") {
  Model model;
  const VariableScope place = placed(model);
  const Variable a = place.variable("a", 1.0), b = place.variable("b", 1.0),
                 c = place.variable("c", 1.0);
  const Output sum = constant(place, 1);
  const Output pinned(place.device("/job:ps/task:0").scope().add("NoOp", {}, {}), 0);
  REQUIRE(model.status() == "OK");
  CHECK(device_of(a.op()) == "/job:ps/task:0");
  CHECK(device_of(b.op()) == "/job:ps/task:1");
  CHECK(device_of(c.op()) == "/job:ps/task:0");
  CHECK(device_of(b.value.op()) == "/job:ps/task:1");
  CHECK(device_of(b.initializer) == "/job:ps/task:1");
  CHECK(device_of(sum.op()) == "/job:worker/task:0");
  CHECK(device_of(pinned.op()) == "/job:ps/task:0");
}

TEST_CASE("slots go where their variable is, and so does what changes it") {
  Model model;
  const VariableScope place = placed(model);
  place.variable("a", 1.0);
  const Variable b = place.variable("b", 1.0);
  AdamOptimizer optimizer;
  const Operation train = optimizer.minimize(place, b);
  REQUIRE(model.status() == "OK");
  CHECK(device_of(optimizer.slot(b, "v").op()) == "/job:ps/task:1");
  const Node* update = model.graph.graph().find("Adam/update_b/ApplyAdam");
  REQUIRE(update != nullptr);
  CHECK(update->requested_device() == "/job:ps/task:1");
  CHECK(device_of(train) == "/job:ps/task:1");
}

TEST_CASE("by bytes, each goes to the task that has least") {
  Model model;
  const VariableScope place = placed(model, greedy_by_bytes(2));
  std::vector<std::string> devices;
  for (const int64_t size : {10, 4, 5, 2})
    devices.push_back(device_of(place.get_variable(str_cat("v", size), {size}).op()));
  CHECK(devices == std::vector<std::string>{"/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:1",
                                            "/job:ps/task:1"});
}

TEST_CASE("a strategy that names a task which is not there is refused") {
  Model model;
  placed(model, [](const PartialShape&, DType) { return 2; }).variable("a", 1.0);
  CHECK(model.status().find("the strategy puts 'a' on task 2 of 2") != std::string::npos);
}

TEST_CASE("without ps everything stays where it was") {
  Model model;
  const VariableScope place = model.root.in(replica_device(model.root, {}));
  CHECK(device_of(place.variable("a", 1.0).op()).empty());
}

}  // namespace
}  // namespace millrace
