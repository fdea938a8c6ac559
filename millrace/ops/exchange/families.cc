#include "millrace/ops/exchange/families.h"

namespace millrace {

Status register_exchange(OpRegistry& ops) { return register_accumulators(ops); }

}  // namespace millrace
