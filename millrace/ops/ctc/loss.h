// The loss of one sequence: minus the logarithm of the probability that steps, each a distribution
// over classes, spell a list of labels. Steps spell what is left of their classes when runs are
// merged and blanks taken out (Graves, "Supervised Sequence Labelling with Recurrent Neural
// Networks", chapter 7).
//
//   labels  a b   ->  states  _ a _ b _        (_ is the blank)
//   a step stays in its state, goes on to the next one, or leaves out a blank between two labels
//   that differ
//
// Pure functions. Memory is of the order of steps times labels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/op/cancel_probe.h"

namespace millrace {

struct CtcRules {
  int32_t blank = 0;
  // A label may last for several steps. If not, each step is a label of its own.
  bool merges_repeated = true;
};

// One sequence of a batch [steps, batch, classes]: element (t, c) is at t * stride + c.
template <class T>
struct CtcSteps {
  const T* logits = nullptr;
  int64_t number = 0, classes = 0, stride = 0;
};

// The loss; the slope by each logit goes to `slope`, in the same layout. Infinite, with the
// probabilities of the classes as slopes, if the steps can't spell the labels.
// Requires at least one step and one class, and labels in [0, classes).
// Errors: RESOURCE_EXHAUSTED; CANCELLED.
template <class T>
Result<T> ctc_loss(const CtcSteps<T>& steps, std::span<const int32_t> labels, CtcRules rules,
                   T* slope, CancelProbe& probe);

extern template Result<float> ctc_loss(const CtcSteps<float>&, std::span<const int32_t>, CtcRules,
                                       float*, CancelProbe&);
extern template Result<double> ctc_loss(const CtcSteps<double>&, std::span<const int32_t>, CtcRules,
                                        double*, CancelProbe&);

}  // namespace millrace
