// Runs one op on tensors, without a graph, a plan or an executor: for tests of ops, and for whoever
// wants to know what an op says to given inputs.
//
//   MR_ASSIGN(auto outputs, run_op(ops, "Add", {Tensor::scalar(1.f), Tensor::scalar(2.f)}));
//
// A Bench is a device with its resources and one step on it. Not thread-safe itself; what it starts
// may finish on any thread.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/cancellation.h"
#include "millrace/op/function_space.h"
#include "millrace/op/kernel.h"
#include "millrace/op/registry.h"

namespace millrace {

// `attrs` with the type and count attributes added that the inputs' types decide.
// Errors: INVALID_ARGUMENT if the number of inputs can't be right.
Result<Attrs> complete_attrs(const OpDef& op, std::span<const DType> inputs, Attrs attrs);

// One run of a kernel that may still be waiting. Keeps everything alive that the kernel refers to;
// must not be destroyed before it is done.
class Running {
 public:
  bool is_done() const { return done_.load(std::memory_order_acquire); }
  // Requires is_done().
  const Status& status() const { return status_; }
  // The outputs, or the error. Requires is_done().
  Result<std::vector<Value>> outputs();
  bool output_is_dead(int slot) const { return context_->output_is_dead(slot); }

 private:
  friend class Bench;
  Attrs attrs_;
  std::string node_name_;
  std::vector<ArgType> input_types_, output_types_;
  std::shared_ptr<Kernel> kernel_;
  std::vector<Value> inputs_, outputs_;
  std::unique_ptr<KernelContext> context_;
  Status status_;
  std::atomic<bool> done_{false};
};

struct BenchNode {
  std::string name = "node";
  Attrs attrs = {};
  bool input_is_dead = false;
  FrameIteration where = {};
};

class Bench {
 public:
  explicit Bench(const OpRegistry& ops);

  // Makes the kernel of a node and starts it. As the executor does, reads the variable behind a
  // reference where the op takes a plain tensor.
  // Errors: whatever is wrong with the node before its kernel runs.
  Result<std::unique_ptr<Running>> start(std::string_view op, std::vector<Value> inputs,
                                         BenchNode node = {});
  // As `start`, for kernels that answer at once; INTERNAL if one is still waiting.
  Result<std::vector<Value>> run(std::string_view op, std::vector<Value> inputs,
                                 BenchNode node = {});

  // For kernels that call functions; none are given before.
  void set_functions(std::shared_ptr<FunctionSpace> functions) {
    functions_ = std::move(functions);
  }

  ResourceStore& resources() { return resources_; }
  StepContext& step() { return step_; }
  DeviceContext& device() { return device_; }
  Cancellation& cancellation() { return cancellation_; }

 private:
  const OpRegistry& ops_;
  ResourceStore resources_, step_resources_;
  Cancellation cancellation_;
  DeviceContext device_;
  StepContext step_;
  std::shared_ptr<FunctionSpace> functions_;
};

Result<std::vector<Tensor>> run_op(const OpRegistry& ops, std::string_view op,
                                   std::vector<Tensor> inputs, Attrs attrs = {});

}  // namespace millrace
