// Part of families.h: register_batches: Batch, which puts rows of concurrent steps together.
#include <utility>

#include "millrace/op/gradient.h"
#include "millrace/op/infer.h"
#include "millrace/ops/exchange/batch_functions.h"
#include "millrace/ops/exchange/batch_node.h"
#include "millrace/ops/exchange/batch_rows.h"
#include "millrace/ops/exchange/families.h"
#include "millrace/ops/exchange/unbatches.h"
#include "millrace/ops/state/stateful_op.h"

namespace millrace {
namespace {

// One run of a Batch node: it gets the whole batch, or the same without rows.
class RowsTask final : public BatchTask {
 public:
  RowsTask(KernelContext& context, std::vector<Tensor> tensors, int64_t id, Done<void> done)
      : BatchTask(context, std::move(tensors), std::move(done)), id_(id) {
    kind_ += " of Batch";  // so that all of a batch are of this class
  }

  void work(std::vector<BatchPiece> batch, const BatchRules& rules, Done<void> ended) override {
    // Who has left meanwhile brings nothing.
    std::erase_if(batch, [](const BatchPiece& piece) { return !piece.task->claim(); });
    if (!batch.empty()) give(batch, rules);
    ended({});
  }

 private:
  static void give(std::vector<BatchPiece>& batch, const BatchRules& rules) {
    auto whole = joined_pieces(batch, rules);
    const auto index = index_of(batch);
    Status status = whole.ok() ? index.status() : whole.status();
    for (size_t i = 0; i < batch.size(); ++i) {
      const auto task = std::static_pointer_cast<RowsTask>(batch[i].task);
      Status outcome = status;
      const bool is_last = i + 1 == batch.size();
      if (outcome.ok() && !is_last) outcome = task->give_nothing();
      if (outcome.ok() && is_last) task->give_all(*whole, *index);
      task->answer(std::move(outcome));
    }
  }

  static Result<Tensor> index_of(const std::vector<BatchPiece>& batch) {
    MR_ASSIGN(Tensor index,
              Tensor::allocate(DType::i64, Shape{static_cast<int64_t>(batch.size()), 3}));
    auto cell = index.mutable_flat<int64_t>().begin();
    int64_t row = 0;
    for (const BatchPiece& piece : batch) {
      *cell++ = static_cast<const RowsTask&>(*piece.task).id_;
      *cell++ = row;
      *cell++ = row += piece.end - piece.begin;
    }
    return index;
  }

  Status give_nothing() {
    std::vector<Tensor> none;
    for (const Tensor& tensor : tensors()) {
      MR_ASSIGN(Tensor rows, tensor.rows(0, 0));
      none.push_back(std::move(rows));
    }
    MR_ASSIGN(const Tensor index, Tensor::allocate(DType::i64, Shape{0, 3}));
    give_all(std::move(none), index);
    return {};
  }

  void give_all(std::vector<Tensor> rows, const Tensor& index) {
    const int count = static_cast<int>(rows.size());
    for (int slot = 0; slot < count; ++slot)
      context().set_output(slot, std::move(rows[static_cast<size_t>(slot)]));
    context().set_output(count, index);
    context().set_output(count + 1, Tensor::scalar(id_));
  }

  const int64_t id_;
};

class BatchKernel final : public Kernel {
 public:
  BatchKernel(std::unique_ptr<BatchNode> node, Random* random)
      : node_(std::move(node)),
        own_random_(random == nullptr ? make_random() : nullptr),
        random_(random == nullptr ? *own_random_ : *random) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    MR_ASSIGN(std::unique_ptr<BatchNode> node, BatchNode::read(spec));
    return std::unique_ptr<Kernel>(std::make_unique<BatchKernel>(std::move(node), spec.random));
  }

  bool is_async() const override { return true; }
  void start(KernelContext& context, Done<void> done) override {
    auto batcher = node_->batcher(context);
    if (!batcher.ok()) return done(batcher.status());
    auto tensors = batch_inputs(context, context.num_inputs());
    if (!tensors.ok()) return done(tensors.status());
    const auto id = static_cast<int64_t>(random_.next());
    (*batcher)->submit(node_->line(), std::make_shared<RowsTask>(context, *std::move(tensors), id,
                                                                 std::move(done)));
  }

 private:
  const std::unique_ptr<BatchNode> node_;
  const std::unique_ptr<Random> own_random_;
  Random& random_;
};

Result<PartialShape> any_rows_of(const PartialShape& shape, int slot) {
  if (!shape.has_rank()) return PartialShape();
  if (shape.rank() == 0) return invalid("input ", slot, " is a scalar, which has no rows");
  Shape::Dims dims(shape.dims().begin(), shape.dims().end());
  dims[0] = kUnknownDim;
  return PartialShape::create(dims);
}

Status infer_batch(InferContext& context) {
  const int count = context.num_inputs();
  for (int slot = 0; slot < count; ++slot)
    MR_TRY(context.set_output(slot, any_rows_of(context.input(slot), slot)));
  context.set_output(count, {kUnknownDim, 3});
  context.set_output(count + 1, PartialShape::scalar());
  return {};
}

// What arrives for the whole batch goes back to those who brought the rows.
Status batch_gradient(GradContext& g) {
  MR_ASSIGN(const int64_t timeout, g.attrs().integer("grad_timeout_micros"));
  const int count = g.num_inputs();
  for (int slot = 0; slot < count; ++slot) {
    if (!g.is_needed(slot)) continue;
    g.set_input_grad(slot, g.add("Unbatch", {g.grad(slot), g.output(count), g.output(count + 1)},
                                 {{"timeout_micros", timeout}}));
  }
  return {};
}

}  // namespace

Status register_batches(OpRegistry& ops) {
  OpDef batch = stateful_op(
      "Batch",
      "Puts the rows of steps that run it at once together: one of them gets the batch and its "
      "index, whose rows say which id has which rows, the others get no rows; each gets its id. "
      "A batch goes when it is full or batch_timeout_micros after its first rows came.",
      "in_tensors: T -> batched_tensors: T, batch_index: int64, id: int64 | num_batch_threads: "
      "int, "
      "max_batch_size: int, max_enqueued_batches: int = 10, batch_timeout_micros: int, "
      "allowed_batch_sizes: list(int) = {}, grad_timeout_micros: int, container: string = '', "
      "shared_name: string = '', batching_queue: string = '', T: list(type) >= 1",
      infer_batch, kernel_class<BatchKernel>());
  batch.grad = batch_gradient;
  MR_TRY(ops.add(std::move(batch)));
  MR_TRY(add_unbatches(ops));
  return add_batch_functions(ops);
}

}  // namespace millrace
