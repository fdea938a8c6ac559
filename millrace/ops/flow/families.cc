#include "millrace/ops/flow/families.h"

namespace millrace {

Status register_flow(OpRegistry& ops) {
  MR_TRY(register_control_flow(ops));
  MR_TRY(register_functional(ops));
  MR_TRY(register_devices(ops));
  MR_TRY(register_remote_calls(ops));
  return register_checks(ops);
}

}  // namespace millrace
