#include "millrace/ops/parsing/families.h"

namespace millrace {

Status register_parsing(OpRegistry& ops) {
  MR_TRY(register_examples(ops));
  MR_TRY(register_sequences(ops));
  MR_TRY(register_sequence_batches(ops));
  MR_TRY(register_json_examples(ops));
  MR_TRY(register_records(ops));
  return register_packed(ops);
}

}  // namespace millrace
