// Part of families.h: register_resources.
#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/ops/state/families.h"
#include "millrace/ops/state/queue.h"
#include "millrace/ops/state/resource_access.h"
#include "millrace/ops/state/variable.h"

namespace millrace {
namespace {

// Of the type that the handle says.
Status destroy_any(KernelContext& context) {
  const Tensor& input = context.input(0);
  const bool is_handle = input.dtype() == DType::resource && input.num_elements() == 1;
  const std::string type =
      is_handle ? input.item<ResourceHandle>().type_name : std::string(StoredVariable::kTypeName);
  MR_ASSIGN(const ResourceName name, named_by_input(context, 0, type));
  ResourceStore& resources = *context.step().device->resources;
  // Of these there may be many.
  if (type == StoredVariable::kTypeName)
    return resources.remove<StoredVariable>(name.container, name.name);
  if (type == Queue::kTypeName) return resources.remove<Queue>(name.container, name.name);
  return resources.remove(name.container, name.name, type);
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
