#include "millrace/ops/state/variable.h"

namespace millrace {

Tensor StoredVariable::read() const {
  MutexLock lock(mutex_);
  return tensor_;
}

std::string StoredVariable::description() const {
  const Tensor value = read();
  if (!value.has_value()) {
    return str_cat("Variable ", dtype_name(dtype_), shape_.to_string(), ", uninitialized");
  }
  return str_cat("Variable ", dtype_name(value.dtype()), value.shape().to_string());
}

TensorRef reference_to(const std::shared_ptr<StoredVariable>& variable) {
  return {&variable->mutex(), variable->tensor(), variable, variable->name()};
}

Status uninitialized(std::string_view name) {
  return failed_precondition("Attempting to use uninitialized value ", name);
}

Status store(Tensor& held, Tensor value) {
  if (value.is_sole_owner()) {
    held = std::move(value);
  } else {
    MR_ASSIGN(held, value.clone());
  }
  return {};
}

Status unshare(Tensor& held) {
  if (held.is_sole_owner()) return {};
  MR_ASSIGN(held, held.clone());
  return {};
}

Status update(Tensor& held, const Tensor& operand, cpu::BinaryLoop loop) {
  if (held.shape() != operand.shape()) {
    return invalid("the variable has shape ", held.shape().to_string(), " and the operand ",
                   operand.shape().to_string(), "; they must be the same");
  }
  // Only the variable has the buffer, and the lock keeps readers from getting it: in place. A
  // reader that had it would see its value change (`operand` may be such a reader, for x += x).
  if (held.is_sole_owner()) {
    loop(held.data(), 1, operand.data(), 1, held.mutable_data(), held.num_elements());
    return {};
  }
  MR_ASSIGN(Tensor result, Tensor::allocate(held.dtype(), held.shape()));
  loop(held.data(), 1, operand.data(), 1, result.mutable_data(), held.num_elements());
  held = std::move(result);
  return {};
}

}  // namespace millrace
