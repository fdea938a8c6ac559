#include "bench/raw_grpc.h"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

namespace millrace::bench {
namespace {

class EchoReactor final : public grpc::ServerGenericBidiReactor {
 public:
  EchoReactor(std::string method, const grpc::ByteBuffer& payload)
      : echo_(method == "/raw/Echo"), payload_(payload) {
    StartRead(&request_);
  }
  void OnReadDone(bool) override {
    StartWriteAndFinish(echo_ ? &request_ : &payload_, {}, grpc::Status::OK);
  }
  void OnDone() override { delete this; }

 private:
  const bool echo_;
  grpc::ByteBuffer payload_;
  grpc::ByteBuffer request_;
};

class RawService final : public grpc::CallbackGenericService {
 public:
  explicit RawService(size_t payload_bytes) : bytes_(payload_bytes, 'x') {
    const grpc::Slice slice(bytes_.data(), bytes_.size(), grpc::Slice::STATIC_SLICE);
    payload_ = grpc::ByteBuffer(&slice, 1);
  }
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    return new EchoReactor(context->method(), payload_);
  }

 private:
  const std::vector<char> bytes_;
  grpc::ByteBuffer payload_;
};

}  // namespace

void serve_raw(size_t payload_bytes) {
  RawService service(payload_bytes);
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterCallbackGenericService(&service);
  builder.SetMaxReceiveMessageSize(INT_MAX);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  std::printf("%d\n", port);
  std::fflush(stdout);
  server->Wait();
  std::exit(0);
}

namespace {
grpc::ChannelArguments client_arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(INT_MAX);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return arguments;
}
}  // namespace

RawClient::RawClient(const std::string& address)
    : stub_(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(),
                                      client_arguments())) {}

grpc::ByteBuffer RawClient::call(const std::string& method, const grpc::ByteBuffer& request) {
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  grpc::CompletionQueue queue;
  grpc::ByteBuffer reply;
  grpc::Status status;
  auto call = stub_.PrepareUnaryCall(&context, method, request, &queue);
  call->StartCall();
  call->Finish(&reply, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  if (!status.ok()) {
    std::fprintf(stderr, "raw call %s: %s\n", method.c_str(), status.error_message().c_str());
    std::exit(1);
  }
  return reply;
}

}  // namespace millrace::bench
