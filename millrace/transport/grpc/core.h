// gRPC's C core as values that clean up after themselves. Private to this room.
//
// The C core and not the C++ wrapper around it, for three things that the wrapper does not give:
// one completion queue for the server and for outgoing calls, so that work goes on where the socket
// was read; a blocking call whose socket is read by the thread that waits; and messages as slices.
#pragma once

#include <cstddef>
#include <memory>

#include <grpc/byte_buffer.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/slice.h>

#include "millrace/base/status.h"

namespace millrace::transport {

// Whether the system would give gRPC the threads that it starts for itself: for timers, names,
// closures. It doesn't say so, and who lets go of a gRPC that was refused one waits for it without
// end. Errors: RESOURCE_EXHAUSTED.
Status try_threads_of_grpc();

// gRPC is initialised, with engines of ours, as long as one of these exists; and for good where it
// may have been refused a thread that it then begins with.
class Library {
 public:
  Library();
  ~Library() {
    if (has_its_threads_) grpc_shutdown();
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

 private:
  const bool has_its_threads_;
};

template <auto destroy>
struct Destroy {
  template <class T>
  void operator()(T* thing) const {
    destroy(thing);
  }
};

// A message as it came from or goes to the network.
using ByteBuffer = std::unique_ptr<grpc_byte_buffer, Destroy<grpc_byte_buffer_destroy>>;
using CallHandle = std::unique_ptr<grpc_call, Destroy<grpc_call_unref>>;
using ChannelHandle = std::unique_ptr<grpc_channel, Destroy<grpc_channel_destroy>>;
using ServerHandle = std::unique_ptr<grpc_server, Destroy<grpc_server_destroy>>;
// Shut it down and drain it first.
using QueueHandle = std::unique_ptr<grpc_completion_queue, Destroy<grpc_completion_queue_destroy>>;
using ChannelCredentials =
    std::unique_ptr<grpc_channel_credentials, Destroy<grpc_channel_credentials_release>>;
using ServerCredentials =
    std::unique_ptr<grpc_server_credentials, Destroy<grpc_server_credentials_release>>;

struct Metadata {
  Metadata() { grpc_metadata_array_init(&array); }
  ~Metadata() { grpc_metadata_array_destroy(&array); }
  Metadata(const Metadata&) = delete;
  Metadata& operator=(const Metadata&) = delete;

  grpc_metadata_array array;
};

struct CallDetails {
  CallDetails() { grpc_call_details_init(&details); }
  ~CallDetails() { grpc_call_details_destroy(&details); }
  CallDetails(const CallDetails&) = delete;
  CallDetails& operator=(const CallDetails&) = delete;

  grpc_call_details details;
};

// One reference to a slice.
class Slice {
 public:
  Slice() : slice_(grpc_empty_slice()) {}
  explicit Slice(grpc_slice taken) : slice_(taken) {}
  ~Slice() { grpc_slice_unref(slice_); }
  Slice(const Slice&) = delete;
  Slice& operator=(const Slice&) = delete;

  grpc_slice get() const { return slice_; }
  // Where gRPC puts one; it is empty before.
  grpc_slice* receive() { return &slice_; }

 private:
  grpc_slice slice_;
};

}  // namespace millrace::transport
