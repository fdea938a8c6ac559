#include "millrace/engine/testing/test_lab.h"

#include <chrono>

#include "millrace/ops/array/families.h"
#include "millrace/ops/flow/families.h"
#include "millrace/ops/transfer/families.h"

namespace millrace::testing {
namespace {

constexpr const char* kDevice = "/job:worker/replica:0/task:0/device:CPU:0";

// Nothing of a wait outlives its answer: the step, with its cancellation, may go right after.
class WaitKernel final : public Kernel {
 public:
  explicit WaitKernel(Lab* lab) : lab_(lab) {}
  bool is_async() const override { return true; }
  void start(KernelContext& context, Done<void> done) override {
    const std::string name(context.node_name());
    auto wait = std::make_unique<Lab::Wait>();
    wait->context = &context;
    wait->done = std::move(done);
    wait->registration = context.step().cancellation->on_cancel(
        [this, name, wait = wait.get()](const Status& why) { give_up(name, wait, why); });
    Status cancelled;
    {
      MutexLock lock(lab_->mutex);
      cancelled = wait->cancelled;
      if (cancelled.ok()) {
        lab_->waiting[name] = std::move(wait);
        lab_->changed.notify_all();
        return;
      }
    }
    Lab::end(std::move(wait), cancelled);
  }

 private:
  void give_up(const std::string& name, Lab::Wait* wait, const Status& why) {
    std::unique_ptr<Lab::Wait> mine;
    {
      MutexLock lock(lab_->mutex);
      // Alive in any case: its registration waits for this callback before it goes.
      wait->cancelled = why;
      const auto found = lab_->waiting.find(name);
      if (found == lab_->waiting.end() || found->second.get() != wait) return;
      mine = std::move(found->second);
      lab_->waiting.erase(found);
    }
    Lab::end(std::move(mine), why);
  }

  Lab* const lab_;
};

class DropKernel final : public Kernel {
 public:
  bool is_async() const override { return true; }
  void start(KernelContext&, Done<void>) override {}
};

Status meet(Lab& lab, KernelContext& context) {
  MutexLock lock(lab.mutex);
  ++lab.meeting;
  lab.changed.notify_all();
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (lab.meeting < 2)
    if (!lab.changed.wait_until(lab.mutex, patience)) return internal("nobody came to meet");
  context.set_output(0, context.input(0));
  return {};
}

Status variable(Lab& lab, KernelContext& context) {
  MutexLock lock(lab.mutex);
  auto& held = lab.variables[std::string(context.node_name())];
  if (held == nullptr) held = std::make_shared<Lab::Variable>();
  context.set_output_ref(0, {.mutex = &held->mutex, .tensor = &held->tensor, .owner = held});
  return {};
}

Status assign(KernelContext& context) {
  const TensorRef& ref = context.input_ref(0);
  {
    MutexLock lock(*ref.mutex);
    *ref.tensor = context.input(1);
  }
  context.set_output_ref(0, ref);
  return {};
}

Status add_ops(Lab& lab) {
  OpRegistry& ops = lab.ops;
  MR_TRY(register_control_flow(ops));
  MR_TRY(register_functional(ops));
  MR_TRY(register_transfer(ops));
  MR_TRY(register_identity(ops));
  MR_TRY(ops.add({.name = "Add",
                  .doc = {},
                  .signature = "x: int32, y: int32 -> z: int32",
                  .cpu = kernel([](KernelContext& c) -> Status {
                    c.set_output(0,
                                 number(c.input(0).item<int32_t>() + c.input(1).item<int32_t>()));
                    return {};
                  })}));
  MR_TRY(ops.add({.name = "Less",
                  .doc = {},
                  .signature = "x: int32, y: int32 -> z: bool",
                  .cpu = kernel([](KernelContext& c) -> Status {
                    c.set_output(0, Tensor::scalar<bool>(c.input(0).item<int32_t>() <
                                                         c.input(1).item<int32_t>()));
                    return {};
                  })}));
  MR_TRY(ops.add({.name = "Log",
                  .doc = {},
                  .signature = "x: int32 -> y: int32",
                  .cpu = kernel([&lab](KernelContext& c) -> Status {
                    MutexLock lock(lab.mutex);
                    lab.log_.emplace_back(c.node_name());
                    c.set_output(0, c.input(0));
                    return {};
                  })}));
  MR_TRY(ops.add({.name = "Fail",
                  .doc = {},
                  .signature = "-> | code: int = 3, message: string = 'no'",
                  .cpu = [](const KernelSpec& spec) -> Result<std::unique_ptr<Kernel>> {
                    MR_ASSIGN(const int64_t code, spec.attrs.integer("code"));
                    MR_ASSIGN(const std::string message, spec.attrs.string("message"));
                    return kernel([code, message](KernelContext&) {
                      return Status(static_cast<Code>(code), message);
                    })(spec);
                  }}));
  MR_TRY(ops.add({.name = "Wait",
                  .doc = {},
                  .signature = "-> y: int32",
                  .cpu = [&lab](const KernelSpec&) -> Result<std::unique_ptr<Kernel>> {
                    return std::unique_ptr<Kernel>(std::make_unique<WaitKernel>(&lab));
                  }}));
  MR_TRY(ops.add({.name = "Drop",
                  .doc = {},
                  .signature = "->",
                  .cpu = [](const KernelSpec&) -> Result<std::unique_ptr<Kernel>> {
                    return std::unique_ptr<Kernel>(std::make_unique<DropKernel>());
                  }}));
  MR_TRY(ops.add({.name = "Work",
                  .doc = {},
                  .signature = "-> y: int32",
                  .cpu = kernel([](KernelContext& c) -> Status {
                    return c.set_output(0, Tensor::zeros(DType::i32, {16 << 10}));
                  })}));
  MR_TRY(ops.add({.name = "Dear",
                  .doc = {},
                  .signature = "x: int32 -> y: int32",
                  .cpu = kernel([](KernelContext& c) -> Status {
                    c.set_output(0, c.input(0));
                    return {};
                  }),
                  .cost = Cost::heavy}));
  MR_TRY(ops.add({.name = "Meet",
                  .doc = {},
                  .signature = "x: int32, work: T -> y: int32 | T: type",
                  .cpu = kernel([&lab](KernelContext& c) { return meet(lab, c); }),
                  .cost = Cost::heavy}));
  MR_TRY(ops.add({.name = "Variable",
                  .doc = {},
                  .signature = "-> ref: ref(int32)",
                  .cpu = kernel([&lab](KernelContext& c) { return variable(lab, c); })}));
  MR_TRY(ops.add({.name = "Assign",
                  .doc = {},
                  .signature = "ref: ref(int32), value: int32 -> out: ref(int32)",
                  .cpu = kernel(assign),
                  .allows_uninitialized_input = true}));
  MR_TRY(ops.add({.name = "Nothing",
                  .doc = {},
                  .signature = "-> y: int32",
                  .cpu = kernel([](KernelContext&) -> Status { return {}; })}));
  return ops.add({.name = "Float",
                  .doc = {},
                  .signature = "-> y: int32",
                  .cpu = kernel([](KernelContext& c) -> Status {
                    c.set_output(0, Tensor::scalar(1.5f));
                    return {};
                  })});
}

}  // namespace

Lab::Lab() : device{.name = kDevice, .incarnation = 1, .resources = &resources} {
  const Status status = add_ops(*this);
  REQUIRE_MESSAGE(status.ok(), status.to_string());
}

Result<std::shared_ptr<const CompiledGraph>> Lab::compile(const std::string& text,
                                                          const std::vector<std::string>& fetches) {
  MR_ASSIGN(Graph graph, parse_graph(text, ops));
  for (const std::string& fetch : fetches) {
    MR_ASSIGN(const Endpoint source, find_endpoint(graph, fetch));
    MR_TRY(graph.add({.name = str_cat("_send_", source.node, "_", source.output),
                      .op = "_Send",
                      .inputs = {source},
                      .attrs = {{"tensor_name", fetch},
                                {"send_device", kDevice},
                                {"recv_device", kDevice},
                                {"send_device_incarnation", 1},
                                {"client_terminated", true}}}));
  }
  return CompiledGraph::compile(graph, device, kernels, ClientTransfers::by_slot);
}

std::unique_ptr<Lab::Step> Lab::start(std::shared_ptr<const CompiledGraph> graph,
                                      std::vector<Tensor> feeds, Runner* pool) {
  auto step = std::make_unique<Step>();
  for (const std::string& key : graph->fetch_keys())
    step->fetches_.emplace_back(RendezvousKey::parse(key).value().tensor_name);
  step->fed_ = std::move(feeds);
  step->fetched_.resize(step->fetches_.size());
  StepArgs args{.context = {.step_id = 1,
                            .device = &device,
                            .rendezvous = &step->rendezvous,
                            .cancellation = &step->cancellation,
                            .step_resources = &step->resources_,
                            .pool = pool,
                            .feeds = step->fed_,
                            .fetches = step->fetched_},
                .runner = &step->caller_,
                .pool = pool,
                .trace = trace};
  run_step(std::move(graph), args, Done<void>([step = step.get()](Status status) {
             step->outcome_.status = std::move(status);
             step->caller_.finish();
           }));
  return step;
}

Lab::Outcome Lab::Step::wait() {
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  REQUIRE(caller_.wait(patience));
  for (size_t i = 0; i < fetches_.size(); ++i) outcome_.fetched[fetches_[i]] = fetched_[i];
  return outcome_;
}

Lab::Outcome Lab::run(const std::string& text, const std::vector<std::string>& fetches,
                      Runner* pool) {
  auto graph = compile(text, fetches);
  if (!graph.ok()) return {.status = graph.status(), .fetched = {}};
  return start(*std::move(graph), {}, pool)->wait();
}

void Lab::answer(const std::string& node, Result<int32_t> value) {
  std::unique_ptr<Wait> mine;
  {
    MutexLock lock(mutex);
    while (!waiting.contains(node)) changed.wait(mutex);
    mine = std::move(waiting.extract(node).mapped());
  }
  if (value.ok()) mine->context->set_output(0, number(*value));
  end(std::move(mine), value.status());
}

void Lab::end(std::unique_ptr<Wait> wait, const Status& status) {
  Done<void> done = std::move(wait->done);
  wait.reset();
  done(status);
}

}  // namespace millrace::testing
