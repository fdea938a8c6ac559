// Several checkpoints of disjoint tensors become one: what a sharded save ends with.
#pragma once

#include <string>
#include <vector>

#include "millrace/base/files.h"
#include "millrace/base/random.h"

namespace millrace::io {

// Moves the data of `prefixes` to `destination` and writes one index over it; then removes the old
// indices. Slices of one tensor may come from several. Errors: INVALID_ARGUMENT for no prefixes or
// a tensor that two of them have; NOT_FOUND for one that is missing; DATA_LOSS for an index that
// names a shard it does not count; what the disk says. The data is moved once the new index is
// written, so that an error before leaves all as it was.
Status merge_bundles(Files& files, const std::vector<std::string>& prefixes,
                     const std::string& destination, Random& random);

}  // namespace millrace::io
