#include "millrace/ops/exchange/batch_line.h"

#include <algorithm>
#include <utility>

namespace millrace {
namespace {

constexpr int64_t kMostOfTask = 4096;

}  // namespace

int64_t BatchLine::room(const std::string& kind) const {
  if (batches_.empty() || batches_.back().kind != kind) return 0;
  return rules_.batch_rows - batches_.back().rows;
}

Status BatchLine::add(uint64_t task, int64_t rows, const std::string& kind, Clock::Time now) {
  if (rows > rules_.task_rows) {
    return invalid("Task size ", rows, " is larger than maximum input batch size ",
                   rules_.task_rows);
  }
  const int64_t room = this->room(kind);
  const bool joins = room > 0 && (rows <= room || rules_.splits);
  const int64_t first = joins ? std::min(rows, room) : 0;
  const int64_t left = rows - first;
  // One that has no rows has a batch as well.
  int64_t more = left == 0 ? 0 : (left - 1) / rules_.batch_rows + 1;
  if (!joins) more = std::max<int64_t>(more, 1);
  if (more > kMostOfTask) {
    return invalid("a task of ", rows, " rows would lie in ", more, " batches of ",
                   rules_.batch_rows, "; ", kMostOfTask, " is the most that is supported");
  }
  if (static_cast<int64_t>(batches_.size()) + more > std::max(rules_.waiting, more)) {
    return unavailable("The batch scheduling queue to which this task was submitted is full; ",
                       batches_.size(), " batches wait, and max_enqueued_batches is ",
                       rules_.waiting);
  }
  if (joins) {
    batches_.back().pieces.push_back({{task, 0, first}, now});
    batches_.back().rows += first;
  }
  for (int64_t i = 0, begin = first; i < more; ++i) {
    const int64_t end = std::min(rows, begin + rules_.batch_rows);
    batches_.push_back({kind, {{{task, begin, end}, now}}, end - begin});
    begin = end;
  }
  return {};
}

void BatchLine::remove(uint64_t task) {
  for (Batch& batch : batches_) {
    const auto is_gone = [&](const Waiting& waiting) {
      if (waiting.piece.task != task) return false;
      batch.rows -= waiting.piece.end - waiting.piece.begin;
      return true;
    };
    std::erase_if(batch.pieces, is_gone);
  }
  std::erase_if(batches_, [](const Batch& batch) { return batch.pieces.empty(); });
}

std::optional<Clock::Time> BatchLine::due() const {
  if (batches_.empty()) return std::nullopt;
  if (is_full(0)) return Clock::Time::min();
  return batches_[0].pieces.front().since + rules_.timeout;
}

// What a batch of an allowed size has no place for goes on waiting, if tasks end there.
void BatchLine::leave_rest() {
  Batch& batch = batches_.front();
  const int64_t size = rules_.size_below(batch.rows);
  if (size == 0 || rules_.padded(batch.rows) == batch.rows) return;
  int64_t rows = 0;
  auto rest = batch.pieces.begin();
  for (; rows < size; ++rest) rows += rest->piece.end - rest->piece.begin;
  if (rows != size) return;
  Batch left{batch.kind, {rest, batch.pieces.end()}, batch.rows - rows};
  batch.pieces.erase(rest, batch.pieces.end());
  batch.rows = rows;
  batches_.insert(batches_.begin() + 1, std::move(left));
}

std::vector<BatchLine::Piece> BatchLine::take() {
  if (rules_.rounds_down && batches_.size() == 1) leave_rest();
  std::vector<Piece> taken;
  for (const Waiting& waiting : batches_.front().pieces) taken.push_back(waiting.piece);
  batches_.pop_front();
  return taken;
}

int64_t BatchLine::rows() const {
  int64_t rows = 0;
  for (const Batch& batch : batches_) rows += batch.rows;
  return rows;
}

}  // namespace millrace
