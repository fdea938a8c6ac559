// Convolutions of float32 by oneDNN, on the thread that calls.
//
//   MR_ASSIGN(const auto one, made.get(spec));          // made before, or now: a millisecond or so
//   MR_TRY(one->pack_filter(filter, packed));           // into the order that oneDNN wants
//   MR_ASSIGN(const auto caller, one->caller());        // of this thread
//   MR_TRY(caller->run(images, packed, outputs));
//
// Images and outputs have their channels last; a filter is [(depth,) height, width, channels of a
// group, outputs]. Which of the three `run` writes is the direction's choice: outputs, or the
// gradient of images, or that of the filter (packed: unpack_filter() then).
//
// A Convolution never changes: many threads may have callers of it. Convolutions is thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "millrace/base/mutex.h"
#include "millrace/base/result.h"

namespace millrace::onednn {

enum class Direction : uint8_t { forward, by_images, by_filter };

// One spatial axis. `before` is how much is padded in front; what is padded behind follows.
struct ConvolutionSide {
  int64_t in = 0, out = 0, window = 1, stride = 1, dilation = 1, before = 0;
  friend bool operator==(const ConvolutionSide&, const ConvolutionSide&) = default;
};

// All sizes are above 0. With a depth of 1 and windows of 1 plane it is a convolution of images.
struct ConvolutionSpec {
  Direction direction = Direction::forward;
  int64_t batch = 1, channels = 1, outputs = 1, groups = 1;
  ConvolutionSide y, x;
  ConvolutionSide z = {.in = 1, .out = 1};
  bool has_depth() const { return z != ConvolutionSide{.in = 1, .out = 1}; }
  friend bool operator==(const ConvolutionSpec&, const ConvolutionSpec&) = default;
};

// Calls a convolution, which must outlive it, on one thread at a time. What a call needs besides
// the three tensors is made once for all calls.
class ConvolutionCaller {
 public:
  virtual ~ConvolutionCaller() = default;
  // Two of the three are only read. Errors: INTERNAL.
  virtual Status run(float* images, float* packed_filter, float* outputs) = 0;
};

class Convolution {
 public:
  // Errors: UNIMPLEMENTED if oneDNN is not installed or lacks it; RESOURCE_EXHAUSTED.
  static Result<std::shared_ptr<const Convolution>> create(const ConvolutionSpec& spec);
  virtual ~Convolution() = default;

  virtual int64_t packed_filter_elements() const = 0;
  virtual Status pack_filter(const float* filter, float* packed) const = 0;
  virtual Status unpack_filter(const float* packed, float* filter) const = 0;
  // Errors: RESOURCE_EXHAUSTED.
  virtual Result<std::unique_ptr<ConvolutionCaller>> caller() const = 0;
};

// Those that were made last, so that a shape that comes again costs nothing; a few of them.
class Convolutions {
 public:
  // Errors: as Convolution::create.
  Result<std::shared_ptr<const Convolution>> get(const ConvolutionSpec& spec);

 private:
  struct Made {
    ConvolutionSpec spec;
    Result<std::shared_ptr<const Convolution>> convolution;
  };
  static constexpr size_t kMost = 8;

  Mutex mutex_;
  std::vector<Made> made_ MR_GUARDED_BY(mutex_);  // the one used last comes last
};

}  // namespace millrace::onednn
