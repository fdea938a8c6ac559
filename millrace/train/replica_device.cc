#include "millrace/train/replica_device.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "millrace/api/build_state.h"

namespace millrace {
namespace {

// The ops that TensorFlow counts as variables.
constexpr std::array<std::string_view, 5> kPsOps = {"Variable", "VariableV2", "AutoReloadVariable",
                                                    "MutableHashTable", "VarHandleOp"};

struct ReplicaDevice {
  DeviceName ps, worker;
  PsStrategy strategy;
  int num_ps;
  // The scope's own: it lives as long as the devices of its nodes are asked for.
  const Builder* builder;

  Result<DeviceName> operator()(NodeId id) const {
    const Node& node = builder->graph()[id];
    MR_ASSIGN(const DeviceName inside, DeviceName::parse(node.requested_device()));
    if (std::ranges::find(kPsOps, node.op->name) == kPsOps.end())
      return worker.overridden_by(inside);
    DeviceName chosen = ps;
    if ((!inside.job || inside.job == ps.job) && !inside.task) {
      const AttrValue* shape = node.attrs().find("shape");
      const AttrValue* dtype = node.attrs().find("dtype");
      const int task = strategy(shape && shape->as_shape() ? *shape->as_shape() : PartialShape(),
                                dtype && dtype->as_type() ? *dtype->as_type() : DType::invalid);
      if (task < 0 || task >= num_ps)
        return invalid("the strategy puts '", node.name, "' on task ", task, " of ", num_ps);
      chosen.task = task;
    }
    return chosen.overridden_by(inside);
  }
};

}  // namespace

PsStrategy round_robin(int num_tasks) {
  return [num_tasks, next = 0](const PartialShape&, DType) mutable {
    return std::exchange(next, (next + 1) % num_tasks);
  };
}

PsStrategy greedy_by_bytes(int num_tasks) {
  return [loads = std::vector<int64_t>(num_tasks)](const PartialShape& shape, DType dtype) mutable {
    const auto least = std::ranges::min_element(loads);
    const auto known = shape.to_shape();
    if (known) *least += known->num_elements() * static_cast<int64_t>(dtype_size(dtype));
    return static_cast<int>(least - loads.begin());
  };
}

Scope replica_device(const Scope& scope, const ReplicaDeviceOptions& options) {
  const auto ps = DeviceName::parse(options.ps_device);
  const auto worker = DeviceName::parse(options.worker_device);
  if (!ps.ok() || !worker.ok()) {
    scope.fail(ps.ok() ? worker.status() : ps.status(), "replica_device");
    return scope;
  }
  const int num_ps = ps->job ? options.cluster.num_tasks(*ps->job) : 0;
  if (num_ps == 0) return scope;
  // One for all copies of the function: whose turn it is belongs to the scope.
  const auto strategy =
      std::make_shared<PsStrategy>(options.strategy ? options.strategy : round_robin(num_ps));
  const ReplicaDevice asked{
      .ps = *ps,
      .worker = *worker,
      .strategy = [strategy](const PartialShape& shape,
                             DType dtype) { return (*strategy)(shape, dtype); },
      .num_ps = num_ps,
      .builder = scope.state()->builder.get()};
  Surroundings around = scope.surroundings();
  around.devices =
      around.devices.with({.kind = DeviceStack::Entry::Kind::function, .function = asked});
  return Scope(scope.state(), std::move(around));
}

}  // namespace millrace
