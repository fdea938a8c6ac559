#include "millrace/ops/all.h"

#include "millrace/ops/array/families.h"
#include "millrace/ops/collective/families.h"
#include "millrace/ops/ctc/families.h"
#include "millrace/ops/data/families.h"
#include "millrace/ops/exchange/families.h"
#include "millrace/ops/files/families.h"
#include "millrace/ops/flow/families.h"
#include "millrace/ops/image/families.h"
#include "millrace/ops/linalg/families.h"
#include "millrace/ops/lists/families.h"
#include "millrace/ops/math/families.h"
#include "millrace/ops/nn/families.h"
#include "millrace/ops/parsing/families.h"
#include "millrace/ops/ragged/families.h"
#include "millrace/ops/random/families.h"
#include "millrace/ops/readers/families.h"
#include "millrace/ops/recurrent/families.h"
#include "millrace/ops/sampling/families.h"
#include "millrace/ops/script/families.h"
#include "millrace/ops/sparse/families.h"
#include "millrace/ops/spectral/families.h"
#include "millrace/ops/state/families.h"
#include "millrace/ops/summary/families.h"
#include "millrace/ops/tables/families.h"
#include "millrace/ops/text/families.h"
#include "millrace/ops/training/families.h"
#include "millrace/ops/transfer/families.h"

namespace millrace {

std::span<const OpRoom> op_rooms() {
  static constexpr OpRoom kRooms[] = {
      {"flow", register_flow},
      {"transfer", register_transfer},
      {"array", register_array},
      {"math", register_math},
      {"state", register_state},
      {"lists", register_lists},
      {"text", register_text},
      {"random", register_random},
      {"nn", register_nn},
      {"training", register_training},
      {"files", register_files},
      {"exchange", register_exchange},
      {"tables", register_tables},
      {"sampling", register_sampling},
      {"summary", register_summary},
      {"parsing", register_parsing},
      {"image", register_image},
      {"readers", register_readers},
      {"recurrent", register_recurrent},
      {"sparse", register_sparse},
      {"ctc", register_ctc},
      {"ragged", register_ragged},
      {"linalg", register_linalg},
      {"spectral", register_spectral},
      {"data", register_data},
      {"script", register_script},
      {"collective", register_collective},
  };
  return kRooms;
}

Status register_all_ops(OpRegistry& ops, std::shared_ptr<ScriptHost> scripts) {
  const OpRegistry::LeavesUnread quickly(ops);
  for (const OpRoom& room : op_rooms()) {
    if (room.add == &register_script) {
      MR_TRY(register_script_calls(ops, scripts).with(room.name));
      continue;
    }
    MR_TRY(room.add(ops).with(room.name));
  }
  return {};
}

}  // namespace millrace
