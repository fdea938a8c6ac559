// Part of families.h: register_timestamps.
#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/state/device_time.h"
#include "millrace/ops/state/families.h"
#include "millrace/ops/state/stateful_op.h"

namespace millrace {
namespace {

Result<Tensor> timestamp(KernelContext& context) {
  const DeviceContext* const device = context.step().device;
  if (device == nullptr || device->resources == nullptr) return internal("Timestamp: no device");
  const auto time = device->resources->find<DeviceTime>(DeviceTime::kContainer, "");
  if (!time.ok()) {
    return failed_precondition("'", context.node_name(),
                               "': nobody told this device the time; place it on a task's own");
  }
  return Tensor::scalar(static_cast<double>((*time)->clock().wall_micros()) * 1e-6);
}

}  // namespace

Status register_timestamps(OpRegistry& ops) {
  OpDef op =
      stateful_op("Timestamp", "Seconds since 1970 as the task's clock has them, when it runs.",
                  "-> ts: double", infer::scalar, kernel(timestamp), Cost::cheap);
  op.not_differentiable = "it has no inputs";
  return ops.add(std::move(op));
}

}  // namespace millrace
