#include "millrace/ops/variable_handle.h"

namespace millrace {

Status no_variable(const ResourceName& name) {
  return failed_precondition(
      "Could not find variable ", name.name,
      ". This could mean that the variable has been deleted. In TF1, it can also mean the variable "
      "is uninitialized. Debug info: container=",
      name.container, ", status error message=Resource ", name.container, "/", name.name, "/",
      Variable::kTypeName, " does not exist.");
}

Result<std::shared_ptr<Variable>> VariableHandle::find(KernelContext& context) {
  MR_ASSIGN(const ResourceName name, named_by_input(context, 0, Variable::kTypeName));
  return cached_.get(
      *context.step().device->resources, name,
      [](ResourceStore& manager, const ResourceName& name) -> Result<std::shared_ptr<Variable>> {
        auto found = manager.find<Variable>(name.container, name.name);
        if (!found.ok()) return no_variable(name);
        return found;
      });
}

Result<Tensor> VariableHandle::read(KernelContext& context) {
  MR_ASSIGN(const std::shared_ptr<Variable> variable, find(context));
  Tensor value = variable->read();
  MR_TRY(check(*variable, value, context.output_dtype(0)));
  return value;
}

Status VariableHandle::check(const Variable& variable, const Tensor& tensor, DType dtype) {
  if (!tensor.has_value()) {
    return no_variable({.container = std::string(kDefaultContainer), .name = variable.name()});
  }
  if (tensor.dtype() == dtype) return {};
  return invalid("Trying to read variable with wrong dtype. Expected ", dtype_name(dtype), " got ",
                 dtype_name(tensor.dtype()));
}

}  // namespace millrace
