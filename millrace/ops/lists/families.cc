#include "millrace/ops/lists/families.h"

namespace millrace {

Status register_lists(OpRegistry& ops) {
  MR_TRY(register_tensor_lists(ops));
  MR_TRY(register_optionals(ops));
  MR_TRY(register_composites(ops));
  return register_tensor_maps(ops);
}

}  // namespace millrace
