#include "millrace/worker/graph_functions.h"

#include <algorithm>
#include <utility>

#include "millrace/autodiff/function_gradient.h"
#include "millrace/base/idle_pool.h"
#include "millrace/engine/executor.h"
#include "millrace/graph/function.h"
#include "millrace/plan/fold.h"
#include "millrace/plan/lower.h"
#include "millrace/plan/step_graph.h"
#include "millrace/worker/function_state.h"

namespace millrace {

std::optional<InFlight::Token> CallGate::enter() {
  MutexLock lock(mutex_);
  if (inside_ == nullptr) return std::nullopt;
  return inside_->enter();
}

void CallGate::shut(const Status& why) {
  {
    MutexLock lock(mutex_);
    inside_ = nullptr;
  }
  ending_.cancel(why);
}

struct GraphFunctions::Prepared {
  Graph graph;
  std::vector<DType> arguments, results;
  // By rendezvous key, which says where a compiled graph has its slot.
  std::map<std::string, size_t> argument_of_key, result_of_key;
};

namespace {

constexpr std::string_view kCall = "call";
// Of functions on devices that were named. Real programs make a few, one or two deep.
constexpr int kDeepestCalls = 16, kMostCalls = 1000;

std::vector<DType> types_of(const std::vector<ArgType>& args) {
  std::vector<DType> types;
  for (const ArgType& arg : args) types.push_back(arg.dtype);
  return types;
}

std::string argument_name(size_t index) { return str_cat("argument_", index); }

// A graph of placeholders and one call.
Result<Graph> graph_of_call(const wire::FunctionDef& def, const Attrs& attrs,
                            const std::vector<DType>& arguments, const OpRegistry& ops) {
  Graph graph(ops);
  std::vector<Endpoint> inputs;
  for (size_t i = 0; i < arguments.size(); ++i) {
    MR_ASSIGN(const NodeId argument, graph.add({.name = argument_name(i),
                                                .op = "Placeholder",
                                                .attrs = {{"dtype", arguments[i]}}}));
    inputs.push_back({argument, 0});
  }
  MR_ASSIGN(FunctionCall call, call_of(def, attrs));
  MR_TRY(graph.add({.name = std::string(kCall),
                    .op = call.op,
                    .inputs = std::move(inputs),
                    .attrs = std::move(call.attrs)}));
  return graph;
}

Status check_arguments(const std::vector<DType>& wanted, const std::vector<Tensor>& given) {
  if (given.size() != wanted.size())
    return invalid("a function of ", wanted.size(), " arguments is called with ", given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i].dtype() == wanted[i]) continue;
    return invalid("argument ", i, " of a function is ", dtype_name(wanted[i]), " and is given ",
                   dtype_name(given[i].dtype()));
  }
  return {};
}

}  // namespace

class GraphFunctions::Instance final : public GraphFunction,
                                       public std::enable_shared_from_this<Instance> {
 public:
  static Result<std::shared_ptr<GraphFunction>> create(std::shared_ptr<GraphFunctions> space,
                                                       std::shared_ptr<const Prepared> prepared) {
    std::shared_ptr<Instance> made(new Instance(std::move(space), std::move(prepared)));
    MR_ASSIGN(made->compiled_,
              CompiledGraph::compile(made->prepared_->graph, made->space_->device_, made->kernels_,
                                     ClientTransfers::by_slot, {}, made->space_));
    for (const std::string& key : made->compiled_->feed_keys())
      made->argument_of_feed_.push_back(made->prepared_->argument_of_key.at(key));
    for (const std::string& key : made->compiled_->fetch_keys())
      made->result_of_fetch_.push_back(made->prepared_->result_of_key.at(key));
    return std::shared_ptr<GraphFunction>(std::move(made));
  }

  const std::vector<DType>& argument_types() const override { return prepared_->arguments; }
  const std::vector<DType>& result_types() const override { return prepared_->results; }

  void run(std::shared_ptr<FunctionRun> run) override {
    Status status = check_arguments(prepared_->arguments, run->arguments);
    if (!status.ok()) return run->ended(std::move(status));
    auto token = space_->site_.gate->enter();
    auto resources = space_->resources_.lock();
    if (!token || resources == nullptr)
      return run->ended(
          cancelled("the task whose function is called has stopped").as_consequence());
    std::unique_ptr<Pooled> idle = idle_.take();
    if (idle == nullptr) idle = std::make_unique<Execution>();
    auto* execution = static_cast<Execution*>(idle.release());
    execution->token = *std::move(token);
    execution->resources = std::move(resources);
    execution->instance = shared_from_this();
    execution->run = std::move(run);
    execution->start();
  }

 private:
  // One call, in the hands of the executor until it ends.
  struct Execution final : Pooled {
    void start() {
      for (const size_t argument : instance->argument_of_feed_)
        feeds.push_back(std::move(run->arguments[argument]));
      run->arguments.clear();
      fetches.resize(instance->result_of_fetch_.size());
      if (run->is_orphan) {
        with_task = instance->space_->site_.gate->ending().on_cancel(
            // Shared, since nobody else keeps it: the call may end, and let go of it, inside
            // cancel().
            [run = run](const Status& why) { run->cancellation.cancel(why); });
      }
      const Host& host = instance->space_->site_.host;
      const StepArgs args{.context = {.device = &instance->space_->device_,
                                      .cancellation = &run->cancellation,
                                      .step_resources = &step_resources,
                                      .pool = &host.pool,
                                      .task_pool = &host.pool,
                                      .blocking = &host.blocking,
                                      .feeds = feeds,
                                      .fetches = fetches},
                          .own_feeds = feeds,
                          .runner = &host.pool,
                          .pool = &host.pool};
      run_step(instance->compiled_, args,
               Done<void>([this](Status status) { end(std::move(status)); }));
    }

    void end(Status status) {
      if (status.ok()) {
        run->results.resize(fetches.size());
        for (size_t i = 0; i < fetches.size(); ++i) {
          const size_t result = instance->result_of_fetch_[i];
          if (fetches[i].is_dead)
            status =
                invalid("result ", result, " of a function is dead: a Switch in it leads there");
          run->results[result] = std::move(fetches[i].tensor);
        }
      }
      if (step_resources.size() > 0)
        step_resources.clear_all(aborted("a call of a function has ended").as_consequence());
      feeds.clear();
      fetches.clear();
      with_task.release();
      // In this order: who is told may end the worker, once the token is gone.
      const InFlight::Token last = std::move(token);
      const auto kept = std::move(resources);
      const auto told = std::move(run);
      const auto owner = std::move(instance);
      owner->idle_.give(std::unique_ptr<Pooled>(this));
      told->ended(std::move(status));
    }

    InFlight::Token token;
    std::shared_ptr<ResourceStore> resources;
    std::shared_ptr<Instance> instance;
    std::shared_ptr<FunctionRun> run;
    std::vector<Tensor> feeds;
    std::vector<Delivery> fetches;
    ResourceStore step_resources;
    Cancellation::Registration with_task;  // of an orphan
  };

  Instance(std::shared_ptr<GraphFunctions> space, std::shared_ptr<const Prepared> prepared)
      : space_(std::move(space)), prepared_(std::move(prepared)) {}

  const std::shared_ptr<GraphFunctions> space_;
  const std::shared_ptr<const Prepared> prepared_;
  KernelCache kernels_;
  // Constant once created.
  std::shared_ptr<const CompiledGraph> compiled_;
  std::vector<size_t> argument_of_feed_, result_of_fetch_;

  IdlePool idle_;
};

GraphFunctions::GraphFunctions(const CallSite& site, std::shared_ptr<const FunctionLibrary> library,
                               const OpRegistry& ops, const LocalDevices& devices, size_t device)
    : site_(site),
      library_(std::move(library)),
      ops_(ops),
      shared_(std::make_shared<Shared>()),
      device_(devices[device]),
      resources_(devices.resources_of(device)) {
  for (size_t i = 0; i < devices.size(); ++i)
    shared_->places.push_back({devices[i], devices.resources_of(i)});
}

GraphFunctions::GraphFunctions(const GraphFunctions& caller, const Place& place)
    : site_(caller.site_),
      library_(caller.library_),
      ops_(caller.ops_),
      shared_(caller.shared_),
      depth_(caller.depth_ + 1),
      device_(place.device),
      resources_(place.resources) {
  ++shared_->num_calls;
}

GraphFunctions::~GraphFunctions() {
  if (depth_ > 0) --shared_->num_calls;
}

Result<std::shared_ptr<GraphFunction>> GraphFunctions::instantiate(const FunctionRef& function) {
  std::shared_ptr<const Prepared> prepared;
  if (function.attrs.empty()) {
    MutexLock lock(mutex_);
    const auto found = prepared_.find(function.name);
    if (found != prepared_.end()) prepared = found->second;
  }
  if (prepared == nullptr) {
    MR_ASSIGN(prepared, prepare(function).with(str_cat("function '", function.name, "'")));
    MutexLock lock(mutex_);
    if (function.attrs.empty()) prepared_.try_emplace(function.name, prepared);
  }
  return Instance::create(shared_from_this(), std::move(prepared));
}

// A function that calls itself so is found out by how deep, or how many, they become.
Result<std::shared_ptr<GraphFunction>> GraphFunctions::instantiate_on(const DeviceName& device,
                                                                      const FunctionRef& function) {
  const std::string name = device.to_string();
  const auto place = std::ranges::find(shared_->places, name,
                                       [](const Place& known) { return known.device.name; });
  if (place == shared_->places.end()) {
    std::string known;
    for (const Place& each : shared_->places)
      str_append(&known, known.empty() ? "" : ", ", each.device.name);
    return invalid("function '", function.name, "' is called on '", name,
                   "', which is no device of the task that runs the caller; it has ", known);
  }
  if (depth_ >= kDeepestCalls || shared_->num_calls >= kMostCalls) {
    return error(Code::resource_exhausted, "function '", function.name, "' is called on '", name,
                 "' from functions called so, ", depth_, " deep, with ", shared_->num_calls.load(),
                 " such calls in all; at most ", kDeepestCalls, " and ", kMostCalls,
                 " are allowed: it may call itself");
  }
  const std::shared_ptr<GraphFunctions> there(new GraphFunctions(*this, *place));
  return there->instantiate(function);
}

Status GraphFunctions::check_stateless(const FunctionRef& function) const {
  return millrace::check_stateless(library_.get(), ops_, function.name);
}

Result<std::shared_ptr<const GraphFunctions::Prepared>> GraphFunctions::prepare(
    const FunctionRef& function) const {
  const wire::FunctionDef* def = find_function(library_.get(), function.name);
  if (def == nullptr)
    return not_found("Function ", function.name, " is not defined: the graph did not bring it");
  const OpDef signature = signature_of(*def);
  const Attrs attrs(function.attrs);
  MR_ASSIGN(const auto arguments, resolve_args(signature, signature.inputs, attrs));
  MR_ASSIGN(const auto results, resolve_args(signature, signature.outputs, attrs));
  MR_ASSIGN(Graph graph, graph_of_call(*def, attrs, types_of(arguments), ops_));
  graph.set_functions(library_);
  StandIns stand_ins;
  MR_TRY(lower_functions(
      graph, stand_ins,
      {.differentiate = differentiated, .remote_calls = LowerOptions::ByKernel::all}));
  for (const Node& node : graph.nodes()) graph.set_device(node.id, device_.name);

  StepSignature wanted;
  for (size_t i = 0; i < arguments.size(); ++i) wanted.feeds.push_back(argument_name(i));
  for (size_t i = 0; i < results.size(); ++i) wanted.fetches.push_back(str_cat(kCall, ":", i));
  if (results.empty()) wanted.targets.emplace_back(kCall);
  MR_ASSIGN(const DeviceSet devices,
            DeviceSet::create({{.name = device_.name, .incarnation = device_.incarnation}}));
  MR_ASSIGN(StepGraph step, cut_step(graph, devices, wanted));
  MR_TRY(fold_constants(step));
  auto made = std::make_shared<Prepared>(
      Prepared{std::move(step.graph), types_of(arguments), types_of(results), {}, {}});
  for (const ClientTransfer& feed : step.feeds)
    made->argument_of_key.emplace(feed.key, static_cast<size_t>(feed.index));
  for (const ClientTransfer& fetch : step.fetches)
    made->result_of_key.emplace(fetch.key, static_cast<size_t>(fetch.index));
  return std::shared_ptr<const Prepared>(std::move(made));
}

}  // namespace millrace
