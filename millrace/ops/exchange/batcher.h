// Batcher: where steps that run a batching node meet. Each brings a task, rows of tensors, and
// waits without a thread until they have gone through a batch with those of others.
//
// BatchLine says which tasks make a batch, and when; this gives it a lock, the time and a pool. The
// last task of a batch says what is done with it (BatchTask::work), on the pool; as many batches
// are worked on at once as the rules say, over all lines. A cancelled step leaves at once, whether
// its task is in line or being worked on. Where nobody has told the device the time, no batch waits
// for more, and all is done by who brings a task. Thread-safe.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/base/cancellation.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/exchange/batch_line.h"
#include "millrace/ops/state/device_time.h"

namespace millrace {

class BatchTask;

// Rows [begin, end) of a task that lie in a batch.
struct BatchPiece {
  std::shared_ptr<BatchTask> task;
  int64_t begin = 0, end = 0;
};

// One run of a batching node. Its kernel's context may be touched by who has claimed it alone.
class BatchTask {
 public:
  BatchTask(KernelContext& context, std::vector<Tensor> tensors, Done<void> done);
  virtual ~BatchTask() = default;

  const std::vector<Tensor>& tensors() const { return tensors_; }
  // The first size of each of them.
  int64_t rows() const { return tensors_.empty() ? 0 : tensors_[0].shape().dim(0); }
  // Tasks of one kind may lie in one batch.
  const std::string& kind() const { return kind_; }

  // True for the first who asks: it answers.
  bool claim() { return !is_claimed_.exchange(true); }
  bool is_claimed() const { return is_claimed_.load(); }
  // Requires a claim.
  void answer(Status status);

  // Called for the last task of a batch. Answers all tasks, then calls `ended`, maybe much later.
  virtual void work(std::vector<BatchPiece> batch, const BatchRules& rules, Done<void> ended) = 0;
  // The step was cancelled: the task has been answered.
  virtual void left() {}

 protected:
  // Requires a claim.
  KernelContext& context() { return context_; }

  std::string kind_;  // for who makes it to add to; constant from then on

 private:
  friend class Batcher;
  KernelContext& context_;
  const std::vector<Tensor> tensors_;
  std::atomic<bool> is_claimed_{false};
  uint64_t ticket_ = 0;  // of its batcher; 0 before it stands in line
  Cancellation::Registration registration_;
  Done<void> done_;
};

class Batcher final : public Resource, public std::enable_shared_from_this<Batcher> {
 public:
  static constexpr std::string_view kTypeName = "batcher";

  // `time` may be null.
  Batcher(BatchRules rules, std::shared_ptr<const DeviceTime> time, std::string name);
  ~Batcher() override;

  // The task is answered when its rows have gone through; by an error if they can't, or if the
  // step of its context is cancelled.
  void submit(const std::string& line, std::shared_ptr<BatchTask> task);

  std::string description() const override;
  void close(const Status& why) override;

 private:
  using Pieces = std::vector<BatchPiece>;
  struct Standing {
    std::shared_ptr<BatchTask> task;
    BatchLine* line;
  };
  Status stand(const std::string& line, const std::shared_ptr<BatchTask>& task) MR_REQUIRES(mutex_);
  void leave_line(BatchTask& task) MR_REQUIRES(mutex_);
  bool has_free_thread() const MR_REQUIRES(mutex_) {
    return rules_.threads == 0 || at_work_ < rules_.threads;
  }
  std::optional<Pieces> take_due() MR_REQUIRES(mutex_);
  Pieces take_from(BatchLine& line) MR_REQUIRES(mutex_);
  void set_timer() MR_REQUIRES(mutex_);
  void wake();
  void pump();
  void work(Pieces pieces);
  void cancel(const std::shared_ptr<BatchTask>& task);
  Status cancelled_here() const;

  const BatchRules rules_;
  const std::shared_ptr<const DeviceTime> time_;
  const std::string name_;

  mutable Mutex mutex_;
  Status closed_ MR_GUARDED_BY(mutex_);
  std::map<std::string, BatchLine> lines_ MR_GUARDED_BY(mutex_);
  std::string last_served_ MR_GUARDED_BY(mutex_);                // lines take turns
  std::map<uint64_t, Standing> standing_ MR_GUARDED_BY(mutex_);  // by ticket
  uint64_t last_ticket_ MR_GUARDED_BY(mutex_) = 0;
  int64_t at_work_ MR_GUARDED_BY(mutex_) = 0;
  std::optional<Clock::Time> timer_is_for_ MR_GUARDED_BY(mutex_);
  Timers::Timer timer_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
