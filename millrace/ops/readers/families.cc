#include "millrace/ops/readers/families.h"

namespace millrace {

Status register_readers(OpRegistry& ops) {
  MR_TRY(register_reader_handles(ops));
  MR_TRY(register_record_inputs(ops));
  return register_reader_accesses(ops);
}

}  // namespace millrace
