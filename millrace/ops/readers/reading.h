// Reading: one call of ReaderRead or ReaderReadUpTo.
//
// It waits for its turn, then for a name from the queue unless the reader is amid a file, then for
// the disk; and again if that file has nothing more. A cancelled step gets its answer at once; the
// turn ends only when the disk has answered too. A name that was taken and not yet opened then is
// left to the next call.
#pragma once

#include <memory>
#include <optional>

#include "millrace/op/kernel.h"
#include "millrace/ops/readers/reader.h"
#include "millrace/ops/state/queue.h"

namespace millrace {

class Reading : public std::enable_shared_from_this<Reading> {
 public:
  // Requires wanted > 0. `context` must be good until the answer.
  Reading(KernelContext& context, std::shared_ptr<Reader> reader, std::shared_ptr<Queue> queue,
          size_t wanted, Done<ReadRecords> done)
      : context_(context),
        reader_(std::move(reader)),
        queue_(std::move(queue)),
        wanted_(wanted),
        done_(std::move(done)) {}

  // Errors: OUT_OF_RANGE once the queue is closed and empty; INVALID_ARGUMENT if what it gives is
  // no name; FAILED_PRECONDITION on a device without files; the reader's.
  void start();

 private:
  void go_on();
  void read();
  void finish(Status status);

  KernelContext& context_;
  const std::shared_ptr<Reader> reader_;
  const std::shared_ptr<Queue> queue_;
  const size_t wanted_;
  Done<ReadRecords> done_;
  std::optional<ReaderTurn> turn_;
  ReadRecords records_;
  std::atomic<bool> is_abandoned_{false};
};

}  // namespace millrace
