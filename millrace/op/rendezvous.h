// Rendezvous: where the Send and the Recv of a step meet, by key.
//
// A key is a channel: a first-in first-out of values, any number of sends before or after the
// matching receives. A send never blocks; a receive is answered when its value is there, or when
// the rendezvous is aborted. One rendezvous serves one step on one task; keys whose source is
// another task are fetched from there by the worker's implementation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "millrace/base/cancellation.h"
#include "millrace/base/done.h"
#include "millrace/op/device_name.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// "<source device>;<incarnation, 16 hex digits>;<destination device>;<tensor
// name>;<frame>:<iteration>". The whole string is the identity of the channel and must be equal
// byte for byte on both sides.
struct RendezvousKey {
  std::string text;

  static RendezvousKey make(std::string_view source_device, uint64_t source_incarnation,
                            std::string_view destination_device, std::string_view tensor_name,
                            uint64_t frame = 0, int64_t iteration = 0);
  // The same key in another frame and iteration.
  RendezvousKey in(uint64_t frame, int64_t iteration) const;

  struct Parts {
    std::string_view source_device, destination_device, tensor_name, frame_and_iteration;
    uint64_t source_incarnation = 0;
    DeviceName source, destination;
  };
  // Errors: INVALID_ARGUMENT "Invalid  rendezvous key: …" (TensorFlow's text) and what is wrong.
  static Result<Parts> parse(std::string_view text);
};

// A value on its way. A dead one says that the producer did not run; its tensor has no meaning.
struct Delivery {
  Tensor tensor;
  bool is_dead = false;
};

class Rendezvous {
 public:
  virtual ~Rendezvous() = default;

  // Errors: the reason of the abort, if aborted.
  virtual Status send(std::string_view key, Delivery delivery) = 0;
  // Answers once, maybe inside this call. `cancellation` may be null; it ends the wait with its
  // reason.
  virtual void receive(std::string_view key, Cancellation* cancellation, Done<Delivery> done) = 0;
  // Fails every waiting and every later operation with `why`. The first reason stays.
  virtual void abort(const Status& why) = 0;
};

}  // namespace millrace
