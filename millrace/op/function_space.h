// FunctionSpace: the functions of a graph for kernels that call them again and again, as those of
// datasets do: with each element of what they read, long after the step that made them has ended.
//
// Not for calls that are nodes of a step (PartitionedCall, If, While): planning puts the bodies of
// those in their place (plan/lower.h). Whoever compiles a graph implements it and gives it to the
// kernels that are FunctionCallers; they keep it as long as they like. What it calls may outlive
// sessions and end only with the task. Thread-safe.
#pragma once

#include <memory>
#include <vector>

#include "millrace/base/cancellation.h"
#include "millrace/base/result.h"
#include "millrace/op/device_name.h"
#include "millrace/tensor/attr_value.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// One call under way. Kept alive by who started it, and by the call until it has ended. Used again
// if it was not cancelled.
class FunctionRun {
 public:
  virtual ~FunctionRun() = default;

  std::vector<Tensor> arguments;  // set before; taken
  std::vector<Tensor> results;    // there once it has ended well
  Cancellation cancellation;      // ends the call early; cancelled as well if the call fails
  bool is_orphan = false;         // nobody is left to cancel it: the end of the task does

  // Called once for each call: on any thread, maybe inside GraphFunction::run. Not from inside
  // locks of whoever may be called.
  virtual void ended(Status status) = 0;
};

// A function with the state of its stateful nodes, which all calls share: random numbers go on.
// Any number of calls at once.
class GraphFunction {
 public:
  virtual ~GraphFunction() = default;
  virtual const std::vector<DType>& argument_types() const = 0;
  virtual const std::vector<DType>& result_types() const = 0;
  // Errors: INVALID_ARGUMENT for arguments of other number or type; those of the nodes; CANCELLED
  // once the task has stopped.
  virtual void run(std::shared_ptr<FunctionRun> run) = 0;
};

class FunctionSpace {
 public:
  virtual ~FunctionSpace() = default;
  // With state of its own. Errors: NOT_FOUND for a function that the graph does not bring; those of
  // its body.
  virtual Result<std::shared_ptr<GraphFunction>> instantiate(const FunctionRef& function) = 0;
  // The same, to run on another device of the task (the full name), or this one. Errors besides:
  // INVALID_ARGUMENT for a device that the task does not have, RESOURCE_EXHAUSTED if functions that
  // were made so make others without end; UNIMPLEMENTED where there is one device alone.
  virtual Result<std::shared_ptr<GraphFunction>> instantiate_on(const DeviceName& device,
                                                                const FunctionRef& function) {
    return unimplemented("function '", function.name, "' can't be called on ", device.to_string(),
                         ": whoever calls it knows no devices");
  }
  // Errors: FAILED_PRECONDITION if it, or one that it calls, keeps anything or reads variables: who
  // calls it again is given something else.
  virtual Status check_stateless(const FunctionRef& function) const = 0;
};

// What a kernel is besides, if it calls functions: it is given their space before its first run.
class FunctionCaller {
 public:
  virtual ~FunctionCaller() = default;
  virtual void give_functions(std::shared_ptr<FunctionSpace> functions) = 0;
};

}  // namespace millrace
