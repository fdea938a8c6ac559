// The variable that a resource handle names, for kernels that take one as input 0.
#pragma once

#include "millrace/ops/state/resource_access.h"
#include "millrace/ops/state/variable.h"

namespace millrace {

class VariableHandle {
 public:
  // Errors: NOT_FOUND if there is none, be it that it was never initialised.
  Result<std::shared_ptr<StoredVariable>> find(KernelContext& context);
  // The value as it is now. Errors: as `find`; FAILED_PRECONDITION if it has none yet,
  // INVALID_ARGUMENT if it is of another dtype.
  Result<Tensor> value(KernelContext& context, DType dtype);
  // As `find`, for a kernel that changes nothing: a variable that is not there is a
  // FAILED_PRECONDITION here, in the words by which TensorFlow's clients tell that it is
  // uninitialised.
  Result<std::shared_ptr<StoredVariable>> find_to_read(KernelContext& context);
  // The value for output 0 of a kernel that only reads. Errors: as `find_to_read`; else as `value`.
  Result<Tensor> read(KernelContext& context);
  // Calls change(tensor) with the lock held on a variable that has a value of the given dtype.
  template <class Change>
  Status change(KernelContext& context, DType dtype, Change change) {
    MR_ASSIGN(const std::shared_ptr<StoredVariable> variable, find(context));
    MutexLock lock(variable->mutex());
    Tensor& tensor = *variable->tensor();
    MR_TRY(check(*variable, tensor, dtype));
    return change(tensor);
  }

 private:
  static Status check(const StoredVariable& variable, const Tensor& tensor, DType dtype);

  CachedResource<StoredVariable> cached_;
};

}  // namespace millrace
