#include "millrace/ops/exchange/families.h"

namespace millrace {

Status register_exchange(OpRegistry& ops) {
  MR_TRY(register_accumulators(ops));
  MR_TRY(register_barriers(ops));
  MR_TRY(register_staging(ops));
  MR_TRY(register_batches(ops));
  return register_mutexes(ops);
}

}  // namespace millrace
