#include "millrace/ops/array/families.h"

namespace millrace {

Status register_array(OpRegistry& ops) {
  MR_TRY(register_identity(ops));
  MR_TRY(register_shapes(ops));
  MR_TRY(register_broadcasts(ops));
  MR_TRY(register_fills(ops));
  MR_TRY(register_slices(ops));
  MR_TRY(register_joins(ops));
  MR_TRY(register_layout(ops));
  return register_gathers(ops);
}

}  // namespace millrace
