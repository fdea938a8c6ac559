// Numbers of one normal distribution that lie between bounds, number by number as TensorFlow draws
// them: out of blocks that are taken one after the other, so that what was drawn before decides
// which ones are left. Private to this room; values on the stack.
#pragma once

#include <cmath>
#include <utility>

#include "millrace/base/result.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/ops/loops/cpu_loops.h"
#include "millrace/ops/random/distributions.h"

namespace millrace {

// Rejected so often in a row, a sample is given up.
inline constexpr int kMostTruncatedTries = 1000;

// Where samples go: `count` of them, `stride` apart.
template <class T>
struct SamplePlaces {
  T* first;
  int64_t count, stride;
};

// Numbers of one normal distribution that lie between bounds. After each step of its arithmetic a
// number is rounded to the type, as TensorFlow's are: else halves would not be the same.
template <class T>
class TruncatedNormal {
 public:
  using M = cpu::Math<T>;

  // Errors: INVALID_ARGUMENT for a distribution that has no such numbers.
  static Result<TruncatedNormal> create(T mean, T deviation, T least, T most) {
    const M m = static_cast<M>(mean), d = static_cast<M>(deviation);
    const M low = static_cast<M>(least), high = static_cast<M>(most);
    const bool makes_sense = std::isfinite(m) && std::isfinite(d) && d > 0 && low < high &&
                             (std::isfinite(low) || std::isfinite(high));
    if (makes_sense) return TruncatedNormal(m, d, low, high);
    return invalid("Invalid parameters: mean ", m, ", deviation ", d, ", minval ", low, ", maxval ",
                   high,
                   "; mean and deviation must be finite, the latter positive, minval less than "
                   "maxval, and one of the bounds finite");
  }

  // Errors: INTERNAL if the numbers between the bounds are too unlikely; CANCELLED.
  Status draw(PhiloxBlocks& blocks, SamplePlaces<T> to, CancelProbe& probe) const {
    const M root = rounded(std::sqrt(rounded(square(low_) + 4)));
    if ((low_ < -enough() && high_ >= 0) || (high_ > enough() && low_ <= 0))
      return draw_from_normal(blocks, to, probe);
    const M slope = rounded(rounded(low_ * rounded(low_ - root)) / 4);
    const M peak = rounded(std::exp(rounded(M(0.5) + slope)));
    const M cutoff = rounded(rounded(2 * peak) / rounded(low_ + root));
    const M width = rounded(high_ - low_);
    return width < cutoff
               ? draw_from_uniform(blocks, width, to, probe)
               : draw_from_exponential(blocks, rounded(rounded(low_ + root) / 2), to, probe);
  }

 private:
  // Turned around where that makes the finite bound the lower one, or both positive.
  TruncatedNormal(M mean, M deviation, M least, M most) : mean_(mean), deviation_(deviation) {
    if ((std::isinf(least) && least < 0) || most < mean) {
      std::swap(least, most);
      deviation_ = -deviation;
    }
    low_ = rounded(rounded(least - mean) / deviation_);
    high_ = rounded(rounded(most - mean) / deviation_);
  }

  static M rounded(M x) { return static_cast<M>(T(x)); }
  static M square(M x) { return rounded(x * x); }
  // So many deviations of one side make it worth drawing normal numbers.
  static M enough() { return rounded(M(1.3)); }

  // The next place for a sample, and how often it was tried in vain.
  struct Cursor {
    SamplePlaces<T> to;
    int64_t at = 0;
    int tries = 0;

    bool is_through() const { return at == to.count; }
    void take(T sample) {
      to.first[at++ * to.stride] = sample;
      tries = 0;
    }
  };
  T sample_of(M z) const { return T(rounded(z * deviation_) + mean_); }
  Status given_up() const {
    return internal("no sample of a truncated normal in ", kMostTruncatedTries, " tries: between ",
                    low_, " and ", high_, " deviations from the mean there is next to nothing");
  }

  Status draw_from_normal(PhiloxBlocks& blocks, SamplePlaces<T> to, CancelProbe& probe) const {
    Cursor cursor{to};
    while (!cursor.is_through()) {
      for (const T drawn : normal_group<T>(blocks.next())) {
        const M z = static_cast<M>(drawn);
        if (z >= low_ && z <= high_) {
          cursor.take(sample_of(z));
          if (cursor.is_through()) break;
        } else if (++cursor.tries > kMostTruncatedTries) {
          return given_up();
        }
      }
      if (!probe.go_on(64)) return probe.status();
    }
    return {};
  }

  Status draw_from_uniform(PhiloxBlocks& blocks, M width, SamplePlaces<T> to,
                           CancelProbe& probe) const {
    const M most = low_ < 0 ? M(0) : square(low_);
    Cursor cursor{to};
    while (!cursor.is_through()) {
      const Group<T> places = uniform_group<T>(blocks.next());
      const Group<T> chances = uniform_group<T>(blocks.next());
      for (size_t i = 0; i < places.size(); ++i) {
        const M z = rounded(rounded(static_cast<M>(places[i]) * width) + low_);
        const M density = rounded(std::exp(rounded(rounded(most - square(z)) / 2)));
        if (static_cast<M>(chances[i]) <= density) {
          cursor.take(sample_of(z));
          if (cursor.is_through()) break;
        } else if (++cursor.tries >= kMostTruncatedTries) {
          return given_up();
        }
      }
      if (!probe.go_on(128)) return probe.status();
    }
    return {};
  }

  // `rate` is the one with which most are accepted.
  Status draw_from_exponential(PhiloxBlocks& blocks, M rate, SamplePlaces<T> to,
                               CancelProbe& probe) const {
    Cursor cursor{to};
    while (!cursor.is_through()) {
      const Group<T> pairs = uniform_group<T>(blocks.next());
      for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
        const M waited = rounded(-rounded(std::log(static_cast<M>(pairs[i]))) / rate);
        const M z = rounded(waited + low_);
        const M off = low_ < rate ? rounded(rate - z) : rounded(low_ - rate);
        const M density = rounded(std::exp(rounded(-square(off) / 2)));
        if (static_cast<M>(pairs[i + 1]) <= density && z < high_) {
          cursor.take(sample_of(z));
          if (cursor.is_through()) break;
        } else if (++cursor.tries >= kMostTruncatedTries) {
          return given_up();
        }
      }
      if (!probe.go_on(128)) return probe.status();
    }
    return {};
  }

  M mean_, deviation_, low_, high_;  // the bounds in deviations from the mean
};

}  // namespace millrace
