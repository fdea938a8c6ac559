#include "millrace/ops/ctc/families.h"

namespace millrace {

Status register_ctc(OpRegistry& ops) {
  MR_TRY(register_ctc_losses(ops));
  return register_ctc_decoders(ops);
}

}  // namespace millrace
