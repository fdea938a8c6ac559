#include "millrace/session/runtime.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "millrace/ops/all.h"

namespace millrace {

std::shared_ptr<const OpRegistry> standard_ops() {
  auto ops = std::make_shared<OpRegistry>();
  if (const Status status = register_all_ops(*ops); !status.ok()) {
    // An op of ours is wrong, which every test would have shown: there is nothing to go on with.
    std::fprintf(stderr, "registering ops: %s\n", status.to_string().c_str());
    std::abort();
  }
  return ops;
}

std::shared_ptr<Runtime> Runtime::create(RuntimeOptions options) {
  return std::shared_ptr<Runtime>(new Runtime(std::move(options)));
}

Runtime::Runtime(RuntimeOptions options)
    : ops_(options.ops ? std::move(options.ops) : standard_ops()),
      random_(make_random()),
      pool_(options.threads),
      endings_(1, "mr-endings") {}

const GrpcThreads& Runtime::grpc_threads() {
  MutexLock lock(mutex_);
  if (!grpc_threads_) grpc_threads_ = std::make_unique<GrpcThreads>();
  return *grpc_threads_;
}

}  // namespace millrace
