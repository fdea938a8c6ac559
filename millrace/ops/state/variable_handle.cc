#include "millrace/ops/state/variable_handle.h"

namespace millrace {

namespace {

// In the words that TensorFlow's clients look for.
Status unreadable(const ResourceHandle& handle, const Status& why) {
  return failed_precondition(
      "Could not find variable ", handle.name,
      ". This could mean that the variable has been deleted. In TF1, it can also mean the variable "
      "is uninitialized. Debug info: container=",
      handle.container, ", status error message=", why.message());
}

}  // namespace

Result<std::shared_ptr<StoredVariable>> VariableHandle::find(KernelContext& context) {
  MR_ASSIGN(const ResourceName name, named_by_input(context, 0, StoredVariable::kTypeName));
  return cached_.get(*context.step().device->resources, name,
                     [](ResourceStore& resources, const ResourceName& wanted) {
                       return resources.find<StoredVariable>(wanted.container, wanted.name);
                     });
}

Result<Tensor> VariableHandle::value(KernelContext& context, DType dtype) {
  MR_ASSIGN(const std::shared_ptr<StoredVariable> variable, find(context));
  Tensor value = variable->read();
  MR_TRY(check(*variable, value, dtype));
  return value;
}

Result<std::shared_ptr<StoredVariable>> VariableHandle::find_to_read(KernelContext& context) {
  auto found = find(context);
  if (found.ok() || found.status().code() != Code::not_found) return found;
  return unreadable(context.input(0).item<ResourceHandle>(), found.status());
}

Result<Tensor> VariableHandle::read(KernelContext& context) {
  MR_ASSIGN(const std::shared_ptr<StoredVariable> variable, find_to_read(context));
  Tensor value = variable->read();
  MR_TRY(check(*variable, value, context.output_dtype(0)));
  return value;
}

Status VariableHandle::check(const StoredVariable& variable, const Tensor& tensor, DType dtype) {
  if (!tensor.has_value()) return uninitialized(variable.name());
  if (tensor.dtype() == dtype) return {};
  return invalid("Trying to read variable with wrong dtype. Expected ", dtype_name(dtype), " got ",
                 dtype_name(tensor.dtype()));
}

}  // namespace millrace
