// Datasets of every so many elements of another one, for whoever makes some.
#pragma once

#include "millrace/ops/data/dataset.h"

namespace millrace::data {

// Every `shards`-th element, from number `index` on. Requires 0 <= index < shards.
DatasetPtr sharded(DatasetPtr input, int64_t shards, int64_t index);

}  // namespace millrace::data
