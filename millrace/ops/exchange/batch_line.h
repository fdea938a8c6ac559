// BatchLine: tasks that stand in line, and the batches that they become. Pure: no thread, no lock,
// no clock; whoever has it tells the time and carries out what it says (batcher.h).
//
//   line.add(1, rows, kind, now);                   // in the batch that is open, or in new ones
//   if (line.due() <= now) work_on(line.take());    // the oldest batch
//
// A batch is due when it is full, when another one waits behind it, or when its first task has
// waited for as long as the rules say. Only tasks of one kind lie in one batch: what can't be put
// together isn't.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "millrace/ops/exchange/batch_rules.h"

namespace millrace {

class BatchLine {
 public:
  // Rows [begin, end) of a task.
  struct Piece {
    uint64_t task = 0;
    int64_t begin = 0, end = 0;
    friend bool operator==(const Piece&, const Piece&) = default;
  };

  explicit BatchLine(BatchRules rules) : rules_(std::move(rules)) {}

  // Errors: INVALID_ARGUMENT for more rows than a task may have, or than 4096 batches hold;
  // UNAVAILABLE, if as many batches wait as may.
  Status add(uint64_t task, int64_t rows, const std::string& kind, Clock::Time now);
  // Nothing if it is not in line any more.
  void remove(uint64_t task);
  // From when on take() may be called: the beginning of time for what is full. None if the line is
  // empty.
  std::optional<Clock::Time> due() const;
  // The oldest batch; its pieces in the order in which they came. Requires that one is there.
  std::vector<Piece> take();

  bool empty() const { return batches_.empty(); }
  size_t batches() const { return batches_.size(); }
  int64_t rows() const;

 private:
  struct Waiting {
    Piece piece;
    Clock::Time since;
  };
  struct Batch {
    std::string kind;
    std::vector<Waiting> pieces;
    int64_t rows = 0;
  };

  bool is_full(size_t batch) const {
    return batch + 1 < batches_.size() || batches_[batch].rows >= rules_.batch_rows;
  }
  // Into how many rows of the last batch something of this kind may go.
  int64_t room(const std::string& kind) const;
  void leave_rest();

  const BatchRules rules_;
  std::deque<Batch> batches_;  // oldest first; none of them without pieces
};

}  // namespace millrace
