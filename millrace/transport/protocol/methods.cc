#include "millrace/transport/protocol/methods.h"

#include <algorithm>

namespace millrace::transport {

RpcMethod rpc_method(std::string_view method) {
  const auto found = std::ranges::find(kRpcMethodNames, short_name(method));
  if (found == kRpcMethodNames.end()) return RpcMethod::other;
  return static_cast<RpcMethod>(found - kRpcMethodNames.begin());
}

}  // namespace millrace::transport
