#include "millrace/transport/grpc/core.h"

#include <future>
#include <thread>
#include <utility>
#include <vector>

#include "millrace/base/start_thread.h"
#include "millrace/transport/grpc/engine.h"

namespace millrace::transport {

Status try_threads_of_grpc() {
  constexpr int kCount = 4;
  std::promise<void> enough;
  const std::shared_future<void> tried = enough.get_future().share();
  std::vector<std::thread> threads;
  Status refused;
  for (int i = 0; i < kCount && refused.ok(); ++i) {
    auto started = start_thread("grpc's own", [tried] { tried.wait(); });
    refused = started.status();
    if (started.ok()) threads.push_back(*std::move(started));
  }
  enough.set_value();
  for (std::thread& thread : threads) thread.join();
  return refused;
}

Library::Library() : has_its_threads_(try_threads_of_grpc().ok()) {
  Engine::take_over();
  grpc_init();
}

}  // namespace millrace::transport
