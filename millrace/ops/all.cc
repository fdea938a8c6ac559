#include "millrace/ops/all.h"

#include "millrace/ops/binary.h"
#include "millrace/ops/broadcasts.h"
#include "millrace/ops/casts.h"
#include "millrace/ops/checks.h"
#include "millrace/ops/control_flow.h"
#include "millrace/ops/fills.h"
#include "millrace/ops/functional.h"
#include "millrace/ops/gathers.h"
#include "millrace/ops/identity.h"
#include "millrace/ops/joins.h"
#include "millrace/ops/layout.h"
#include "millrace/ops/matmuls.h"
#include "millrace/ops/optionals.h"
#include "millrace/ops/queues.h"
#include "millrace/ops/random.h"
#include "millrace/ops/reductions.h"
#include "millrace/ops/ref_variables.h"
#include "millrace/ops/resource_variables.h"
#include "millrace/ops/resources.h"
#include "millrace/ops/scans.h"
#include "millrace/ops/select.h"
#include "millrace/ops/shapes.h"
#include "millrace/ops/slices.h"
#include "millrace/ops/strings.h"
#include "millrace/ops/tensor_arrays.h"
#include "millrace/ops/tensor_lists.h"
#include "millrace/ops/transfer.h"
#include "millrace/ops/unary.h"

namespace millrace {

Status register_all_ops(OpRegistry& ops) {
  MR_TRY(register_control_flow(ops));
  MR_TRY(register_functional(ops));
  MR_TRY(register_transfer(ops));
  MR_TRY(register_identity(ops));
  MR_TRY(register_unary(ops));
  MR_TRY(register_arithmetic(ops));
  MR_TRY(register_comparisons(ops));
  MR_TRY(register_queue_handles(ops));
  MR_TRY(register_queue_accesses(ops));
  MR_TRY(register_ref_variables(ops));
  MR_TRY(register_resource_variables(ops));
  MR_TRY(register_shapes(ops));
  MR_TRY(register_broadcasts(ops));
  MR_TRY(register_joins(ops));
  MR_TRY(register_slices(ops));
  MR_TRY(register_layout(ops));
  MR_TRY(register_fills(ops));
  MR_TRY(register_select(ops));
  MR_TRY(register_gathers(ops));
  MR_TRY(register_casts(ops));
  MR_TRY(register_reductions(ops));
  MR_TRY(register_scans(ops));
  MR_TRY(register_matmuls(ops));
  MR_TRY(register_strings(ops));
  MR_TRY(register_checks(ops));
  MR_TRY(register_random(ops));
  MR_TRY(register_resources(ops));
  MR_TRY(register_tensor_arrays(ops));
  MR_TRY(register_stacks(ops));
  MR_TRY(register_tensor_lists(ops));
  MR_TRY(register_optionals(ops));
  return {};
}

}  // namespace millrace
