// FunctionTask: one run of a BatchFunction node. Its rows lie in one batch or, cut up, in several;
// it is done when all have come back from the function.
#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "millrace/op/function_space.h"
#include "millrace/ops/exchange/batcher.h"

namespace millrace {

class FunctionTask final : public BatchTask {
 public:
  // `function_kind`: tasks whose functions have the same may lie in one batch, which is then the
  // last one's to compute, with what that one has captured.
  FunctionTask(KernelContext& context, std::vector<Tensor> tensors, std::vector<Tensor> captured,
               std::shared_ptr<GraphFunction> function, std::string_view function_kind,
               Done<void> done);

  void work(std::vector<BatchPiece> batch, const BatchRules& rules, Done<void> ended) override;
  void left() override;

 private:
  class Call;
  // False if the step has ended already; else the call hears of its end.
  bool join(const std::shared_ptr<Call>& call);
  // What the function made of rows [begin, end), or why it made nothing.
  void give(int64_t begin, int64_t end, Result<std::vector<Tensor>> outputs);
  void finish(std::map<int64_t, std::vector<Tensor>> parts);

  const std::vector<Tensor> captured_;
  const std::shared_ptr<GraphFunction> function_;

  Mutex mutex_;
  bool has_left_ MR_GUARDED_BY(mutex_) = false;
  int64_t rows_back_ MR_GUARDED_BY(mutex_) = 0;
  std::map<int64_t, std::vector<Tensor>> parts_ MR_GUARDED_BY(mutex_);  // by their first row
  std::vector<std::weak_ptr<Call>> calls_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
