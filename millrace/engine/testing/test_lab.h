// A device on which tests run graphs given as text. Not part of any library.
//
//   Lab lab;
//   CHECK(lab.run("a = Const(2) b = Add(a, a)", {"b"}).value("b") == Tensor::scalar(4));
//
// Besides control flow, transfers, constants and identities there are, on int32:
//   Add(x, y)  Less(x, y)
//   Log(x)            passes x on and writes the node's name into lab.log
//   Fail(code=, message=)
//   Wait()            gives what the test says in lab.answer(node, ...), or ends when cancelled
//   Drop()            never answers
//   Work()            64 KiB of zeros
//   Dear(x)           passes x on and says that it is dear
//   Meet(x, work)     dear; ends when two of them run at the same time
//   Variable()        a reference to lab.variables[node]; Assign(ref, value)
//   Nothing()         declares an output and gives none; Float() gives a float one
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/base/thread_pool.h"
#include "millrace/engine/executor.h"
#include "millrace/engine/local_rendezvous.h"
#include "millrace/graph/text.h"

namespace millrace::testing {

class Lab {
 public:
  Lab();

  struct Outcome {
    Status status = internal("the step has not ended");
    std::map<std::string, Delivery> fetched;
    const Tensor& value(const std::string& name) const { return fetched.at(name).tensor; }
    bool is_dead(const std::string& name) const { return fetched.at(name).is_dead; }
  };

  // One step that may still be running.
  class Step {
   public:
    Outcome wait();
    Cancellation cancellation;
    LocalRendezvous rendezvous;

   private:
    friend class Lab;
    std::vector<std::string> fetches_;
    std::vector<Tensor> fed_;
    std::vector<Delivery> fetched_;
    ResourceStore resources_;
    CallerThread caller_;
    Outcome outcome_;
  };

  Result<std::shared_ptr<const CompiledGraph>> compile(
      const std::string& text, const std::vector<std::string>& fetches = {});
  std::unique_ptr<Step> start(std::shared_ptr<const CompiledGraph> graph,
                              std::vector<Tensor> feeds = {}, Runner* pool = nullptr);
  Outcome run(const std::string& text, const std::vector<std::string>& fetches = {},
              Runner* pool = nullptr);

  // Answers a Wait, as soon as it has started.
  void answer(const std::string& node, Result<int32_t> value);

  OpRegistry ops;
  ResourceStore resources;
  DeviceContext device;
  KernelCache kernels;
  TraceSink* trace = nullptr;

  std::vector<std::string> log() {
    MutexLock lock(mutex);
    return log_;
  }
  Mutex mutex;
  Condition changed;
  std::vector<std::string> log_ MR_GUARDED_BY(mutex);
  // A Wait that has started and not been answered.
  struct Wait {
    KernelContext* context = nullptr;
    Done<void> done;
    Status cancelled;  // guarded by the lab's mutex
    Cancellation::Registration registration;
  };
  std::map<std::string, std::unique_ptr<Wait>> waiting MR_GUARDED_BY(mutex);
  static void end(std::unique_ptr<Wait> wait, const Status& status);
  int meeting MR_GUARDED_BY(mutex) = 0;
  struct Variable final : Resource {
    Mutex mutex;
    Tensor tensor;
    std::string description() const override { return "a variable of a test"; }
  };
  std::map<std::string, std::shared_ptr<Variable>> variables MR_GUARDED_BY(mutex);
};

inline Tensor number(int32_t value) { return Tensor::scalar(value); }

}  // namespace millrace::testing
