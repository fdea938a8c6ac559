#include "millrace/ops/tables/families.h"

namespace millrace {

Status register_tables(OpRegistry& ops) {
  MR_TRY(register_table_handles(ops));
  return register_lookups(ops);
}

}  // namespace millrace
