#include "millrace/ops/recurrent/families.h"

namespace millrace {

Status register_recurrent(OpRegistry& ops) {
  MR_TRY(register_lstm_cells(ops));
  MR_TRY(register_lstm_blocks(ops));
  return register_gru_cells(ops);
}

}  // namespace millrace
