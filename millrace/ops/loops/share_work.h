// Sharing the work of one kernel with the threads of the step's pool.
//
//   MR_TRY(share_work(context, images, [&](int64_t image, CancelProbe& probe) -> Status {
//     return convolve(image, probe);
//   }));
//
// The thread that runs the kernel takes part and never waits for a thread to become free: it takes
// one piece after the other, and at the end waits only for pieces that others are computing. So a
// pool whose threads are all busy, or no pool at all, makes it slower and nothing else. Threads
// join one after the other, each calling the next while there is something left to do: as many
// work as the pool has free, and a small task is over before many were woken.
//
// What is a piece must follow from the shapes alone, never from the number of threads: then one
// thread and many add the same numbers in the same order.
#pragma once

#include "absl/functional/function_ref.h"

#include "millrace/op/cancel_probe.h"

namespace millrace {

// Calls work(piece, probe) once for each piece of [0, pieces), on any thread and in any order, and
// returns when all calls have. The first error ends it: pieces not begun by then are left out.
// Errors: that of a piece; CANCELLED if the step ends meanwhile.
Status share_work(KernelContext& context, int64_t pieces,
                  absl::FunctionRef<Status(int64_t piece, CancelProbe& probe)> work);

// The same for a range of `count` equal items, each worth `cost` elementary steps: cut into pieces
// that are worth the hand-over, 64 at most. A range that is not worth it is one piece.
Status share_range(KernelContext& context, int64_t count, int64_t cost,
                   absl::FunctionRef<Status(int64_t begin, int64_t end, CancelProbe& probe)> work);

// The same for a loop that gives no status: body(begin, count) for one straight piece after the
// other, each short enough that the step's end is noticed.
Status share_pieces(KernelContext& context, int64_t count, int64_t cost,
                    absl::FunctionRef<void(int64_t begin, int64_t count)> body);

// Into how many pieces share_range() cuts.
int64_t pieces_of_range(int64_t count, int64_t cost);

}  // namespace millrace
