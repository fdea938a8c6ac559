// Settings of gRPC servers and channels. Private to this room.
#pragma once

#include "absl/container/inlined_vector.h"

#include "millrace/transport/grpc/core.h"
#include "millrace/transport/protocol/receive_memory.h"

namespace millrace::transport {

// A peer that does not answer a keepalive ping for this long is gone.
inline constexpr int kKeepaliveTimeoutMillis = 20'000;
// Room for a long error message and its details.
inline constexpr int kMaxMetadataBytes = 64 << 10;

// What all connections of the process gather of messages that nobody has read yet, bounded. When it
// is exceeded gRPC ends calls with RESOURCE_EXHAUSTED. Never destroyed: it may be used to the end.
inline grpc_resource_quota* receive_quota() {
  static grpc_resource_quota* const quota = [] {
    grpc_resource_quota* made = grpc_resource_quota_create("received messages");
    grpc_resource_quota_resize(made, receive_limits().all);
    return made;
  }();
  return quota;
}

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
    set(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, receive_limits().one_message);
    set(receive_quota());
    set(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
    set(GRPC_ARG_ENABLE_CHANNELZ, 0);
  }
  void set(grpc_resource_quota* quota) {
    grpc_arg added{};
    added.type = GRPC_ARG_POINTER;
    added.key = const_cast<char*>(GRPC_ARG_RESOURCE_QUOTA);
    added.value.pointer = {quota, grpc_resource_quota_arg_vtable()};
    values_.push_back(added);
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
