#include "millrace/ops/files/families.h"

namespace millrace {

Status register_files(OpRegistry& ops) {
  MR_TRY(register_checkpoints(ops));
  MR_TRY(register_file_names(ops));
  MR_TRY(register_first_format(ops));
  MR_TRY(register_remaps(ops));
  return register_whole_files(ops);
}

}  // namespace millrace
