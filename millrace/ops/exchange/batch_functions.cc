#include "millrace/ops/exchange/batch_functions.h"

#include <utility>

#include "millrace/op/function_space.h"
#include "millrace/op/infer.h"
#include "millrace/ops/exchange/batch_node.h"
#include "millrace/ops/exchange/batch_rows.h"
#include "millrace/ops/exchange/function_task.h"
#include "millrace/ops/state/stateful_op.h"

namespace millrace {
namespace {

class BatchFunctionKernel final : public Kernel, public FunctionCaller {
 public:
  BatchFunctionKernel(std::unique_ptr<BatchNode> node, FunctionRef called, int batched,
                      std::vector<DType> inputs, std::vector<DType> outputs)
      : node_(std::move(node)),
        called_(std::move(called)),
        batched_(batched),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    MR_ASSIGN(std::unique_ptr<BatchNode> node, BatchNode::read(spec));
    const AttrValue* called = spec.attrs.find("f");
    if (called == nullptr || called->as_func() == nullptr)
      return invalid("attribute 'f' names no function");
    MR_ASSIGN(std::vector<DType> inputs, spec.attrs.types("Tin"));
    const int batched = static_cast<int>(inputs.size());
    MR_ASSIGN(const std::vector<DType> captured, spec.attrs.types("Tcaptured"));
    inputs.insert(inputs.end(), captured.begin(), captured.end());
    MR_ASSIGN(std::vector<DType> outputs, spec.attrs.types("Tout"));
    return std::unique_ptr<Kernel>(std::make_unique<BatchFunctionKernel>(
        std::move(node), *called->as_func(), batched, std::move(inputs), std::move(outputs)));
  }

  void give_functions(std::shared_ptr<FunctionSpace> functions) override {
    functions_ = std::move(functions);
    // Those of other sessions may be called the same and compute something else.
    kind_ = str_cat(called_.name, " ", reinterpret_cast<uintptr_t>(functions_.get()));
    if (!called_.attrs.empty()) kind_ += str_cat(" ", reinterpret_cast<uintptr_t>(this));
  }
  bool is_async() const override { return true; }
  void start(KernelContext& context, Done<void> done) override {
    auto task = make_task(context, done);
    if (!task.ok()) return done(task.status());
    auto batcher = node_->batcher(context);
    if (!batcher.ok()) {
      (void)(*task)->claim();
      return (*task)->answer(batcher.status());
    }
    (*batcher)->submit(node_->line(), *std::move(task));
  }

 private:
  // Takes `done` unless it fails.
  Result<std::shared_ptr<FunctionTask>> make_task(KernelContext& context, Done<void>& done) {
    MR_ASSIGN(std::shared_ptr<GraphFunction> function, this->function());
    MR_ASSIGN(std::vector<Tensor> tensors, batch_inputs(context, batched_));
    std::vector<Tensor> captured;
    for (int slot = batched_; slot < context.num_inputs(); ++slot) {
      MR_ASSIGN(Tensor kept, context.take_input(slot).kept());
      captured.push_back(std::move(kept));
    }
    return std::make_shared<FunctionTask>(context, std::move(tensors), std::move(captured),
                                          std::move(function), kind_, std::move(done));
  }

  Result<std::shared_ptr<GraphFunction>> function() {
    MutexLock lock(mutex_);
    if (function_ != nullptr) return function_;
    if (functions_ == nullptr) return not_found("Function ", called_.name, " is not defined");
    MR_ASSIGN(std::shared_ptr<GraphFunction> made, functions_->instantiate(called_));
    const size_t takes = made->argument_types().size();
    if (takes != inputs_.size()) {
      return invalid("Function takes ", takes, " argument(s) but ", inputs_.size(),
                     " argument(s) were passed");
    }
    if (made->argument_types() != inputs_ || made->result_types() != outputs_)
      return invalid("function ", called_.name,
                     " has other types than Tin, Tcaptured and Tout say");
    function_ = made;
    return made;
  }

  const std::unique_ptr<BatchNode> node_;
  const FunctionRef called_;
  const int batched_;  // how many of the inputs
  const std::vector<DType> inputs_, outputs_;
  std::shared_ptr<FunctionSpace> functions_;  // constant after give_functions
  std::string kind_;                          // the same

  Mutex mutex_;
  std::shared_ptr<GraphFunction> function_ MR_GUARDED_BY(mutex_);
};

}  // namespace

Status add_batch_functions(OpRegistry& ops) {
  OpDef op = stateful_op(
      "BatchFunction",
      "Calls f once for the rows of all steps that run it at once, put together along the first "
      "axis, and gives each step the rows that became of its own. A batch goes when it is full or "
      "batch_timeout_micros after its first rows came. All steps have the same priority; what f "
      "captures is the last step's.",
      "in_tensors: Tin, captured_tensors: Tcaptured -> out_tensors: Tout | f: func, "
      "num_batch_threads: int, max_batch_size: int, batch_timeout_micros: int, "
      "max_enqueued_batches: int = 10, allowed_batch_sizes: list(int) = {}, "
      "container: string = '', shared_name: string = '', batching_queue: string = '', "
      "low_priority_max_batch_size: int = 0, low_priority_batch_timeout_micros: int = 0, "
      "low_priority_allowed_batch_sizes: list(int) = {}, "
      "low_priority_max_enqueued_batches: int = 0, "
      "mixed_priority_policy: {'low_priority_padding_with_max_batch_size', "
      "'low_priority_padding_with_next_allowed_batch_size', 'priority_isolation', "
      "'priority_merge'} = 'low_priority_padding_with_max_batch_size', "
      "batch_padding_policy: {'PAD_UP', 'BATCH_DOWN', 'MINIMIZE_TPU_COST_PER_REQUEST'} = 'PAD_UP', "
      "Tin: list(type) >= 1, Tcaptured: list(type) >= 0, Tout: list(type) >= 1, "
      "enable_large_batch_splitting: bool = false",
      infer::unknown, kernel_class<BatchFunctionKernel>());
  op.not_differentiable = "what it gives depends on who else runs it, and TensorFlow has none";
  return ops.add(std::move(op));
}

}  // namespace millrace
