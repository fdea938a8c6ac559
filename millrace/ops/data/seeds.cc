#include "millrace/ops/data/seeds.h"

#include <algorithm>

namespace millrace::data {

Seeds Seeds::of(int64_t first, int64_t second, Random* random) {
  if (first != 0 || second != 0) return {first, second};
  const auto system = random != nullptr ? nullptr : make_random();
  Random& source = random != nullptr ? *random : *system;
  const auto drawn = static_cast<int64_t>(source.next());
  return {drawn, static_cast<int64_t>(source.next()), true};
}

WalkSeeds::WalkSeeds(const Place& place, Reshuffle reshuffle)
    : seeds_(place.seeds),
      reshuffle_(reshuffle),
      words_(words_of(place.seeds, place.drawn / 2)),
      drawn_(place.drawn) {
  // Two draws take the words of one block.
  if (place.drawn % 2 == 0) return;
  words_.next();
  words_.next();
}

Seeds WalkSeeds::next() {
  if (reshuffle_ == Reshuffle::never) return seeds_;
  MutexLock lock(mutex_);
  ++drawn_;
  const int64_t first = words_.next();
  return {first, int64_t{words_.next()}};
}

WalkSeeds::Place WalkSeeds::place() const {
  MutexLock lock(mutex_);
  return {seeds_, drawn_};
}

Seeds DrawnSeeds::next(const std::shared_ptr<WalkSeeds>& from) {
  std::shared_ptr<WalkSeeds> drawn;
  {
    MutexLock lock(mutex_);
    const auto before = asked_.find(from.get());
    if (before != asked_.end() && !before->second.asked.expired()) {
      drawn = before->second.drawn;
    } else {
      const WalkSeeds::Place now = from->place();
      if (const WalkSeeds::Place* const place = known(now.seeds)) {
        drawn = std::make_shared<WalkSeeds>(*place, from->reshuffle());
      } else {
        note(now);
      }
      forget_what_is_gone();
      asked_.insert_or_assign(from.get(), Asked{from, drawn});
    }
  }
  return drawn == nullptr ? from->next() : drawn->next();
}

const WalkSeeds::Place* DrawnSeeds::known(const Seeds& seeds) {
  if (!seeds.are_chosen_here) {
    for (size_t i = 0; i < again_; ++i)
      if (places_[i].seeds == seeds) return &places_[i];
    return nullptr;
  }
  while (next_chosen_ < again_) {
    const WalkSeeds::Place& place = places_[next_chosen_++];
    if (place.seeds.are_chosen_here) return &place;
  }
  return nullptr;
}

void DrawnSeeds::note(const WalkSeeds::Place& place) {
  if (places_.size() >= kMostPlaces) return;
  // Those that a function makes with each element have the same seeds.
  const bool is_there = !place.seeds.are_chosen_here &&
                        std::any_of(places_.begin(), places_.end(),
                                    [&](const auto& each) { return each.seeds == place.seeds; });
  if (!is_there) places_.push_back(place);
}

void DrawnSeeds::forget_what_is_gone() {
  if (asked_.size() < most_asked_) return;
  std::erase_if(asked_, [](const auto& each) { return each.second.asked.expired(); });
  most_asked_ = std::max<size_t>(64, asked_.size() * 2);
}

DrawnSeeds::Places DrawnSeeds::places() const {
  MutexLock lock(mutex_);
  return places_;
}

}  // namespace millrace::data
