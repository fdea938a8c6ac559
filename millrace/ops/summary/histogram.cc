#include "millrace/ops/summary/histogram.h"

#include <algorithm>
#include <bit>
#include <cfloat>

#include "millrace/ops/summary/summary_message.h"

namespace millrace::summary {
namespace {

std::vector<double> make_limits() {
  std::vector<double> positive;
  for (double limit = 1e-12; limit < 1e20; limit *= 1.1) positive.push_back(limit);
  positive.push_back(DBL_MAX);
  std::vector<double> limits;
  for (auto limit = positive.rbegin(); limit != positive.rend(); ++limit) limits.push_back(-*limit);
  limits.push_back(0);
  limits.insert(limits.end(), positive.begin(), positive.end());
  return limits;
}

const std::vector<double>& limits() {
  static const std::vector<double> made = make_limits();
  return made;
}

void put_packed(std::string* out, int number, const std::vector<double>& values) {
  wire::put_tag(out, number, wire::WireType::bytes);
  wire::put_varint(out, values.size() * sizeof(double));
  for (const double value : values) {
    const auto bits = std::bit_cast<uint64_t>(value);
    for (int shift = 0; shift < 64; shift += 8) *out += static_cast<char>(bits >> shift);
  }
}

}  // namespace

Histogram::Histogram() : min_(DBL_MAX), max_(-DBL_MAX), counts_(limits().size(), 0) {}

void Histogram::add(double value) {
  const auto bucket = std::ranges::upper_bound(limits(), value);
  // The largest double of all is no value below a limit.
  const auto place =
      std::min<size_t>(static_cast<size_t>(bucket - limits().begin()), counts_.size() - 1);
  counts_[place] += 1;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
  num_ += 1;
  sum_ += value;
  sum_squares_ += value * value;
}

void Histogram::put(std::string* out, int number) const {
  std::vector<double> ends, counts;
  for (size_t i = 0; i < counts_.size();) {
    double end = limits()[i];
    const double count = counts_[i++];
    for (; count == 0 && i < counts_.size() && counts_[i] == 0; ++i) end = limits()[i];
    ends.push_back(end);
    counts.push_back(count);
  }
  const wire::NestedField message(out, number);
  put_double(out, kMin, min_);
  put_double(out, kMax, max_);
  put_double(out, kNum, num_);
  put_double(out, kSum, sum_);
  put_double(out, kSumSquares, sum_squares_);
  put_packed(out, kBucketLimit, ends);
  put_packed(out, kBucket, counts);
}

}  // namespace millrace::summary
