// The measuring half of every benchmark: repeat, take medians, print one JSON line per figure.
//
// A figure is only worth something beside another one taken in the same run, so figures come in
// interleaved pairs: ours, baseline, ours, baseline …  `bench/run` collects the lines of all
// programs and prints the table. It says how long a figure may take (MILLRACE_BENCH_SECONDS): on a
// slow or busy machine there are fewer iterations in a round and fewer rounds.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace millrace::bench {

// Seconds that one call of `body` takes.
inline double seconds(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// What a figure may take.
inline double figure_seconds() {
  const char* given = std::getenv("MILLRACE_BENCH_SECONDS");
  const double seconds = given == nullptr ? 0 : std::strtod(given, nullptr);
  return seconds > 0 ? seconds : 10;
}

// The rounds of one figure: the first one, which warms up and is not counted, one that is, and then
// so many in all as are wanted and as begin in time.
//
//   for (Rounds rounds(9); rounds.next();) {
//     const double took = ...;
//     if (rounds.is_counted()) samples.values.push_back(took);
//   }
class Rounds {
 public:
  explicit Rounds(int counted, double seconds = figure_seconds())
      : most_(counted),
        end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}
  bool next() { return ++round_ <= 1 || (round_ <= most_ && Clock::now() < end_); }
  bool is_counted() const { return round_ > 0; }

 private:
  using Clock = std::chrono::steady_clock;
  const int most_;
  const Clock::time_point end_;
  int round_ = -1;
};

struct Samples {
  std::vector<double> values;

  double median() const {
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
  double min() const { return *std::min_element(values.begin(), values.end()); }
  double max() const { return *std::max_element(values.begin(), values.end()); }
};

// Seconds per iteration of `body`: of so many, or of as many as `limit` seconds allow and one at
// least. The clock is not read so often that it counts.
inline double time_batch(int iterations, double limit, const std::function<void()>& body) {
  const int stride = std::max(1, iterations / 50);
  int done = 0;
  double took = 0;
  while (done < iterations && took < limit) {
    const int next = std::min(stride, iterations - done);
    took += seconds([&] {
      for (int i = 0; i < next; ++i) body();
    });
    done += next;
  }
  return took / done;
}

// The same in `rounds` rounds.
inline Samples time_batches(int rounds, int iterations, const std::function<void()>& body) {
  const double share = figure_seconds() / (rounds + 1);
  Samples samples;
  for (Rounds left(rounds); left.next();) {
    const double each = time_batch(iterations, share, body);
    if (left.is_counted()) samples.values.push_back(each);
  }
  return samples;
}

// Two bodies in turn, so that drift of the machine hits both.
struct Pair {
  Samples ours, baseline;
};
inline Pair time_in_turn(int rounds, int iterations, const std::function<void()>& ours,
                         const std::function<void()>& baseline) {
  const double share = figure_seconds() / (rounds + 1) / 2;
  Pair pair;
  for (Rounds left(rounds); left.next();) {
    const double a = time_batch(iterations, share, ours);
    const double b = time_batch(iterations, share, baseline);
    if (!left.is_counted()) continue;
    pair.ours.values.push_back(a);
    pair.baseline.values.push_back(b);
  }
  return pair;
}

// Which way is better, for the goal.
enum class Better { less, more };

struct Figure {
  std::string name;
  std::string unit;
  Samples samples;  // in `unit`
  Better better = Better::less;
  std::optional<double> goal;
  std::string baseline_name;
  std::optional<Samples> baseline;  // in `unit`
  // The goal is about ours / baseline instead of about ours.
  bool goal_is_ratio = false;
};

inline void report(const Figure& figure) {
  nlohmann::json line = {{"name", figure.name},
                         {"unit", figure.unit},
                         {"median", figure.samples.median()},
                         {"min", figure.samples.min()},
                         {"max", figure.samples.max()}};
  double judged = figure.samples.median();
  if (figure.baseline) {
    line["baseline"] = figure.baseline_name;
    line["baseline_median"] = figure.baseline->median();
    line["ratio"] = figure.samples.median() / figure.baseline->median();
    if (figure.goal_is_ratio) judged = line["ratio"];
  }
  if (figure.goal) {
    line["goal"] = *figure.goal;
    line["goal_is_ratio"] = figure.goal_is_ratio;
    line["better"] = figure.better == Better::less ? "less" : "more";
    line["met"] = figure.better == Better::less ? judged <= *figure.goal : judged >= *figure.goal;
  }
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

inline Samples scaled(Samples samples, double factor) {
  for (double& value : samples.values) value *= factor;
  return samples;
}

}  // namespace millrace::bench
