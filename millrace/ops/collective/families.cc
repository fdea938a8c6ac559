#include "millrace/ops/collective/families.h"

namespace millrace {

Status register_collective(OpRegistry& ops) {
  MR_TRY(register_collective_reduces(ops));
  return register_collective_moves(ops);
}

}  // namespace millrace
