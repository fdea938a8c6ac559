// CancelProbe: how the long loop of a kernel hears that its step is over.
//
// A step that was cancelled, or that has taken longer than it may, ends when its kernels have come
// back, and one kernel can have gigabytes to walk through. Loops whose length the data decides
// therefore look up every kPiece elements or so, which is a millisecond or less: too rarely to cost
// anything, and not at all in a small kernel.
//
//   CancelProbe probe(context);
//   MR_TRY(probe.in_pieces(n, [&](int64_t begin, int64_t count) { loop(in + begin, count); }));
//
// Not for kernels that change what outlives the step, a variable say: they do all or nothing.
// Made on the stack of a kernel, for one thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "millrace/op/kernel.h"

namespace millrace {

class CancelProbe {
 public:
  static constexpr int64_t kPiece = int64_t{1} << 17;

  CancelProbe() = default;  // nobody cancels
  explicit CancelProbe(KernelContext& context) : cancellation_(context.step().cancellation) {}
  // Of a call that is no step.
  explicit CancelProbe(Cancellation& cancellation) : cancellation_(&cancellation) {}

  // After `work` elements: false if the rest need not be done. `status` says why.
  bool go_on(int64_t work) {
    left_ -= work;
    return left_ > 0 || look();
  }
  // OK unless the loop was cut short: CANCELLED as a consequence, with the reason.
  Status status() const {
    if (!is_over_) return {};
    return cancelled("the step ended while this was computed: ", cancellation_->reason().message())
        .as_consequence();
  }
  // body(begin, count) for one piece of [0, n) after the other; the status if it is cut short.
  template <class Body>
  Status in_pieces(int64_t n, Body body, int64_t piece = kPiece) {
    for (int64_t begin = 0; begin < n; begin += piece) {
      const int64_t count = std::min(piece, n - begin);
      body(begin, count);
      if (n > piece && !look()) return status();
    }
    return {};
  }

 private:
  bool look() {
    left_ = kPiece;
    is_over_ = cancellation_ != nullptr && cancellation_->cancelled();
    return !is_over_;
  }

  Cancellation* cancellation_ = nullptr;
  int64_t left_ = kPiece;  // until it looks
  bool is_over_ = false;
};

}  // namespace millrace
