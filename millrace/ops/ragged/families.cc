#include "millrace/ops/ragged/families.h"

namespace millrace {

Status register_ragged(OpRegistry& ops) {
  MR_TRY(register_ragged_ranges(ops));
  MR_TRY(register_ragged_gathers(ops));
  MR_TRY(register_ragged_counts(ops));
  MR_TRY(register_ragged_crosses(ops));
  MR_TRY(register_ragged_to_sparse(ops));
  MR_TRY(register_ragged_to_tensor(ops));
  return register_ragged_variants(ops);
}

}  // namespace millrace
