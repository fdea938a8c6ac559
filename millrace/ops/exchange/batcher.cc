#include "millrace/ops/exchange/batcher.h"

#include <utility>

namespace millrace {

BatchTask::BatchTask(KernelContext& context, std::vector<Tensor> tensors, Done<void> done)
    : context_(context), tensors_(std::move(tensors)), done_(std::move(done)) {
  for (const Tensor& tensor : tensors_) {
    // Rows of one shape can be put together.
    kind_ += str_cat(dtype_name(tensor.dtype()), "[");
    for (const int64_t dim : tensor.shape().dims().subspan(1)) kind_ += str_cat(dim, ",");
    kind_ += "]";
  }
}

void BatchTask::answer(Status status) {
  // Before the answer: what waits may destroy its cancellation once it has it.
  registration_.release();
  Done<void> done = std::move(done_);
  done(std::move(status));
}

Batcher::Batcher(BatchRules rules, std::shared_ptr<const DeviceTime> time, std::string name)
    : rules_(std::move(rules)), time_(std::move(time)), name_(std::move(name)) {}

Batcher::~Batcher() { close(cancelled("batcher '", name_, "' was dropped")); }

Status Batcher::cancelled_here() const {
  return cancelled("a step has ended while its task was in batcher '", name_, "'").as_consequence();
}

void Batcher::submit(const std::string& line, std::shared_ptr<BatchTask> task) {
  Cancellation* const cancellation = task->context_.step().cancellation;
  // It hears of the task first: once that is in line it may be answered at any moment, and the
  // cancellation may be gone right after. A callback that comes before that finds no ticket.
  if (cancellation != nullptr) {
    task->registration_ = cancellation->on_cancel(
        [self = shared_from_this(), weak = std::weak_ptr<BatchTask>(task)](const Status&) mutable {
          // The task may take this function with it.
          const auto batcher = std::move(self);
          if (const auto task = weak.lock()) batcher->cancel(task);
        });
  }
  Status status;
  {
    MutexLock lock(mutex_);
    status = closed_.ok() ? stand(line, task) : closed_;
    if (status.ok() && cancellation != nullptr && cancellation->cancelled()) {
      leave_line(*task);
      status = cancelled_here();
    }
  }
  if (status.ok()) return pump();
  if (task->claim()) task->answer(std::move(status));
}

Status Batcher::stand(const std::string& line, const std::shared_ptr<BatchTask>& task) {
  BatchLine& chosen = lines_.try_emplace(line, rules_).first->second;
  const Clock::Time now = time_ == nullptr ? Clock::Time() : time_->clock().now();
  MR_TRY(chosen.add(last_ticket_ + 1, task->rows(), task->kind(), now));
  task->ticket_ = ++last_ticket_;
  standing_[task->ticket_] = {task, &chosen};
  return {};
}

void Batcher::leave_line(BatchTask& task) {
  const auto found = standing_.find(task.ticket_);
  if (found == standing_.end()) return;
  found->second.line->remove(task.ticket_);
  standing_.erase(found);
}

void Batcher::cancel(const std::shared_ptr<BatchTask>& task) {
  {
    MutexLock lock(mutex_);
    if (task->ticket_ == 0) return;
    leave_line(*task);
  }
  if (!task->claim()) return;
  task->left();
  task->answer(cancelled_here());
}

Batcher::Pieces Batcher::take_from(BatchLine& line) {
  Pieces pieces;
  for (const BatchLine::Piece& piece : line.take()) {
    const auto found = standing_.find(piece.task);
    pieces.push_back({found->second.task, piece.begin, piece.end});
    if (piece.end == found->second.task->rows()) standing_.erase(found);
  }
  return pieces;
}

std::optional<Batcher::Pieces> Batcher::take_due() {
  if (!has_free_thread()) return std::nullopt;
  // Each line once, beginning behind the one that was served last.
  auto it = lines_.upper_bound(last_served_);
  for (size_t i = 0; i < lines_.size(); ++i, ++it) {
    if (it == lines_.end()) it = lines_.begin();
    const std::optional<Clock::Time> due = it->second.due();
    if (!due || (time_ != nullptr && *due > time_->clock().now())) continue;
    last_served_ = it->first;
    ++at_work_;
    return take_from(it->second);
  }
  return std::nullopt;
}

// For what is due next; without a free thread the end of a batch looks again.
void Batcher::set_timer() {
  if (time_ == nullptr || !has_free_thread()) return;
  std::optional<Clock::Time> next;
  for (const auto& [name, line] : lines_) {
    const std::optional<Clock::Time> due = line.due();
    if (due && (!next || *due < *next)) next = due;
  }
  if (!next || (timer_is_for_ && *timer_is_for_ <= *next)) return;
  timer_is_for_ = next;
  // The callback takes no lock, so that a timer can be replaced under it.
  timer_ = time_->timers().at(*next, [weak = weak_from_this(), time = time_] {
    time->pool().post([weak] {
      if (const auto batcher = weak.lock()) batcher->wake();
    });
  });
}

void Batcher::wake() {
  {
    MutexLock lock(mutex_);
    timer_is_for_.reset();
  }
  pump();
}

void Batcher::pump() {
  std::vector<Pieces> taken;
  {
    MutexLock lock(mutex_);
    while (auto due = take_due()) taken.push_back(*std::move(due));
    set_timer();
  }
  for (Pieces& pieces : taken) {
    if (time_ == nullptr) {
      work(std::move(pieces));
    } else {
      time_->pool().post([self = shared_from_this(), pieces = std::move(pieces)]() mutable {
        self->work(std::move(pieces));
      });
    }
  }
}

void Batcher::work(Pieces pieces) {
  Done<void> ended([self = shared_from_this()](const Status&) {
    {
      MutexLock lock(self->mutex_);
      --self->at_work_;
    }
    self->pump();
  });
  std::erase_if(pieces, [](const BatchPiece& piece) { return piece.task->is_claimed(); });
  if (pieces.empty()) return ended({});
  const std::shared_ptr<BatchTask> last = pieces.back().task;
  last->work(std::move(pieces), rules_, std::move(ended));
}

std::string Batcher::description() const {
  MutexLock lock(mutex_);
  size_t batches = 0;
  int64_t rows = 0;
  for (const auto& [name, line] : lines_) {
    batches += line.batches();
    rows += line.rows();
  }
  return str_cat("batcher '", name_, "': ", rows, " rows wait in ", batches, " batches, ", at_work_,
                 " are worked on");
}

void Batcher::close(const Status& why) {
  std::map<uint64_t, Standing> left;
  {
    MutexLock lock(mutex_);
    if (closed_.ok()) closed_ = why;
    left.swap(standing_);
    lines_.clear();
    timer_.cancel();
  }
  for (auto& [ticket, standing] : left)
    if (standing.task->claim()) standing.task->answer(why);
}

}  // namespace millrace
