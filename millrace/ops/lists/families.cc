#include "millrace/ops/lists/families.h"

namespace millrace {

Status register_lists(OpRegistry& ops) {
  MR_TRY(register_tensor_lists(ops));
  return register_optionals(ops);
}

}  // namespace millrace
