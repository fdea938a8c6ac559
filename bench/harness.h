// The measuring half of every benchmark: repeat, take medians, print one JSON line per figure.
//
// A figure is only worth something beside another one taken in the same run, so figures come in
// interleaved pairs: ours, baseline, ours, baseline …  `bench/run` collects the lines of all
// programs and prints the table.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
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

// Seconds per iteration of `body`, `rounds` times over batches of `iterations`; one batch before
// that warms up and is not counted.
inline Samples time_batches(int rounds, int iterations, const std::function<void()>& body) {
  Samples samples;
  for (int round = -1; round < rounds; ++round) {
    const double took = seconds([&] {
      for (int i = 0; i < iterations; ++i) body();
    });
    if (round >= 0) samples.values.push_back(took / iterations);
  }
  return samples;
}

// Two bodies in turn, so that drift of the machine hits both.
struct Pair {
  Samples ours, baseline;
};
inline Pair time_in_turn(int rounds, int iterations, const std::function<void()>& ours,
                         const std::function<void()>& baseline) {
  Pair pair;
  for (int round = -1; round < rounds; ++round) {
    const Samples a = time_batches(1, iterations, ours);
    const Samples b = time_batches(1, iterations, baseline);
    if (round < 0) continue;
    pair.ours.values.push_back(a.values[0]);
    pair.baseline.values.push_back(b.values[0]);
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
