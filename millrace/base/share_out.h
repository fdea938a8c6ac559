// Sharing pieces of work with the threads of a runner.
//
//   MR_TRY(share_out(pool, shards, [&](int64_t shard) { return write(shard); }));
//
// The thread that calls takes part and never waits for another one to become free: it takes one
// piece after the other, and at the end waits only for pieces that others are at. So a runner whose
// threads are all busy, or no runner at all, makes it slower and nothing else. Threads join one
// after the other, each calling the next while there is something left to do: as many work as the
// runner has free, and a small task is over before many were woken.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"

#include "millrace/base/result.h"
#include "millrace/base/runner.h"

namespace millrace {

// Calls work(piece) once for each piece of [0, pieces), on any thread and in any order, and returns
// when all calls have. The first error ends it: pieces not begun by then are left out. `runner` may
// be null: then all of them are done here, in order. It must stay until this returns; what was
// posted to it may run later, and touches nothing then.
// Errors: the first of a piece.
Status share_out(Runner* runner, int64_t pieces, absl::FunctionRef<Status(int64_t piece)> work);

}  // namespace millrace
