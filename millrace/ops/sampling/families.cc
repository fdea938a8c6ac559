#include "millrace/ops/sampling/families.h"

namespace millrace {

Status register_sampling(OpRegistry& ops) { return register_candidates(ops); }

}  // namespace millrace
