#include "millrace/ops/all.h"

#include "millrace/ops/binary.h"
#include "millrace/ops/control_flow.h"
#include "millrace/ops/identity.h"
#include "millrace/ops/queues.h"
#include "millrace/ops/ref_variables.h"
#include "millrace/ops/resource_variables.h"
#include "millrace/ops/transfer.h"
#include "millrace/ops/unary.h"

namespace millrace {

Status register_all_ops(OpRegistry& ops) {
  MR_TRY(register_control_flow(ops));
  MR_TRY(register_transfer(ops));
  MR_TRY(register_identity(ops));
  MR_TRY(register_unary(ops));
  MR_TRY(register_arithmetic(ops));
  MR_TRY(register_comparisons(ops));
  MR_TRY(register_queue_handles(ops));
  MR_TRY(register_queue_accesses(ops));
  MR_TRY(register_ref_variables(ops));
  MR_TRY(register_resource_variables(ops));
  return {};
}

}  // namespace millrace
