#include "millrace/ops/exchange/function_task.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "millrace/ops/exchange/batch_rows.h"

namespace millrace {

// A call of the function with one batch. It goes on as long as one of the batch's steps does.
class FunctionTask::Call final : public FunctionRun {
 public:
  Call(std::vector<BatchPiece> batch, Done<void> when_ended)
      : batch_(std::move(batch)), when_ended_(std::move(when_ended)) {}

  // Leaves out what belongs to steps that have ended.
  void gather(const std::shared_ptr<Call>& self) {
    std::erase_if(batch_, [&](const BatchPiece& piece) {
      ++steps_;
      if (task_of(piece).join(self)) return false;
      --steps_;
      return true;
    });
    lose_step();
  }
  void start(const BatchRules& rules, const std::vector<Tensor>& captured,
             const std::shared_ptr<GraphFunction>& function, const std::shared_ptr<Call>& self) {
    if (batch_.empty()) return ended({});
    rows_ = rules.padded(rows_of(batch_));
    auto joined = joined_pieces(batch_, rules);
    if (!joined.ok()) return ended(joined.status());
    arguments = *std::move(joined);
    arguments.insert(arguments.end(), captured.begin(), captured.end());
    function->run(self);
  }
  void lose_step() {
    if (--steps_ == 0)
      cancellation.cancel(cancelled("all steps of a batch have ended").as_consequence());
  }

  void ended(Status status) override {
    if (status.ok()) status = check_rows();
    int64_t row = 0;
    for (const BatchPiece& piece : batch_) {
      const int64_t end = row + piece.end - piece.begin;
      if (status.ok()) {
        task_of(piece).give(piece.begin, piece.end, cut(row, end));
      } else {
        task_of(piece).give(piece.begin, piece.end, status);
      }
      row = end;
    }
    results.clear();
    batch_.clear();
    when_ended_({});
  }

 private:
  static FunctionTask& task_of(const BatchPiece& piece) {
    return static_cast<FunctionTask&>(*piece.task);
  }

  Status check_rows() const {
    for (size_t i = 0; i < results.size(); ++i) {
      const Shape& shape = results[i].shape();
      if (shape.is_scalar()) {
        return failed_precondition("Batched output tensor has 0 dimensions: result ", i,
                                   " of the function is a scalar");
      }
      if (shape.dim(0) == rows_) continue;
      return failed_precondition(
          "Batched output tensor's 0th dimension does not equal the sum of the 0th dimension sizes "
          "of the input tensors: result ",
          i, " of the function has ", shape.dim(0), " rows, and it was given ", rows_);
    }
    return {};
  }

  Result<std::vector<Tensor>> cut(int64_t begin, int64_t end) const {
    std::vector<Tensor> parts;
    for (const Tensor& result : results) {
      MR_ASSIGN(Tensor rows, result.rows(begin, end));
      parts.push_back(std::move(rows));
    }
    return parts;
  }

  std::vector<BatchPiece> batch_;  // constant while the function runs
  int64_t rows_ = 0;               // that it is given
  // One more than there are while they are gathered.
  std::atomic<int64_t> steps_{1};
  Done<void> when_ended_;
};

FunctionTask::FunctionTask(KernelContext& context, std::vector<Tensor> tensors,
                           std::vector<Tensor> captured, std::shared_ptr<GraphFunction> function,
                           std::string_view function_kind, Done<void> done)
    : BatchTask(context, std::move(tensors), std::move(done)),
      captured_(std::move(captured)),
      function_(std::move(function)) {
  // All of a batch are of this class, and have functions of the same types.
  kind_ += str_cat(" of BatchFunction ", function_kind);
}

void FunctionTask::work(std::vector<BatchPiece> batch, const BatchRules& rules, Done<void> ended) {
  const auto call = std::make_shared<Call>(std::move(batch), std::move(ended));
  call->gather(call);
  call->start(rules, captured_, function_, call);
}

bool FunctionTask::join(const std::shared_ptr<Call>& call) {
  MutexLock lock(mutex_);
  if (has_left_) return false;
  calls_.push_back(call);
  return true;
}

void FunctionTask::left() {
  std::vector<std::weak_ptr<Call>> calls;
  {
    MutexLock lock(mutex_);
    has_left_ = true;
    calls.swap(calls_);
  }
  for (const std::weak_ptr<Call>& weak : calls)
    if (const auto call = weak.lock()) call->lose_step();
}

void FunctionTask::give(int64_t begin, int64_t end, Result<std::vector<Tensor>> outputs) {
  if (!outputs.ok()) {
    if (claim()) answer(std::move(outputs).status());
    return;
  }
  std::map<int64_t, std::vector<Tensor>> all;
  {
    MutexLock lock(mutex_);
    parts_[begin] = *std::move(outputs);
    rows_back_ += end - begin;
    if (rows_back_ < rows()) return;
    all.swap(parts_);
  }
  finish(std::move(all));
}

void FunctionTask::finish(std::map<int64_t, std::vector<Tensor>> parts) {
  std::vector<Result<Tensor>> outputs;
  for (size_t i = 0; i < parts.begin()->second.size(); ++i) {
    std::vector<Tensor> of_output;
    for (auto& [begin, part] : parts) of_output.push_back(std::move(part[i]));
    outputs.push_back(joined_alike(of_output, rows()));
  }
  if (!claim()) return;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (Status status = context().set_output(static_cast<int>(i), std::move(outputs[i]));
        !status.ok())
      return answer(std::move(status));
  }
  answer({});
}

}  // namespace millrace
