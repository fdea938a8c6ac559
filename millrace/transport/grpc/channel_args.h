// Settings of gRPC servers and channels. Private to this room.
#pragma once

#include "absl/container/inlined_vector.h"

#include "millrace/transport/grpc/core.h"

namespace millrace::transport {

inline constexpr int kUnlimited = -1;
// A peer that does not answer a keepalive ping for this long is gone.
inline constexpr int kKeepaliveTimeoutMillis = 20'000;
// Room for a long error message and its details.
inline constexpr int kMaxMetadataBytes = 64 << 10;

class ChannelArgs {
 public:
  // `key` must be a constant.
  void set(const char* key, int value) {
    grpc_arg added{};
    added.type = GRPC_ARG_INTEGER;
    added.key = const_cast<char*>(key);
    added.value.integer = value;
    values_.push_back(added);
  }
  // What both ends want.
  void set_common() {
    set(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
    set(GRPC_ARG_ENABLE_CHANNELZ, 0);
  }
  // Valid until the next change.
  const grpc_channel_args* get() {
    args_ = {values_.size(), values_.data()};
    return &args_;
  }

 private:
  absl::InlinedVector<grpc_arg, 24> values_;
  grpc_channel_args args_{};
};

}  // namespace millrace::transport
