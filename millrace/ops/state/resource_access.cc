#include "millrace/ops/state/resource_access.h"

namespace millrace {

Result<ResourceName> resource_name_of(const KernelSpec& spec) {
  MR_ASSIGN(std::string container, spec.attrs.string("container"));
  MR_ASSIGN(std::string name, spec.attrs.string("shared_name"));
  if (name.empty()) name = spec.node_name;
  return ResourceName{std::move(container), std::move(name)};
}

ResourceHandle make_handle(KernelContext& context, const ResourceName& name,
                           std::string_view type_name) {
  ResourceHandle handle;
  handle.device = context.step().device->name;
  const std::string& fallback = context.step().device->resources->default_container();
  handle.container = name.container.empty() ? fallback : name.container;
  handle.name = name.name;
  handle.type_name = type_name;
  return handle;
}

namespace {

Result<ResourceName> named_by_strings(const KernelContext& context, int slot,
                                      const Tensor& tensor) {
  if (tensor.dtype() != DType::string || tensor.num_elements() != 2) {
    return invalid("'", context.node_name(), "': input ", slot,
                   " must hold the container and the name of a resource");
  }
  const auto strings = tensor.flat<std::string>();
  return ResourceName{strings[0], strings[1]};
}

Result<ResourceName> named_by_ref(const KernelContext& context, int slot) {
  const TensorRef& ref = context.input_ref(slot);
  MutexLock lock(*ref.mutex);
  return named_by_strings(context, slot, *ref.tensor);
}

}  // namespace

Result<ResourceName> named_by_input(KernelContext& context, int slot, std::string_view type_name) {
  if (context.input_is_ref(slot)) return named_by_ref(context, slot);
  const Tensor& input = context.input(slot);
  if (input.dtype() == DType::string) return named_by_strings(context, slot, input);
  if (input.dtype() != DType::resource || input.num_elements() != 1) {
    return invalid("'", context.node_name(), "': input ", slot, " must be one resource handle");
  }
  const ResourceHandle& handle = input.item<ResourceHandle>();
  const std::string& device = context.step().device->name;
  if (!handle.device.empty() && handle.device != device) {
    return invalid("'", context.node_name(), "': Trying to access resource ", handle.name,
                   " located in device ", handle.device, " from device ", device);
  }
  if (handle.type_name != type_name) {
    return invalid("'", context.node_name(), "': Trying to access resource ", handle.name,
                   " using the wrong type. Expected ", type_name, " got ", handle.type_name);
  }
  return ResourceName{handle.container, handle.name};
}

}  // namespace millrace
