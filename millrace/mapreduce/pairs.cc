#include "millrace/mapreduce/pairs.h"

namespace millrace::mapreduce {

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
