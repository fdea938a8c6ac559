// What gRPC wants to have done later or elsewhere: attempts to connect again, above all. Private to
// this room.
//
// On one thread that starts with the first errand. gRPC's own engine grows a pool whose new thread
// sleeps for a second, and may sleep away what wakes somebody up for work: then a connection is not
// tried again for that second, nor does the engine end before it. A TimerQueue it is not, whose
// cancel() waits for a task that runs: gRPC cancels with locks held that its errands want, and lets
// go of an engine within one of them.
#pragma once

#include <memory>

#include "absl/functional/any_invocable.h"
#include <grpc/event_engine/event_engine.h>

namespace millrace::transport {

class Engine final : public grpc_event_engine::experimental::EventEngine {
 public:
  // From now on gRPC's channels and servers in this process use one of these. Any thread, any
  // number of times; the first before gRPC makes an engine.
  static void take_over();

  Engine();
  // Ends the thread, after the errand at hand; those that are not due are forgotten.
  ~Engine() override;

  bool IsWorkerThread() override;
  void Run(Closure* closure) override;
  void Run(absl::AnyInvocable<void()> closure) override;
  TaskHandle RunAfter(Duration when, Closure* closure) override;
  TaskHandle RunAfter(Duration when, absl::AnyInvocable<void()> closure) override;
  // Whether the errand won't be done; else it is being done, or has been.
  bool Cancel(TaskHandle handle) override;

  // gRPC's core reads, writes, listens and looks names up by other means than its engine. Errors:
  // UNIMPLEMENTED; what has no errors is never asked for.
  absl::StatusOr<std::unique_ptr<Listener>> CreateListener(
      Listener::AcceptCallback on_accept, absl::AnyInvocable<void(absl::Status)> on_shutdown,
      const grpc_event_engine::experimental::EndpointConfig& config,
      std::unique_ptr<grpc_event_engine::experimental::MemoryAllocatorFactory> memory) override;
  ConnectionHandle Connect(OnConnectCallback on_connect, const ResolvedAddress& address,
                           const grpc_event_engine::experimental::EndpointConfig& config,
                           grpc_event_engine::experimental::MemoryAllocator memory,
                           Duration timeout) override;
  bool CancelConnect(ConnectionHandle handle) override;
  std::unique_ptr<DNSResolver> GetDNSResolver(const DNSResolver::ResolverOptions& options) override;

 private:
  class Errands;

  const std::shared_ptr<Errands> errands_;  // its thread has it, too
};

}  // namespace millrace::transport
