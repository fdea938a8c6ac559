// What gRPC itself costs here: an echo service on bare ByteBuffers, in a process of its own, and a
// blocking client. The baseline that remote figures are divided by.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

namespace millrace::bench {

// Serves until the process is killed: "/raw/Echo" answers with its request, "/raw/Payload" with
// `payload_bytes` bytes from one static slice, "/raw/Take" with nothing. Prints the port on
// standard output.
[[noreturn]] void serve_raw(size_t payload_bytes);

class RawClient {
 public:
  explicit RawClient(const std::string& address);
  // One unary call on the calling thread; aborts the benchmark if it fails.
  grpc::ByteBuffer call(const std::string& method, const grpc::ByteBuffer& request);

 private:
  grpc::GenericStub stub_;
};

// Calls to several servers that are under way together; one thread waits for them all.
class RawFanOut {
 public:
  explicit RawFanOut(const std::vector<std::string>& addresses);
  // `at_once` calls to each server; `use` sees every reply. Aborts the benchmark if one fails.
  void call(const std::string& method, const grpc::ByteBuffer& request, int at_once,
            const std::function<void(const grpc::ByteBuffer&)>& use);

 private:
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs_;
  grpc::CompletionQueue queue_;
};

}  // namespace millrace::bench
