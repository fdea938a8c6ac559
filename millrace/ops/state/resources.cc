// Part of families.h: register_resources.
#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/state/families.h"
#include "millrace/ops/state/queue.h"
#include "millrace/ops/state/resource_access.h"
#include "millrace/ops/state/variable.h"

namespace millrace {
namespace {

template <class T>
Status destroy(KernelContext& context) {
  MR_ASSIGN(const ResourceName name, named_by_input(context, 0, T::kTypeName));
  return context.step().device->resources->remove<T>(name.container, name.name);
}

Status destroy_any(KernelContext& context) {
  const Tensor& input = context.input(0);
  const bool is_queue =
      input.num_elements() == 1 && input.item<ResourceHandle>().type_name == Queue::kTypeName;
  return is_queue ? destroy<Queue>(context) : destroy<StoredVariable>(context);
}

Status destroy_if_there(KernelContext& context, bool ignores_absence) {
  const Status status = destroy_any(context);
  return ignores_absence && status.code() == Code::not_found ? Status() : status;
}

}  // namespace

Status register_resources(OpRegistry& ops) {
  return ops.add({
      .name = "DestroyResourceOp",
      .doc = "Drops a resource from its device; whoever waits on it fails.",
      .signature = "resource: resource -> | ignore_lookup_error: bool = true",
      .infer = infer::no_outputs,
      .cpu = kernel_with(destroy_if_there, boolean("ignore_lookup_error")),
      .not_differentiable = "it gives nothing",
      .stateful = true,
      .foldable = false,
      .cost = Cost::cheap,
  });
}

}  // namespace millrace
