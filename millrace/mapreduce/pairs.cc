#include "millrace/mapreduce/pairs.h"

namespace millrace::mapreduce {

void Pairs::count(std::string_view counter, int64_t by) {
  auto found = counted_.find(counter);
  if (found == counted_.end()) found = counted_.emplace(counter, 0).first;
  // Modulo 2^64: a counter is no reason for a job to fail.
  found->second =
      static_cast<int64_t>(static_cast<uint64_t>(found->second) + static_cast<uint64_t>(by));
}

void Pairs::begin(const Place& place, std::string_view record) {
  place_ = place;
  begin_ = reinterpret_cast<uintptr_t>(record.data());
  end_ = begin_ + record.size();
  pairs_.clear();
  if (has_copies_) copies_.clear();
  has_copies_ = false;
  if (!counted_.empty()) counted_.clear();
}

}  // namespace millrace::mapreduce
