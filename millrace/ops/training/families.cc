#include "millrace/ops/training/families.h"

namespace millrace {

Status register_training(OpRegistry& ops) {
  MR_TRY(register_descents(ops));
  MR_TRY(register_accumulating(ops));
  return register_averaging(ops);
}

}  // namespace millrace
