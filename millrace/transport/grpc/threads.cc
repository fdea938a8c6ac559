#include "millrace/transport/grpc/threads.h"

#include "millrace/transport/grpc/completion_queue.h"
#include "millrace/transport/grpc/core.h"

namespace millrace {

GrpcThreads::GrpcThreads() : GrpcThreads(Options{}) {}

GrpcThreads::GrpcThreads(Options options)
    : queue_(std::make_shared<transport::CompletionQueue>(options.callers_pause,
                                                          [this] { return threads_.begin(); })),
      threads_(*queue_, {.max_threads = options.max_threads, .name = "grpc"}),
      direct_(options.direct ? std::make_unique<transport::DirectThreads>() : nullptr) {}

GrpcThreads::~GrpcThreads() {
  direct_.reset();
  queue_->close();
  threads_.finish();
}

Status GrpcThreads::start() {
  const transport::CompletionQueue::Use use(*queue_);
  if (!use) return use.why_not();
  MR_TRY(threads_.prepare_to_serve());
  return transport::try_threads_of_grpc();
}

}  // namespace millrace
