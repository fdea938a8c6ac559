#include "millrace/ops/all.h"

#include "millrace/ops/control_flow.h"
#include "millrace/ops/identity.h"
#include "millrace/ops/transfer.h"

namespace millrace {

Status register_all_ops(OpRegistry& ops) {
  MR_TRY(register_control_flow(ops));
  MR_TRY(register_transfer(ops));
  MR_TRY(register_identity(ops));
  return {};
}

}  // namespace millrace
