#include "millrace/ops/state/kept_order.h"

#include <algorithm>
#include <utility>

namespace millrace {

void KeptOrder::push(QueueElement element) {
  element.kept_as = next_number_++;
  if (element.made_by != nullptr) made_.push_back(std::exchange(element.made_by, nullptr));
  all_.emplace_hint(all_.end(), element.kept_as, element);
  order_->push(std::move(element));
}

void KeptOrder::gone(const QueueElement& element) {
  all_.erase(element.kept_as);
  // What nobody was told of came and went.
  if (element.kept_as < first_untold_) out_.push_back(element.kept_as);
}

KeptOrder::Changes KeptOrder::take_changes() {
  Changes changes;
  changes.in.reserve(std::min<uint64_t>(all_.size(), next_number_ - first_untold_));
  for (auto it = all_.lower_bound(first_untold_); it != all_.end(); ++it)
    changes.in.emplace_back(*it);
  changes.out = std::exchange(out_, {});
  changes.made = std::exchange(made_, {});
  first_untold_ = next_number_;
  return changes;
}

KeptOrder::Changes KeptOrder::take_all() {
  out_.clear();
  first_untold_ = next_number_;
  return {.in = {all_.begin(), all_.end()}, .out = {}, .made = std::exchange(made_, {})};
}

void KeptOrder::put_back(Elements elements, uint64_t next_number, const std::set<uint64_t>& aside) {
  for (auto& [number, element] : elements) {
    element.kept_as = number;
    all_.emplace(number, element);
    if (!aside.contains(number)) order_->push(std::move(element));
  }
  next_number_ = first_untold_ = next_number;
}

}  // namespace millrace
