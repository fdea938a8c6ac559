// The families of ops in this room: hash tables.
//
// A family is a source file with its ops as values; register_tables adds all of them.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

// All of them.
Status register_tables(OpRegistry& ops);

// Ops that make tables: HashTableV2 … The rules are in table.h.
Status register_table_handles(OpRegistry& ops);

// Ops that fill, ask and change tables: InitializeTableV2, LookupTableFindV2 …
Status register_lookups(OpRegistry& ops);

}  // namespace millrace
