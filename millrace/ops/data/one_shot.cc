// Part of iterator_node.h: one_shot_kernel, and what it shares with other iterators.
#include <functional>
#include <utility>

#include "millrace/op/function_space.h"
#include "millrace/ops/data/dataset_variant.h"
#include "millrace/ops/data/iterator.h"
#include "millrace/ops/data/iterator_node.h"
#include "millrace/ops/state/resource_access.h"

namespace millrace::data {

IterationHost::Machine machine_of(KernelContext& context) {
  const StepContext& step = context.step();
  const DeviceContext& device = *step.device;
  return {.pool = step.task_pool,
          .blocking = step.blocking,
          .files = device.files,
          .random = device.random,
          .clock = device.clock,
          .timers = device.timers};
}

Result<Dataset::Components> components_of(const AttrView& attrs) {
  Dataset::Components made;
  MR_ASSIGN(made.types, attrs.types("output_types"));
  MR_ASSIGN(made.shapes, attrs.shapes("output_shapes"));
  if (made.shapes.empty() || made.shapes.size() == made.types.size()) return made;
  return invalid("output_shapes has ", made.shapes.size(), " shapes for ", made.types.size(),
                 " types; each component has one of both");
}

namespace {

// OneShotIterator: makes its dataset with its function when it first runs.
class OneShotKernel final : public Kernel, public FunctionCaller {
 public:
  OneShotKernel(Dataset::Components components, FunctionRef factory, ResourceName asked,
                std::string node_name)
      : components_(std::move(components)),
        factory_(std::move(factory)),
        asked_(std::move(asked)),
        node_name_(std::move(node_name)) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    MR_ASSIGN(auto components, components_of(spec.attrs));
    const AttrValue* factory = spec.attrs.find("dataset_factory");
    if (factory == nullptr || factory->as_func() == nullptr)
      return invalid("attribute 'dataset_factory' names no function");
    ResourceName asked;
    MR_ASSIGN(asked.container, spec.attrs.string("container"));
    MR_ASSIGN(asked.name, spec.attrs.string("shared_name"));
    return std::unique_ptr<Kernel>(std::make_unique<OneShotKernel>(
        std::move(components), *factory->as_func(), std::move(asked), std::string(spec.node_name)));
  }
  ~OneShotKernel() override {
    if (asked_.name.empty() && handle_.has_value())
      (void)resources_->remove<Iterator>(name_.container, name_.name);
  }

  void give_functions(std::shared_ptr<FunctionSpace> functions) override {
    functions_ = std::move(functions);
  }
  bool is_async() const override { return true; }
  void start(KernelContext& context, Done<void> done) override {
    {
      MutexLock lock(mutex_);
      if (handle_.has_value()) {
        context.set_output(0, handle_);
      } else {
        waiting_.push_back({&context, std::move(done)});
        if (waiting_.size() > 1) return;
      }
    }
    if (done) return done({});  // NOLINT(bugprone-use-after-move): not moved then
    call_factory(machine_of(context), context.step().device->resources, context);
  }

 private:
  struct Waiter {
    KernelContext* context;
    Done<void> done;
  };
  // The call of the factory. Keeps what it needs: whoever waits for it keeps the kernel.
  struct Run final : FunctionRun {
    explicit Run(std::function<void(Result<Element>)> then_do) : then(std::move(then_do)) {}
    void ended(Status status) override {
      caller.release();
      if (!status.ok()) return then(std::move(status));
      then(std::move(results));
    }
    const std::function<void(Result<Element>)> then;
    Cancellation::Registration caller;  // the step that asked first: its end ends the call
  };

  void call_factory(IterationHost::Machine machine, ResourceStore* resources,
                    KernelContext& context) {
    const ResourceHandle handle = handle_for(resources, context);
    const auto then = [this, machine, resources, handle](Result<Element> results) {
      answer(make(std::move(results), machine, *resources, handle));
    };
    if (functions_ == nullptr)
      return then(not_found("Function ", factory_.name, " is not defined"));
    auto function = functions_->instantiate(factory_);
    if (!function.ok()) return then(function.status());
    auto run = std::make_shared<Run>(then);
    if (Cancellation* caller = context.step().cancellation) {
      run->caller = caller->on_cancel([weak = std::weak_ptr<Run>(run)](const Status& why) {
        if (const auto self = weak.lock()) self->cancellation.cancel(why);
      });
    }
    (*function)->run(std::move(run));
  }

  ResourceHandle handle_for(ResourceStore* resources, KernelContext& context) {
    MutexLock lock(mutex_);
    resources_ = resources;
    name_.container = asked_.container.empty() ? resources->default_container() : asked_.container;
    if (name_.name.empty())
      name_.name = asked_.name.empty() ? resources->private_name(node_name_) : asked_.name;
    return make_handle(context, name_, Iterator::kTypeName);
  }

  Result<Tensor> make(Result<Element> results, const IterationHost::Machine& machine,
                      ResourceStore& resources, const ResourceHandle& handle) const {
    if (!results.ok()) return std::move(results).status();
    if (results->size() != 1)
      return invalid("The `dataset_factory` function must return exactly one tensor.");
    MR_ASSIGN(DatasetPtr dataset, dataset_in((*results)[0]));
    const auto create = [&]() -> Result<std::shared_ptr<Iterator>> {
      auto made = std::make_shared<Iterator>(components_, handle.name);
      MR_TRY(made->begin(dataset, machine));
      return made;
    };
    MR_ASSIGN(const auto found,
              resources.find_or_create<Iterator>(handle.container, handle.name, create));
    MR_TRY(check_components(components_, found->components()));
    return Tensor::scalar(handle);
  }

  void answer(Result<Tensor> made) {
    std::vector<Waiter> waiting;
    {
      MutexLock lock(mutex_);
      if (made.ok()) handle_ = *made;
      waiting.swap(waiting_);
    }
    for (Waiter& waiter : waiting) {
      if (made.ok()) waiter.context->set_output(0, *made);
      waiter.done(made.status());
    }
  }

  const Dataset::Components components_;
  const FunctionRef factory_;
  const ResourceName asked_;
  const std::string node_name_;
  std::shared_ptr<FunctionSpace> functions_;  // constant after give_functions

  Mutex mutex_;
  ResourceStore* resources_ MR_GUARDED_BY(mutex_) = nullptr;
  ResourceName name_ MR_GUARDED_BY(mutex_);
  Tensor handle_ MR_GUARDED_BY(mutex_);  // no value before the iterator is there
  std::vector<Waiter> waiting_ MR_GUARDED_BY(mutex_);
};

}  // namespace

KernelFactory one_shot_kernel() { return kernel_class<OneShotKernel>(); }

}  // namespace millrace::data
