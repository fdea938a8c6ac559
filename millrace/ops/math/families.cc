#include "millrace/ops/math/families.h"

namespace millrace {

Status register_math(OpRegistry& ops) {
  MR_TRY(register_unary(ops));
  MR_TRY(register_unary_gradients(ops));
  MR_TRY(register_special(ops));
  MR_TRY(register_arithmetic(ops));
  MR_TRY(register_comparisons(ops));
  MR_TRY(register_casts(ops));
  MR_TRY(register_matmuls(ops));
  MR_TRY(register_reductions(ops));
  MR_TRY(register_scans(ops));
  MR_TRY(register_segments(ops));
  return register_select(ops);
}

}  // namespace millrace
