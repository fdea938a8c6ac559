// gather: many calls, one continuation.
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "millrace/base/done.h"

namespace millrace {

// `count` Dones (at least one); when all have been called, `finish` gets their outcomes in order,
// on the thread of the last one.
template <class T>
std::vector<Done<T>> gather(size_t count,
                            absl::AnyInvocable<void(std::vector<Outcome<T>>)> finish) {
  struct Gathered {
    std::vector<Outcome<T>> outcomes;
    std::atomic<size_t> missing;
    absl::AnyInvocable<void(std::vector<Outcome<T>>)> finish;
  };
  auto gathered = std::make_shared<Gathered>();
  gathered->outcomes.resize(count, Outcome<T>(internal("not answered")));
  gathered->missing = count;
  gathered->finish = std::move(finish);
  std::vector<Done<T>> dones;
  dones.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    dones.emplace_back([gathered, i](Outcome<T> outcome) {
      gathered->outcomes[i] = std::move(outcome);
      if (gathered->missing.fetch_sub(1) == 1) gathered->finish(std::move(gathered->outcomes));
    });
  }
  return dones;
}

}  // namespace millrace
