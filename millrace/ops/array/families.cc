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
  MR_TRY(register_gathers(ops));
  MR_TRY(register_nd(ops));
  MR_TRY(register_uniques(ops));
  MR_TRY(register_partitions(ops));
  MR_TRY(register_tensor_diagonals(ops));
  MR_TRY(register_diagonals(ops));
  MR_TRY(register_blocks(ops));
  MR_TRY(register_depths(ops));
  MR_TRY(register_moves(ops));
  MR_TRY(register_patches(ops));
  MR_TRY(register_inplace(ops));
  MR_TRY(register_searches(ops));
  return register_beams(ops);
}

}  // namespace millrace
