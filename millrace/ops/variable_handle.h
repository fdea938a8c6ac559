// The variable that a resource handle names, for kernels that take one as input 0.
#pragma once

#include "millrace/ops/resource_access.h"
#include "millrace/ops/variable.h"

namespace millrace {

class VariableHandle {
 public:
  // Errors: FAILED_PRECONDITION in the words that TensorFlow's clients look for, if there is none.
  Result<std::shared_ptr<Variable>> find(KernelContext& context);
  // The value as it is now. Errors: as `find`.
  Result<Tensor> read(KernelContext& context);
  // Calls change(tensor) with the lock held on a variable that has a value of the given dtype.
  template <class Change>
  Status change(KernelContext& context, DType dtype, Change change) {
    MR_ASSIGN(const std::shared_ptr<Variable> variable, find(context));
    MutexLock lock(variable->mutex());
    Tensor& tensor = *variable->tensor();
    MR_TRY(check(*variable, tensor, dtype));
    return change(tensor);
  }

 private:
  static Status check(const Variable& variable, const Tensor& tensor, DType dtype);

  CachedResource<Variable> cached_;
};

// FAILED_PRECONDITION "Could not find variable <name>. …"
Status no_variable(const ResourceName& name);

}  // namespace millrace
