// Part of families.h: register_script_calls.
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/op/blocking.h"
#include "millrace/op/gradient.h"
#include "millrace/op/infer.h"
#include "millrace/ops/script/families.h"

namespace millrace {
namespace {

// A function may take as long as it likes, and wait for a lock of its language: not in the pool.
class ScriptCallKernel final : public Kernel {
 public:
  ScriptCallKernel(std::string token, std::shared_ptr<ScriptHost> host)
      : token_(std::move(token)), host_(std::move(host)) {}

  bool is_async() const override { return true; }
  void start(KernelContext& context, Done<void> done) override {
    if (host_ == nullptr) {
      return done(failed_precondition("'", context.node_name(), "' calls the Python function '",
                                      token_,
                                      "', and this process runs no Python: place the node on a "
                                      "task of the program that made it "
                                      "(tf.device), or feed its outputs"));
    }
    std::vector<Tensor> inputs;
    for (int slot = 0; slot < context.num_inputs(); ++slot)
      inputs.push_back(context.take_input(slot));
    auto made = std::make_shared<std::vector<Tensor>>();
    run_blocking(
        context,
        // The kernel may be gone before its work: a step ends without it.
        [host = host_, token = token_, inputs = std::move(inputs), made]() mutable -> Status {
          MR_ASSIGN(*made, host->call(token, std::move(inputs)));
          return {};
        },
        Done<void>([&context, token = token_, made, done = std::move(done)](Status status) mutable {
          done(status.ok() ? give(context, token, *made) : std::move(status));
        }));
  }

 private:
  // Hands out what the function returned, if that is what the node promises.
  static Status give(KernelContext& context, const std::string& token, std::vector<Tensor>& made) {
    if (made.size() != static_cast<size_t>(context.num_outputs())) {
      return invalid(token, " returns ", made.size(), " values, but expects to see ",
                     context.num_outputs(), " values.");
    }
    for (int slot = 0; slot < context.num_outputs(); ++slot) {
      const DType wanted = context.output_dtype(slot);
      if (made[slot].dtype() != wanted) {
        return invalid(slot, "-th value returned by ", token, " is ",
                       dtype_name(made[slot].dtype()), ", but expects ", dtype_name(wanted));
      }
    }
    for (int slot = 0; slot < context.num_outputs(); ++slot)
      context.set_output(slot, std::move(made[slot]));
    return {};
  }

  const std::string token_;
  const std::shared_ptr<ScriptHost> host_;
};

constexpr const char* kSignature =
    "input: Tin -> output: Tout | token: string, Tin: list(type) >= 0, Tout: list(type) >= 0";

bool has_gradient(DType type) { return is_floating(type) || is_complex(type); }

// The host knows what the function computed with: it is asked by another token, once for all
// inputs.
Status eager_call_gradient(GradContext& g) {
  MR_ASSIGN(const std::string token, g.attrs().string("token"));
  std::vector<Endpoint> inputs;
  std::vector<DType> taken, gives;
  for (int slot = 0; slot < g.num_inputs(); ++slot) {
    inputs.push_back(g.input(slot));
    if (has_gradient(g.dtype(g.input(slot)))) gives.push_back(g.dtype(g.input(slot)));
  }
  if (gives.empty()) return {};
  for (int slot = 0; slot < g.num_outputs(); ++slot)
    if (has_gradient(g.dtype(g.output(slot)))) inputs.push_back(g.grad(slot));
  for (const Endpoint& input : inputs) taken.push_back(g.dtype(input));
  Attrs attrs;
  attrs.set("token", str_cat(token, ":gradient"));
  attrs.set("Tin", std::move(taken));
  attrs.set("Tout", std::move(gives));
  Endpoint made = g.add("EagerPyFunc", inputs, std::move(attrs));
  for (int slot = 0; slot < g.num_inputs(); ++slot) {
    if (!has_gradient(g.dtype(g.input(slot)))) continue;
    g.set_input_grad(slot, made);
    ++made.output;
  }
  return {};
}

}  // namespace

Status register_script_calls(OpRegistry& ops, std::shared_ptr<ScriptHost> host) {
  const KernelFactory call = [host](const KernelSpec& spec) -> Result<std::unique_ptr<Kernel>> {
    MR_ASSIGN(std::string token, spec.attrs.string("token"));
    return std::unique_ptr<Kernel>(std::make_unique<ScriptCallKernel>(std::move(token), host));
  };
  MR_TRY(ops.add({
      .name = "PyFunc",
      .doc = "What the Python function of this token returns for the inputs, in the process of the "
             "program that made the graph.",
      .signature = kSignature,
      .infer = infer::unknown,
      .cpu = call,
      .not_differentiable = "what a Python function computes is not known",
      .stateful = true,
      .foldable = false,
      .cost = Cost::heavy,
  }));
  MR_TRY(ops.add({
      .name = "PyFuncStateless",
      .doc = "PyFunc of a function that gives the same for the same inputs.",
      .signature = kSignature,
      .infer = infer::unknown,
      .cpu = call,
      .not_differentiable = "what a Python function computes is not known",
      .foldable = false,
      .cost = Cost::heavy,
  }));
  return ops.add({
      .name = "EagerPyFunc",
      .doc =
          "What the Python function of this token returns for the inputs, which it computes with "
          "by ops: its gradient is the function of the token with ':gradient' behind it, called "
          "with the inputs and what arrives at the outputs of floating and complex types.",
      .signature = "input: Tin -> output: Tout | token: string, is_async: bool = false, "
                   "Tin: list(type) >= 0, Tout: list(type) >= 0",
      .infer = infer::unknown,
      .cpu = call,
      .grad = eager_call_gradient,
      .stateful = true,
      .foldable = false,
      .cost = Cost::heavy,
  });
}

}  // namespace millrace
