// Histogram: how many values lie in which of 1549 buckets, each a tenth wider than the one before.
//
// The limits are -DBL_MAX, -1e20 ... -1e-12, 0, 1e-12 ... 1e20, DBL_MAX, got by multiplying
// with 1.1 step by step: the same doubles as TensorFlow's, so that histograms have its bytes. A
// value: one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace millrace::summary {

class Histogram {
 public:
  Histogram();

  // `value` must be a finite number.
  void add(double value);

  // As the field `number` of the message being written. Runs of empty buckets become one.
  void put(std::string* out, int number) const;

 private:
  double min_, max_;
  double num_ = 0, sum_ = 0, sum_squares_ = 0;
  std::vector<double> counts_;  // by the place of the bucket's limit
};

}  // namespace millrace::summary
