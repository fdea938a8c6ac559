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
      : method_(std::move(method)), payload_(payload) {
    StartRead(&request_);
  }
  void OnReadDone(bool) override {
    if (method_ == "/raw/Echo") payload_ = request_;
    if (method_ == "/raw/Take") payload_ = grpc::ByteBuffer(&nothing_, 1);
    StartWriteAndFinish(&payload_, {}, grpc::Status::OK);
  }
  void OnDone() override { delete this; }

 private:
  const std::string method_;
  const grpc::Slice nothing_;
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

RawFanOut::RawFanOut(const std::vector<std::string>& addresses) {
  for (const std::string& address : addresses)
    stubs_.push_back(std::make_unique<grpc::GenericStub>(grpc::CreateCustomChannel(
        address, grpc::InsecureChannelCredentials(), client_arguments())));
}

void RawFanOut::call(const std::string& method, const grpc::ByteBuffer& request, int at_once,
                     const std::function<void(const grpc::ByteBuffer&)>& use) {
  struct Waiting {
    grpc::ClientContext context;
    grpc::ByteBuffer reply;
    grpc::Status status;
    std::unique_ptr<grpc::GenericClientAsyncResponseReader> call;
  };
  std::vector<std::unique_ptr<Waiting>> waiting;
  for (int i = 0; i < at_once; ++i)
    for (const auto& stub : stubs_) {
      Waiting& one = *waiting.emplace_back(std::make_unique<Waiting>());
      one.context.set_wait_for_ready(true);
      one.call = stub->PrepareUnaryCall(&one.context, method, request, &queue_);
      one.call->StartCall();
      one.call->Finish(&one.reply, &one.status, &one);
    }
  for (size_t i = 0; i < waiting.size(); ++i) {
    void* tag = nullptr;
    bool ok = false;
    queue_.Next(&tag, &ok);
    const auto& done = *static_cast<Waiting*>(tag);
    if (!done.status.ok()) {
      std::fprintf(stderr, "raw call %s: %s\n", method.c_str(),
                   done.status.error_message().c_str());
      std::exit(1);
    }
    use(done.reply);
  }
}

}  // namespace millrace::bench
