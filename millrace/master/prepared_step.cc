#include "millrace/master/prepared_step.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"

#include "millrace/base/shown.h"

namespace millrace {

namespace {

template <class Name>
void sort_unique(std::vector<Name>& names) {
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

uint32_t index_of(const std::vector<std::string>& sorted, const std::string& name) {
  return static_cast<uint32_t>(std::lower_bound(sorted.begin(), sorted.end(), name) -
                               sorted.begin());
}

const std::string& name_of(const std::string& name) { return name; }
const std::string& name_of(const NamedTensor& feed) { return feed.name; }

// A list of names as hashed, wherever they stand.
template <class List>
struct NamesOf {
  const List& list;
  template <class H>
  friend H AbslHashValue(H state, const NamesOf& names) {
    for (const auto& entry : names.list) state = H::combine(std::move(state), name_of(entry));
    return H::combine(std::move(state), names.list.size());
  }
};

template <class Asked>
uint64_t hash_of_names(const Asked& asked) {
  return absl::HashOf(NamesOf<decltype(asked.feeds)>{asked.feeds},
                      NamesOf<decltype(asked.fetches)>{asked.fetches},
                      NamesOf<decltype(asked.targets)>{asked.targets});
}

bool takes_feeds_in_order(const PreparedStep& step, const std::vector<uint32_t>& feed_at) {
  if (step.parts.size() != 1) return false;
  const auto& feeds = step.parts.front().feeds;
  for (size_t i = 0; i < feeds.size(); ++i)
    if (feed_at[feeds[i]] != i) return false;
  return feeds.size() == feed_at.size();
}

}  // namespace

Result<StepRequestNames> canonical(const StepRequestNames& names) {
  if (names.fetches.empty() && names.targets.empty())
    return invalid("Must specify at least one target to fetch or execute.");
  StepRequestNames sorted = names;
  std::sort(sorted.feeds.begin(), sorted.feeds.end());
  const auto twice = std::adjacent_find(sorted.feeds.begin(), sorted.feeds.end());
  if (twice != sorted.feeds.end())
    return invalid("Feed ", shown(*twice), " is given twice; feed it once.");
  sort_unique(sorted.fetches);
  sort_unique(sorted.targets);
  sort_unique(sorted.connections);
  for (const std::string& fetch : sorted.fetches) {
    if (std::binary_search(sorted.feeds.begin(), sorted.feeds.end(), fetch))
      return invalid(shown(fetch), " is both fed and fetched.");
  }
  return sorted;
}

uint64_t hash_of(const StepRequestNames& names) { return hash_of_names(names); }
uint64_t hash_of(const RunStepRequest& request) { return hash_of_names(request); }

bool same_names(const StepRequestNames& names, const RunStepRequest& request) {
  return std::ranges::equal(names.feeds, request.feeds, {}, {}, &NamedTensor::name) &&
         names.fetches == request.fetches && names.targets == request.targets &&
         names.connections.empty();
}

StepRequestNames names_of(const RunStepRequest& request) {
  StepRequestNames names{.feeds = {}, .fetches = request.fetches, .targets = request.targets};
  names.feeds.reserve(request.feeds.size());
  for (const NamedTensor& feed : request.feeds) names.feeds.push_back(feed.name);
  return names;
}

OrderedStep in_order_of(std::shared_ptr<const PreparedStep> step, StepRequestNames names) {
  OrderedStep made;
  made.feed_at.resize(names.feeds.size());
  for (size_t i = 0; i < names.feeds.size(); ++i)
    made.feed_at[index_of(step->feeds, names.feeds[i])] = static_cast<uint32_t>(i);
  made.feeds_in_order = takes_feeds_in_order(*step, made.feed_at);
  made.fetches_in_order = names.fetches.size() == step->fetches.size();
  for (const std::string& fetch : names.fetches) {
    made.fetches_in_order &= index_of(step->fetches, fetch) == made.fetch_of.size();
    made.fetch_of.push_back(index_of(step->fetches, fetch));
  }
  made.step = std::move(step);
  made.names = std::move(names);
  return made;
}

}  // namespace millrace
