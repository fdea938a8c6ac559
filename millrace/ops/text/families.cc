#include "millrace/ops/text/families.h"

namespace millrace {

Status register_text(OpRegistry& ops) { return register_strings(ops); }

}  // namespace millrace
