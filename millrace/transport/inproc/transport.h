// InprocTransport: between tasks of one process. Services are found by the task's address and
// called by pointer; values are handed over as they are.
//
// Only tasks that are served through the same object find each other. A task has to be served
// before it is looked for: here it is known at once that nobody is there. Thread-safe.
#pragma once

#include <memory>

#include "millrace/transport/transport.h"

namespace millrace {

class InprocTransport final : public Transport {
 public:
  InprocTransport();
  ~InprocTransport() override;

  std::string_view scheme() const override { return "inproc"; }
  // The very object that is served, which stays alive as long as somebody has it.
  Result<std::shared_ptr<MasterService>> dial(std::string_view target,
                                              const PeerPatience& patience) override;
  std::unique_ptr<WorkerDirectory> peers(const PeerOptions& options) override;
  Result<std::shared_ptr<StandbyService>> standby(std::string_view address,
                                                  const PeerPatience& patience) override;
  Result<std::unique_ptr<Serving>> serve(Services services, ServeOptions options) override;

 private:
  class Tasks;
  class Peers;
  class Entry;

  const std::shared_ptr<Tasks> tasks_;
};

}  // namespace millrace
