// A Score is what one member does in one run of a collective: its lanes, and the chunks that they
// move. play() carries it out: a lane after the other is started, and each goes on, move by move,
// as pieces come in. No thread waits, but for microseconds where a piece comes as soon as that.
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
  size_t abreast = 8;            // so many lanes go on at once
  // Each lane has so many chunks of its own, one after the other, and chunks that have the same
  // place in their lanes are of about the same size; 0: not so.
  int lane_chunks = 0;
  // If it has a value: a vector of all chunks' elements, in which each chunk becomes what it is in
  // the end. Only for lanes whose chunks have been taken everywhere by the time that they come
  // back. Instead of the chunks it is the answer then.
  Tensor whole = {};
  MergeOp merge_op = MergeOp::add;
};

// Answers with the chunks as they are in the end, or the whole alone. The exchange is ended then;
// the context stays valid until the answer. Errors: those of the exchange, INVALID_ARGUMENT if a
// member brings another type or another number of elements.
void play(KernelContext& context, std::shared_ptr<Exchange> exchange, Score score,
          Done<std::vector<Tensor>> done);

}  // namespace millrace
