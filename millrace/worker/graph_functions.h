// GraphFunctions: the functions of a registered graph for its kernels that call them
// (op/function_space.h): those of datasets.
//
// The body of a function is lowered, cut and folded as a step is, once, and then compiled for each
// instance, whose stateful kernels it has. All of it runs on the one device whose kernels call it,
// whatever its nodes ask for, but for RemoteCalls: those are kernels (_RemoteCall) that call on the
// device of the task that they are told. Calls are runs of the executor with feeds and fetches by
// slot.
//
// Kernels keep the space, datasets keep it, and iterators keep datasets: so it may outlive the
// session, the graph and even the worker. It holds none of them. A call enters the worker by its
// CallGate, which is shut when the worker ends, and has hold of the device's resources.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/base/host.h"
#include "millrace/base/in_flight.h"
#include "millrace/graph/graph.h"
#include "millrace/op/function_space.h"
#include "millrace/worker/local_devices.h"

namespace millrace {

// Lets calls into a worker as long as it is open. Thread-safe.
class CallGate {
 public:
  explicit CallGate(InFlight& inside) : inside_(&inside) {}
  // None once it is shut.
  std::optional<InFlight::Token> enter();
  // Nobody comes in any more; cancels ending().
  void shut(const Status& why);
  // For calls that nobody else would cancel.
  Cancellation& ending() { return ending_; }

 private:
  Mutex mutex_;
  InFlight* inside_ MR_GUARDED_BY(mutex_);
  Cancellation ending_;
};

// What calls take from their worker.
struct CallSite {
  Host host;
  std::shared_ptr<CallGate> gate;
};

class GraphFunctions final : public FunctionSpace,
                             public std::enable_shared_from_this<GraphFunctions> {
 public:
  // `device` is a number in `devices`. `library` may be null.
  GraphFunctions(const CallSite& site, std::shared_ptr<const FunctionLibrary> library,
                 const OpRegistry& ops, const LocalDevices& devices, size_t device);

  ~GraphFunctions() override;

  Result<std::shared_ptr<GraphFunction>> instantiate(const FunctionRef& function) override;
  Result<std::shared_ptr<GraphFunction>> instantiate_on(const DeviceName& device,
                                                        const FunctionRef& function) override;
  Status check_stateless(const FunctionRef& function) const override;

 private:
  class Instance;
  // A device of the task. Nobody's resources are kept by it.
  struct Place {
    DeviceContext device;
    std::weak_ptr<ResourceStore> resources;
  };
  // What spaces share that were made for calls from each other's functions.
  struct Shared {
    std::vector<Place> places;
    std::atomic<int> num_calls = 0;  // spaces for calls on devices that were named
  };
  // For a function that one of `caller`'s calls on the device `place`.
  GraphFunctions(const GraphFunctions& caller, const Place& place);

  // A function made ready to be compiled.
  struct Prepared;

  Result<std::shared_ptr<const Prepared>> prepare(const FunctionRef& function) const;

  const CallSite site_;
  const std::shared_ptr<const FunctionLibrary> library_;
  const OpRegistry& ops_;
  const std::shared_ptr<Shared> shared_;
  const int depth_ = 0;  // of calls on devices that were named
  const DeviceContext device_;
  const std::weak_ptr<ResourceStore> resources_;

  Mutex mutex_;
  // Those without attributes, by name.
  std::map<std::string, std::shared_ptr<const Prepared>> prepared_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace
