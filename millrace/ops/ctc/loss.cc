#include "millrace/ops/ctc/loss.h"

#include <cmath>
#include <limits>

#include "millrace/ops/ctc/log_sum.h"
#include "millrace/tensor/tensor.h"

namespace millrace {
namespace {

// Labels with blanks around them.
std::vector<int32_t> states_of(std::span<const int32_t> labels, int32_t blank) {
  std::vector<int32_t> states;
  states.reserve(2 * labels.size() + 1);
  for (const int32_t label : labels) {
    states.push_back(blank);
    states.push_back(label);
  }
  states.push_back(blank);
  return states;
}

// A table of steps by states of logarithms.
template <class T>
class CtcTable {
 public:
  static Result<CtcTable> create(int64_t steps, int64_t states) {
    CtcTable made;
    MR_ASSIGN(made.cells_, Tensor::allocate(dtype_of<T>, {steps, states}));
    std::ranges::fill(made.cells_.template mutable_flat<T>(), kNever<T>);
    made.states_ = states;
    return made;
  }
  T* row(int64_t step) { return cells_.template mutable_flat<T>().data() + step * states_; }

 private:
  Tensor cells_;
  int64_t states_ = 0;
};

// Which moves may be made between states.
struct CtcMoves {
  std::span<const int32_t> states;
  CtcRules rules;

  bool may_stay(size_t at) const { return rules.merges_repeated || states[at] == rules.blank; }
  // From `at - 2` to `at`.
  bool may_skip_to(size_t at) const {
    if (at < 2 || states[at] == rules.blank) return false;
    return !rules.merges_repeated || states[at] != states[at - 2];
  }
};

// The states that may be visited at a step: not too far to have come there, nor to reach the end.
struct CtcWindow {
  size_t begin, end;

  static CtcWindow at(int64_t step, int64_t steps, size_t states) {
    const int64_t all = static_cast<int64_t>(states), left = 2 * (steps - step);
    return {static_cast<size_t>(std::max<int64_t>(0, all - left)),
            static_cast<size_t>(std::min<int64_t>(all, 2 * (step + 1)))};
  }
};

// ahead(t, s): the probability of all ways to state s at step t, the step's own included.
template <class T>
Status walk_forward(CtcTable<T>& ahead, CtcTable<T>& heard, int64_t steps, const CtcMoves& moves,
                    CancelProbe& probe) {
  const size_t states = moves.states.size();
  for (size_t s = 0; s < std::min<size_t>(2, states); ++s) ahead.row(0)[s] = heard.row(0)[s];
  for (int64_t t = 1; t < steps; ++t) {
    const CtcWindow window = CtcWindow::at(t, steps, states);
    const T *const before = ahead.row(t - 1), *const here = heard.row(t);
    T* const now = ahead.row(t);
    for (size_t s = window.begin; s < window.end; ++s) {
      T sum = moves.may_stay(s) ? before[s] : kNever<T>;
      if (s > 0) sum = log_sum(sum, before[s - 1]);
      if (moves.may_skip_to(s)) sum = log_sum(sum, before[s - 2]);
      now[s] = here[s] + sum;
    }
    if (!probe.go_on(static_cast<int64_t>(states))) return probe.status();
  }
  return {};
}

// behind(t, s): the probability of all ways from state s at step t to the end, without the step's
// own.
template <class T>
Status walk_backward(CtcTable<T>& behind, CtcTable<T>& heard, int64_t steps, const CtcMoves& moves,
                     CancelProbe& probe) {
  const size_t states = moves.states.size();
  for (size_t s = states < 2 ? 0 : states - 2; s < states; ++s) behind.row(steps - 1)[s] = 0;
  for (int64_t t = steps - 2; t >= 0; --t) {
    const CtcWindow window = CtcWindow::at(t, steps, states);
    const T *const after = behind.row(t + 1), *const next = heard.row(t + 1);
    T* const now = behind.row(t);
    for (size_t s = window.begin; s < window.end; ++s) {
      T sum = moves.may_stay(s) ? after[s] + next[s] : kNever<T>;
      if (s + 1 < states) sum = log_sum(sum, after[s + 1] + next[s + 1]);
      if (s + 2 < states && moves.states[s] != moves.rules.blank && moves.may_skip_to(s + 2))
        sum = log_sum(sum, after[s + 2] + next[s + 2]);
      now[s] = sum;
    }
    if (!probe.go_on(static_cast<int64_t>(states))) return probe.status();
  }
  return {};
}

// The probabilities of the classes at a step.
template <class T>
void softmax_of_step(const T* logits, int64_t classes, T* out) {
  const T largest = *std::max_element(logits, logits + classes);
  T sum = 0;
  for (int64_t c = 0; c < classes; ++c) sum += out[c] = std::exp(logits[c] - largest);
  for (int64_t c = 0; c < classes; ++c) out[c] /= sum;
}

}  // namespace

template <class T>
Result<T> ctc_loss(const CtcSteps<T>& steps, std::span<const int32_t> labels, CtcRules rules,
                   T* slope, CancelProbe& probe) {
  const std::vector<int32_t> states = states_of(labels, rules.blank);
  const auto number = static_cast<int64_t>(states.size());
  const CtcMoves moves{states, rules};
  MR_ASSIGN(auto heard, CtcTable<T>::create(steps.number, number));
  MR_ASSIGN(auto ahead, CtcTable<T>::create(steps.number, number));
  MR_ASSIGN(auto behind, CtcTable<T>::create(steps.number, number));
  for (int64_t t = 0; t < steps.number; ++t) {
    T* const chances = slope + t * steps.stride;
    softmax_of_step(steps.logits + t * steps.stride, steps.classes, chances);
    for (int64_t s = 0; s < number; ++s)
      heard.row(t)[s] = std::log(chances[states[static_cast<size_t>(s)]]);
    if (!probe.go_on(steps.classes + number)) return probe.status();
  }
  MR_TRY(walk_forward(ahead, heard, steps.number, moves, probe));
  MR_TRY(walk_backward(behind, heard, steps.number, moves, probe));
  T total = kNever<T>;
  for (int64_t s = 0; s < number; ++s) total = log_sum(total, ahead.row(0)[s] + behind.row(0)[s]);
  if (total == kNever<T>) return -total;
  std::vector<T> of_class(static_cast<size_t>(steps.classes));
  for (int64_t t = 0; t < steps.number; ++t) {
    std::ranges::fill(of_class, kNever<T>);
    for (int64_t s = 0; s < number; ++s) {
      T& sum = of_class[static_cast<size_t>(states[static_cast<size_t>(s)])];
      sum = log_sum(sum, ahead.row(t)[s] + behind.row(t)[s]);
    }
    T* const out = slope + t * steps.stride;
    for (int64_t c = 0; c < steps.classes; ++c)
      out[c] -= std::exp(of_class[static_cast<size_t>(c)] - total);
    if (!probe.go_on(steps.classes + number)) return probe.status();
  }
  return -total;
}

template Result<float> ctc_loss(const CtcSteps<float>&, std::span<const int32_t>, CtcRules, float*,
                                CancelProbe&);
template Result<double> ctc_loss(const CtcSteps<double>&, std::span<const int32_t>, CtcRules,
                                 double*, CancelProbe&);

}  // namespace millrace
