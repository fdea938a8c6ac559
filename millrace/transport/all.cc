#include "millrace/transport/all.h"

#include "millrace/transport/grpc/transport.h"
#include "millrace/transport/inproc/transport.h"

namespace millrace {
namespace {

std::vector<std::unique_ptr<Transport>> all_transports(const Host& host, bool direct) {
  std::vector<std::unique_ptr<Transport>> all;
  all.push_back(std::make_unique<GrpcTransport>(host, direct));
  all.push_back(std::make_unique<InprocTransport>());
  return all;
}

}  // namespace

Transports::Transports(const Host& host, bool direct) : all_(all_transports(host, direct)) {}

Result<Transport*> Transports::of(std::string_view target) const {
  const size_t end = target.find("://");
  if (end != target.npos) {
    for (const auto& transport : all_)
      if (transport->scheme() == target.substr(0, end)) return transport.get();
  }
  return invalid("the target '", target, "' has not the form ", between_tasks().scheme(),
                 "://host:port");
}

}  // namespace millrace
