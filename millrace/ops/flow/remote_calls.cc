// Part of families.h: register_remote_calls: what planning makes of a RemoteCall whose device is
// known when it runs, and not before (millrace/plan/lower_call.cc).
#include <algorithm>
#include <map>
#include <utility>

#include "millrace/op/device_name.h"
#include "millrace/op/function_space.h"
#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/flow/families.h"

namespace millrace {
namespace {

// The device that the first input of a node names; what it leaves open is as in `within`.
Result<DeviceName> target_of(KernelContext& context, const DeviceName& within) {
  const Tensor& target = context.input(0);
  if (target.num_elements() != 1)
    return invalid("target must be one device's name, and has the shape ",
                   target.shape().to_string());
  MR_ASSIGN(const DeviceName named,
            DeviceName::parse(target.flat<std::string>()[0]).with("target"));
  return within.overridden_by(named);
}

// --- _RemoteDevice ---

class RemoteDeviceKernel final : public Kernel {
 public:
  RemoteDeviceKernel(std::vector<DeviceName> devices, DeviceName within)
      : devices_(std::move(devices)), within_(std::move(within)) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    const AttrValue* given = spec.attrs.find("devices");
    const auto* names = given == nullptr ? nullptr : given->as_list_of<std::string>();
    if (names == nullptr) return invalid("attribute 'devices' is no list of strings");
    std::vector<DeviceName> devices;
    for (const std::string& name : *names) {
      MR_ASSIGN(DeviceName device, DeviceName::parse(name));
      devices.push_back(std::move(device));
    }
    MR_ASSIGN(const std::string around, spec.attrs.string("within"));
    MR_ASSIGN(DeviceName within, DeviceName::parse(around));
    return std::unique_ptr<Kernel>(
        std::make_unique<RemoteDeviceKernel>(std::move(devices), std::move(within)));
  }
  Status run(KernelContext& context) override {
    MR_ASSIGN(const DeviceName target, target_of(context, within_));
    const auto found = std::ranges::find_if(
        devices_, [&](const DeviceName& device) { return target.matches(device); });
    if (found == devices_.end()) {
      return invalid("target '", context.input(0).flat<std::string>()[0],
                     "' is no device on which the function can be called; there are ", known());
    }
    context.set_output(0, Tensor::scalar(static_cast<int32_t>(found - devices_.begin())));
    return {};
  }

 private:
  std::string known() const {
    constexpr size_t kTold = 16;
    std::string names;
    for (size_t i = 0; i < std::min(devices_.size(), kTold); ++i)
      str_append(&names, i == 0 ? "" : ", ", devices_[i].to_string());
    if (devices_.size() > kTold) str_append(&names, " and ", devices_.size() - kTold, " more");
    return names;
  }

  const std::vector<DeviceName> devices_;
  const DeviceName within_;
};

// --- _RemoteCall ---

class RemoteCallKernel final : public Kernel, public FunctionCaller {
 public:
  RemoteCallKernel(DeviceName own, FunctionRef called, std::vector<DType> inputs,
                   std::vector<DType> outputs)
      : own_(std::move(own)),
        called_(std::move(called)),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    MR_ASSIGN(DeviceName own, DeviceName::parse(spec.device));
    const AttrValue* called = spec.attrs.find("f");
    if (called == nullptr || called->as_func() == nullptr)
      return invalid("attribute 'f' names no function");
    MR_ASSIGN(std::vector<DType> inputs, spec.attrs.types("Tin"));
    MR_ASSIGN(std::vector<DType> outputs, spec.attrs.types("Tout"));
    return std::unique_ptr<Kernel>(std::make_unique<RemoteCallKernel>(
        std::move(own), *called->as_func(), std::move(inputs), std::move(outputs)));
  }

  void give_functions(std::shared_ptr<FunctionSpace> functions) override {
    functions_ = std::move(functions);
  }
  bool is_async() const override { return true; }
  void start(KernelContext& context, Done<void> done) override {
    auto function = function_for(context);
    if (!function.ok()) return done(function.status());
    std::vector<Tensor> arguments;
    for (int slot = 1; slot < context.num_inputs(); ++slot) {
      auto argument = context.take_input(slot).kept();
      if (!argument.ok()) return done(argument.status());
      arguments.push_back(*std::move(argument));
    }
    auto run = std::make_shared<Run>(context, std::move(done));
    run->arguments = std::move(arguments);
    if (Cancellation* caller = context.step().cancellation) {
      run->caller = caller->on_cancel([weak = std::weak_ptr<Run>(run)](const Status& why) {
        if (const auto self = weak.lock()) self->cancellation.cancel(why);
      });
    }
    (*function)->run(std::move(run));
  }

 private:
  // A call; `context` lives until it is done.
  struct Run final : FunctionRun {
    Run(KernelContext& where, Done<void> when_ended)
        : context(where), done(std::move(when_ended)) {}
    void ended(Status status) override {
      caller.release();
      for (int slot = 0; status.ok() && slot < context.num_outputs(); ++slot)
        context.set_output(slot, std::move(results[static_cast<size_t>(slot)]));
      Done<void> last = std::move(done);
      last(std::move(status));
    }
    KernelContext& context;
    Done<void> done;
    Cancellation::Registration caller;  // the step: its end ends the call
  };

  Result<std::shared_ptr<GraphFunction>> function_for(KernelContext& context) {
    MR_ASSIGN(const DeviceName target, target_of(context, own_));
    if (functions_ == nullptr) return not_found("Function ", called_.name, " is not defined");
    const std::string name = target.to_string();
    MutexLock lock(mutex_);
    const auto known = by_device_.find(name);
    if (known != by_device_.end()) return known->second;
    MR_ASSIGN(std::shared_ptr<GraphFunction> made, functions_->instantiate_on(target, called_));
    if (made->argument_types() != inputs_ || made->result_types() != outputs_)
      return invalid("function ", called_.name, " has other types than Tin and Tout say");
    by_device_.emplace(name, made);
    return made;
  }

  const DeviceName own_;
  const FunctionRef called_;
  const std::vector<DType> inputs_, outputs_;
  std::shared_ptr<FunctionSpace> functions_;  // constant after give_functions

  Mutex mutex_;
  // Full names of the task's devices, so that they are few.
  std::map<std::string, std::shared_ptr<GraphFunction>> by_device_ MR_GUARDED_BY(mutex_);
};

}  // namespace

Status register_remote_calls(OpRegistry& ops) {
  MR_TRY(ops.add({
      .name = "_RemoteDevice",
      .doc = "Where in devices the first stands that target names, completed by within.",
      .signature = "target: string -> index: int32 | devices: list(string) >= 1, "
                   "within: string = ''",
      .infer = infer::scalar,
      .cpu = kernel_class<RemoteDeviceKernel>(),
      .not_differentiable = "it gives an index",
      .cost = Cost::cheap,
      .examples = {"'/job:a/task:1' -> 1 | devices = {'/job:a/replica:0/task:0/device:CPU:0', "
                   "'/job:a/replica:0/task:1/device:CPU:0'}"},
  }));
  return ops.add({
      .name = "_RemoteCall",
      .doc = "Calls f on the device of its own task that target names.",
      .signature = "target: string, args: Tin -> output: Tout | Tin: list(type) >= 1, "
                   "Tout: list(type) >= 1, f: func",
      .infer = infer::unknown,
      .cpu = kernel_class<RemoteCallKernel>(),
      .not_differentiable = "it stands in what a worker runs by itself, where nobody asks for "
                            "gradients",
      .stateful = true,
      .foldable = false,
  });
}

}  // namespace millrace
