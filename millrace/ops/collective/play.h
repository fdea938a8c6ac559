// A Score is what one member does in one run of a collective: its lanes, and the chunks that they
// move. play() carries it out: a lane after the other is started, and each goes on, move by move,
// as pieces come in. No thread waits.
#pragma once

#include <memory>
#include <vector>

#include "millrace/ops/collective/collectives.h"
#include "millrace/ops/collective/merge.h"
#include "millrace/ops/collective/schedule.h"

namespace millrace {

struct Score {
  DType dtype = DType::invalid;
  std::vector<Lane> lanes;       // each with chunks of its own
  std::vector<Tensor> chunks;    // vectors; without a value where one is to come
  std::vector<int64_t> lengths;  // of the chunks
  MergeOp merge_op = MergeOp::add;
};

// Answers with the chunks as they are in the end. The exchange is ended then; the context stays
// valid until the answer. Errors: those of the exchange, INVALID_ARGUMENT if a member brings
// another type or another number of elements.
void play(KernelContext& context, std::shared_ptr<Exchange> exchange, Score score,
          Done<std::vector<Tensor>> done);

}  // namespace millrace
