// The last step of a save: files that are written under names of their own become the checkpoint,
// at once.
//
// What a checkpoint's data files are called follows from how many they are. If there is a
// checkpoint already, the new one gets another number of shards (an empty one more, if need be), so
// that its data never takes the names of the old one's: until the index is renamed the old
// checkpoint is whole, from then on the new one is.
#pragma once

#include <string>
#include <vector>

#include "millrace/base/files.h"
#include "millrace/base/random.h"
#include "millrace/base/runner.h"

namespace millrace::io {

// How many shards a new checkpoint of `wanted` shards gets at `prefix`: one more if the one that is
// there has as many. Errors: UNAVAILABLE and CANCELLED if a remote store does not say what is
// there.
Result<int> shards_for(Files& files, const std::string& prefix, int wanted);

// Renames `data`, a path for each shard but perhaps the last, which is made empty then, and
// `index`, which tells of `count` shards; then removes what belonged to the checkpoint before, with
// the threads of `others`, if there are any.
// Errors: what the disk says; the checkpoint that was there is whole then.
Status put_in_place(Files& files, const std::vector<std::string>& data, const std::string& index,
                    int count, const std::string& prefix, Random& random, Runner* others = nullptr);

}  // namespace millrace::io
