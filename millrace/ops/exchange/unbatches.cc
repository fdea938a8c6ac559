#include "millrace/ops/exchange/unbatches.h"

#include <utility>

#include "millrace/op/gradient.h"
#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/exchange/batch_node.h"
#include "millrace/ops/exchange/batch_rows.h"
#include "millrace/ops/exchange/unbatcher.h"
#include "millrace/ops/state/resource_access.h"
#include "millrace/ops/state/stateful_op.h"

namespace millrace {
namespace {

// --- Unbatch ---

// What each row of the index says is whose.
Result<std::vector<Unbatcher::Part>> cut_up(const Tensor& batch, const Tensor& index) {
  if (batch.shape().is_scalar()) return invalid("batched_tensor is a scalar, which has no rows");
  const int64_t rows = batch.shape().dim(0);
  if (index.shape().is_scalar() || index.shape().dim(0) > rows) {
    return invalid(
        "Wrong shape for index tensor. Expected 0th dimension size to be no greater than ", rows,
        "; Got: ", index.shape().is_scalar() ? 0 : index.shape().dim(0), ".");
  }
  if (index.shape().rank() != 2 || index.shape().dim(1) != 3) {
    return invalid("Wrong shape for index tensor. Expected 1st dimension size to be 3 ; Got: ",
                   index.shape().to_string());
  }
  std::vector<Unbatcher::Part> parts;
  const auto cells = index.flat<int64_t>();
  int64_t begin = 0;
  for (size_t i = 0; i < cells.size(); i += 3) {
    // By their sizes, one behind the other, as they were put together.
    if (cells[i + 1] < 0 || cells[i + 2] < cells[i + 1])
      return invalid("batch_index says that ", cells[i], " has the rows from ", cells[i + 1],
                     " to ", cells[i + 2]);
    if (cells[i + 2] - cells[i + 1] > rows - begin) {
      return invalid("Sum of split sizes must not exceed dim0-size of input tensor: it is ", rows,
                     ", and row ", i / 3, " of batch_index asks for more");
    }
    const int64_t end = begin + cells[i + 2] - cells[i + 1];
    MR_ASSIGN(Tensor part, batch.rows(begin, end));
    MR_ASSIGN(Tensor kept, part.kept());
    parts.push_back({cells[i], std::move(kept)});
    begin = end;
  }
  return parts;
}

class UnbatchKernel final : public Kernel {
 public:
  UnbatchKernel(ResourceName name, Clock::Duration patience)
      : name_(std::move(name)), patience_(patience) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    MR_ASSIGN(ResourceName name, resource_name_of(spec));
    MR_ASSIGN(const int64_t micros, spec.attrs.integer("timeout_micros"));
    if (micros < 0) return invalid("timeout_micros must be at least 0, not ", micros);
    return std::unique_ptr<Kernel>(
        std::make_unique<UnbatchKernel>(std::move(name), batch_wait(micros)));
  }

  bool is_async() const override { return true; }
  void start(KernelContext& context, Done<void> done) override {
    const Tensor& id = context.input(2);
    if (!id.shape().is_scalar())
      return done(invalid("Input id should be scalar; Got: ", id.to_string(), "."));
    auto unbatcher = found_.get(
        *context.step().device->resources, name_,
        [&](ResourceStore& resources, const ResourceName& name) {
          return resources.find_or_create<Unbatcher>(
              name.container, name.name, [&]() -> Result<std::shared_ptr<Unbatcher>> {
                return std::make_shared<Unbatcher>(patience_, time_of(context), name.name);
              });
        });
    if (!unbatcher.ok()) return done(unbatcher.status());
    auto parts = cut_up(context.input(0), context.input(1));
    if (!parts.ok()) return done(parts.status());
    if (Status brought = (*unbatcher)->bring(*std::move(parts)); !brought.ok())
      return done(std::move(brought));
    (*unbatcher)
        ->take(id.item<int64_t>(), context.step().cancellation,
               Done<Tensor>([&context, done = std::move(done)](Result<Tensor> taken) mutable {
                 if (taken.ok() && taken->dtype() != context.output_dtype(0)) {
                   return done(invalid("'", context.node_name(), "' is to give ",
                                       dtype_name(context.output_dtype(0)), ", and is brought ",
                                       dtype_name(taken->dtype())));
                 }
                 done(context.set_output(0, std::move(taken)));
               }));
  }

 private:
  const ResourceName name_;
  const Clock::Duration patience_;
  CachedResource<Unbatcher> found_;
};

Status infer_rows_of(InferContext& context, int slot) {
  const PartialShape& shape = context.input(slot);
  if (!shape.has_rank()) return {};
  if (shape.rank() == 0) return invalid("input ", slot, " is a scalar, which has no rows");
  Shape::Dims dims(shape.dims().begin(), shape.dims().end());
  dims[0] = kUnknownDim;
  return context.set_output(0, PartialShape::create(dims));
}

Status unbatch_gradient(GradContext& g) {
  g.set_input_grad(0, g.add("UnbatchGrad", {g.input(0), g.input(1), g.grad(), g.input(2)}));
  return {};
}

// --- UnbatchGrad ---

Result<std::vector<int64_t>> ids_of(const Tensor& index) {
  if (index.num_elements() == 0) return invalid("batch_index is empty while the tensor isn't.");
  const int64_t rows = index.shape().is_scalar() ? 1 : index.shape().dim(0);
  if (index.num_elements() / 3 != rows || index.num_elements() % 3 != 0) {
    return invalid("batch_index should contain ", rows * 3, " elements. Received ",
                   index.num_elements());
  }
  std::vector<int64_t> ids;
  const auto cells = index.flat<int64_t>();
  for (size_t i = 0; i < cells.size(); i += 3) ids.push_back(cells[i]);
  return ids;
}

// Rows by which the batch was padded have no gradient: zeros.
Result<Tensor> whole_gradient(std::vector<Tensor> parts, int64_t rows) {
  int64_t brought = 0;
  for (const Tensor& part : parts) brought += part.shape().dim(0);
  if (brought < rows) {
    Shape::Dims dims(parts[0].shape().dims().begin(), parts[0].shape().dims().end());
    dims[0] = rows - brought;
    MR_ASSIGN(const Shape shape, Shape::create(dims));
    MR_ASSIGN(Tensor zeros, Tensor::zeros(parts[0].dtype(), shape));
    parts.push_back(std::move(zeros));
    brought = rows;
  }
  return joined_alike(parts, brought);
}

class UnbatchGradKernel final : public Kernel {
 public:
  explicit UnbatchGradKernel(ResourceName name) : name_(std::move(name)) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    MR_ASSIGN(ResourceName name, resource_name_of(spec));
    return std::unique_ptr<Kernel>(std::make_unique<UnbatchGradKernel>(std::move(name)));
  }

  bool is_async() const override { return true; }
  void start(KernelContext& context, Done<void> done) override {
    if (Status status = gather(context, done); !status.ok()) done(std::move(status));
  }

 private:
  // Takes `done` unless it fails.
  Status gather(KernelContext& context, Done<void>& done) {
    const Tensor original = context.take_input(0);
    const Tensor& gradient = context.input(2);
    const Tensor& id = context.input(3);
    if (id.num_elements() != 1)
      return invalid("Expected `id` to be scalar. Received ", id.to_string());
    if (gradient.shape().is_scalar())
      return invalid("'", context.node_name(), "': grad is a scalar, which has no rows");
    std::vector<int64_t> ids;
    if (original.num_elements() > 0) {
      if (original.shape().is_scalar())
        return invalid("'", context.node_name(), "': original_input is a scalar");
      MR_ASSIGN(ids, ids_of(context.input(1)));
    }
    MR_ASSIGN(const auto gatherer,
              found_.get(*context.step().device->resources, name_,
                         [](ResourceStore& resources, const ResourceName& name) {
                           return resources.find_or_create<GradientGatherer>(
                               name.container, name.name,
                               [&]() -> Result<std::shared_ptr<GradientGatherer>> {
                                 return std::make_shared<GradientGatherer>(name.name);
                               });
                         }));
    MR_ASSIGN(Tensor kept, gradient.kept());
    MR_ASSIGN(Tensor none, kept.rows(0, 0));
    MR_TRY(gatherer->bring(id.item<int64_t>(), std::move(kept)));
    if (original.num_elements() == 0) {
      context.set_output(0, std::move(none));
      done({});
      return {};
    }
    const int64_t rows = original.shape().dim(0);
    gatherer->take(std::move(ids), context.step().cancellation,
                   Done<std::vector<Tensor>>([&context, rows, done = std::move(done)](
                                                 Result<std::vector<Tensor>> parts) mutable {
                     if (!parts.ok()) return done(parts.status());
                     auto whole = whole_gradient(*std::move(parts), rows);
                     if (whole.ok() && whole->dtype() != context.output_dtype(0)) {
                       return done(invalid("'", context.node_name(), "' is brought gradients of ",
                                           dtype_name(whole->dtype())));
                     }
                     done(context.set_output(0, std::move(whole)));
                   }));
    return {};
  }

  const ResourceName name_;
  CachedResource<GradientGatherer> found_;
};

}  // namespace

Status add_unbatches(OpRegistry& ops) {
  OpDef unbatch = stateful_op(
      "Unbatch",
      "The rows of what was made of a batch that belong to this step, by its id: from whichever "
      "step has the batch, if that comes before timeout_micros are over.",
      "batched_tensor: T, batch_index: int64, id: int64 -> unbatched_tensor: T | "
      "timeout_micros: int, container: string = '', shared_name: string = '', T: type",
      [](InferContext& context) { return infer_rows_of(context, 0); },
      kernel_class<UnbatchKernel>());
  unbatch.grad = unbatch_gradient;
  MR_TRY(ops.add(std::move(unbatch)));

  OpDef gradient = stateful_op(
      "UnbatchGrad",
      "The gradient of Unbatch: who has the batch gets the gradients of all its rows, once every "
      "step has brought those of its own, the others get no rows.",
      "original_input: T, batch_index: int64, grad: T, id: int64 -> batched_grad: T | "
      "container: string = '', shared_name: string = '', T: type",
      [](InferContext& context) { return infer_rows_of(context, 2); },
      kernel_class<UnbatchGradKernel>());
  gradient.not_differentiable = "it is a gradient already, and none is made of it";
  return ops.add(std::move(gradient));
}

}  // namespace millrace
