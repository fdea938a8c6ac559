#include "millrace/session/retry_book.h"

#include "millrace/ops/state/lease.h"

namespace millrace {

uint64_t RetryBook::begin() {
  open_.emplace(next_, 0);
  return next_++;
}

std::string RetryBook::name(uint64_t step) {
  Lease lease{
      .queue = client_, .number = step, .attempt = ++open_.at(step), .horizon = next_, .open = {}};
  lease.open.reserve(open_.size());
  for (const auto& [number, attempts] : open_) lease.open.push_back(number);
  return encode_lease(lease);
}

}  // namespace millrace
