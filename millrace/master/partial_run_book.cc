#include "millrace/master/partial_run_book.h"

#include <algorithm>
#include <utility>

#include "millrace/base/shown.h"

namespace millrace {

PartialRunBook::PartialRunBook(const std::vector<std::string>& feeds,
                               const std::vector<std::string>& fetches)
    : feeds_(feeds),
      fetches_(fetches),
      feeds_to_come_(feeds.begin(), feeds.end()),
      fetches_to_go_(fetches.begin(), fetches.end()) {}

Result<PartialRunBook::Leg> PartialRunBook::on_leg(const StepRequestNames& names, Needs needs) {
  // It was there when the caller looked for it; those who come later are told the same.
  if (is_over_) return invalid("Must run PartialRunSetup before performing partial runs");
  if (!names.targets.empty())
    return invalid("a partial run takes its targets at setup; this leg names '",
                   shown(names.targets[0]), "'");
  for (const std::string& feed : names.feeds) {
    if (feeds_to_come_.erase(feed) > 0) continue;
    if (std::ranges::binary_search(feeds_, feed))
      return invalid("The feed ", shown(feed), " has already been fed.");
    return invalid("The feed ", shown(feed), " was not specified in partial_run_setup.");
  }
  for (const std::string& fetch : names.fetches) {
    MR_TRY(check_fetch(fetch, needs));
    fetches_to_go_.erase(fetch);
  }
  return feeds_to_come_.empty() && fetches_to_go_.empty() ? Leg::last : Leg::further;
}

Status PartialRunBook::check_fetch(const std::string& fetch, Needs needs) const {
  if (!fetches_to_go_.contains(fetch)) {
    if (std::ranges::binary_search(fetches_, fetch))
      return invalid("The fetch ", shown(fetch), " has already been fetched.");
    return invalid("The fetch ", shown(fetch), " was not specified in partial_run_setup.");
  }
  MR_ASSIGN(const std::vector<std::string> needed, needs(fetch));
  for (const std::string& feed : needed) {
    if (feeds_to_come_.contains(feed)) {
      return invalid("Fetch ", fetch,
                     " can't be computed from the feeds that have been fed so far: ", feed,
                     " is missing.");
    }
  }
  return {};
}

PartialRunBook::End PartialRunBook::on_leg_ended(Leg leg, const Status& status) {
  return leg == Leg::last || !status.ok() ? end() : End::not_yet;
}

PartialRunBook::End PartialRunBook::on_session_closed() { return end(); }

PartialRunBook::End PartialRunBook::end() {
  return std::exchange(is_over_, true) ? End::not_yet : End::clean_up;
}

}  // namespace millrace
