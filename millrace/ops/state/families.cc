#include "millrace/ops/state/families.h"

namespace millrace {

Status register_state(OpRegistry& ops) {
  MR_TRY(register_ref_variables(ops));
  MR_TRY(register_resource_variables(ops));
  MR_TRY(register_scatters(ops));
  MR_TRY(register_queue_handles(ops));
  MR_TRY(register_queue_accesses(ops));
  MR_TRY(register_resources(ops));
  MR_TRY(register_tensor_arrays(ops));
  MR_TRY(register_old_tensor_arrays(ops));
  MR_TRY(register_stacks(ops));
  MR_TRY(register_session_tensors(ops));
  MR_TRY(register_slice_writes(ops));
  MR_TRY(register_leases(ops));
  MR_TRY(register_timestamps(ops));
  return register_temporaries(ops);
}

}  // namespace millrace
