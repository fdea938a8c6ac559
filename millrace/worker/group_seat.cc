#include "millrace/worker/group_seat.h"

#include <optional>
#include <utility>

#include "millrace/ops/collective/collectives.h"
#include "millrace/worker/collective_run.h"

namespace millrace {
namespace {

constexpr size_t kRemembered = 64;

// What others hear of a round that was given up: who did, unless that stands there already.
Status told_by(const std::string& device, int64_t group_key, const Status& why) {
  const std::string& message = why.message();
  for (const char* known : {" gave up ", " gave it up", " has lost "})
    if (message.find(known) != std::string::npos) return why;
  return Status(why.code(),
                str_cat(device, " gave up its part in group ", group_key, ": ", message));
}

}  // namespace

// A peer that waits for a piece. Found by its registration, and by whoever answers it.
struct GroupSeat::Waiter {
  PieceName name;
  Done<Delivery> done;
  Cancellation::Registration registration;
  Status cancelled;  // before it was in line; under the seat's lock

  void answer(Result<Delivery> result) {
    registration.release();
    done(std::move(result));
  }
};

GroupSeat::Round::~Round() {
  if (!epoch_.empty()) seat_->round_ended(epoch_, number_);
}

std::shared_ptr<const CollectiveGroup> GroupSeat::group() const {
  MutexLock lock(mutex_);
  return group_;
}

std::string GroupSeat::lost_epoch() const {
  MutexLock lock(mutex_);
  return lost_.empty() ? "" : lost_.back().first;
}

std::shared_ptr<const CollectiveGroup> GroupSeat::lost_group() const {
  MutexLock lock(mutex_);
  return lost_group_;
}

Result<bool> GroupSeat::join(std::shared_ptr<const CollectiveGroup> group) {
  Answers answers;
  {
    MutexLock lock(mutex_);
    if (!closed_.ok()) return closed_;
    if (group_ != nullptr && group_->epoch == group->epoch) return false;
    for (const auto& [epoch, why] : lost_)
      if (epoch == group->epoch) return why;
    // Another request of this device was answered later, and by a newer group: both can't be.
    if (group_ != nullptr)
      return aborted("group ", group_key_, " was formed anew while ", device_, " came to it");
    group_ = std::move(group);
    rank_ = group_->rank_of(device_);
    near_ = rank_ < 0 ? nullptr : std::make_shared<NearBoxes>(*group_, rank_);
    next_round_ = 0;
    open_.clear();
    given_up_.clear();
    answers = look_again();
  }
  answer(std::move(answers));
  return true;
}

bool GroupSeat::lose(const std::string& epoch, const Status& why) {
  Answers answers;
  std::set<std::shared_ptr<CollectiveRun>> runs;
  std::map<std::string, Offer> offers;
  {
    MutexLock lock(mutex_);
    if (group_ == nullptr || group_->epoch != epoch) return false;
    lost_group_ = std::exchange(group_, nullptr);
    near_.reset();
    lost_.emplace_back(epoch, why);
    if (lost_.size() > kRemembered) lost_.pop_front();
    if (runs_.empty() && !has_heard_) untold_ = why;
    runs.swap(runs_);
    offers.swap(offers_);
    answers = look_again();
  }
  for (const auto& run : runs) run->fail(why);
  answer(std::move(answers));
  return true;
}

std::shared_ptr<NearBoxes> GroupSeat::near(const std::string& epoch) const {
  MutexLock lock(mutex_);
  return group_ != nullptr && group_->epoch == epoch ? near_ : nullptr;
}

void GroupSeat::take_from(const std::string& epoch, size_t rank, std::unique_ptr<NearTaker> taker) {
  // No round begins meanwhile.
  MutexLock lock(mutex_);
  if (group_ != nullptr && group_->epoch == epoch)
    near_->take_from(rank, std::move(taker), next_round_);
}

void GroupSeat::close(const Status& why) {
  Answers answers;
  std::set<std::shared_ptr<CollectiveRun>> runs;
  std::map<std::string, Offer> offers;
  {
    MutexLock lock(mutex_);
    if (closed_.ok()) closed_ = why;
    group_.reset();
    near_.reset();
    runs.swap(runs_);
    offers.swap(offers_);
    answers = look_again();
  }
  for (const auto& run : runs) run->fail(why);
  answer(std::move(answers));
}

Result<std::shared_ptr<GroupSeat::Round>> GroupSeat::round_of(ResourceStore& step_resources) {
  return step_resources.find_or_create<Round>(Collectives::kContainer, round_name_,
                                              [&]() -> Result<std::shared_ptr<Round>> {
                                                return std::make_shared<Round>(shared_from_this());
                                              });
}

Status GroupSeat::changed(std::string_view how) {
  // The step hears of the loss by this.
  untold_ = {};
  return aborted("group ", group_key_, " was ", how, lost_.empty() ? "" : ": ",
                 lost_.empty() ? "" : lost_.back().second.message());
}

Result<GroupSeat::Place> GroupSeat::enter(Round& round, const InstanceId& instance,
                                          const std::shared_ptr<const std::string>& signature,
                                          const CollectiveGroup* come_to) {
  Answers answers;
  Place place;
  {
    MutexLock lock(mutex_);
    if (!closed_.ok()) return closed_;
    if (round.doomed_.ok() && round.epoch_.empty()) std::swap(round.doomed_, untold_);
    if (!round.doomed_.ok()) return round.doomed_;
    if (come_to != nullptr && (group_ == nullptr || group_->epoch != come_to->epoch))
      return changed(str_cat("given up before ", device_, " could use it"));
    if (group_ == nullptr) return place;
    if (round.epoch_.empty()) {
      round.epoch_ = group_->epoch;
      round.number_ = next_round_++;
      open_.try_emplace(round.number_);
    } else if (round.epoch_ != group_->epoch) {
      return changed(str_cat("formed anew in the middle of a step of ", device_));
    }
    if (!open_[round.number_].try_emplace(instance, signature).second)
      return invalid("instance_key ", instance.key, " of group ", group_key_,
                     " is used twice in one step of ", device_,
                     "; each collective of a group needs a key of its own");
    has_heard_ = false;
    place = {.group = group_, .near = near_, .rank = rank_};
    // Those who are ahead: the round has begun, and what it brings may not be what they do.
    if (!waiters_.empty()) answers = look_again();
  }
  answer(std::move(answers));
  return place;
}

Status GroupSeat::attend(const std::shared_ptr<CollectiveRun>& run, const CollectiveGroup& group) {
  MutexLock lock(mutex_);
  if (!closed_.ok()) return closed_;
  if (group_ == nullptr || group_->epoch != group.epoch)
    return changed(str_cat("given up while ", device_, " used it"));
  runs_.insert(run);
  return {};
}

void GroupSeat::give(const std::shared_ptr<CollectiveRun>& run, const PieceName& name,
                     Tensor tensor) {
  std::string key = name.key();
  std::shared_ptr<Waiter> waiter;
  {
    MutexLock lock(mutex_);
    if (!runs_.contains(run)) return;
    const auto waiting = waiters_.find(key);
    if (waiting == waiters_.end()) {
      run->laid_out();
      offers_.insert_or_assign(std::move(key), Offer{std::move(tensor), run, name.taker});
      return;
    }
    waiter = std::move(waiting->second);
    waiters_.erase(waiting);
  }
  waiter->answer(Delivery{.tensor = std::move(tensor)});
}

std::set<std::string> GroupSeat::untaken(const CollectiveRun& run) const {
  std::set<std::string> takers;
  MutexLock lock(mutex_);
  for (const auto& [key, offer] : offers_)
    if (offer.run.get() == &run) takers.insert(offer.taker);
  return takers;
}

void GroupSeat::leave(const CollectiveRun& run, int64_t round, const Status& how) {
  Answers answers;
  std::vector<Offer> dropped;
  {
    MutexLock lock(mutex_);
    std::erase_if(runs_, [&](const auto& one) { return one.get() == &run; });
    has_heard_ = how.code() == Code::aborted;
    for (auto it = offers_.begin(); it != offers_.end();) {
      if (it->second.run.get() == &run) {
        dropped.push_back(std::move(it->second));
        it = offers_.erase(it);
      } else {
        ++it;
      }
    }
    if (!how.ok() && open_.contains(round)) {
      given_up_.try_emplace(round, told_by(device_, group_key_, how));
      if (given_up_.size() > kRemembered) given_up_.erase(given_up_.begin());
      answers = look_again();
    }
  }
  answer(std::move(answers));
}

std::optional<Result<Delivery>> GroupSeat::answer_to(const PieceName& name,
                                                     std::shared_ptr<CollectiveRun>* taken_from) {
  if (!closed_.ok()) return closed_;
  // Nobody else may tell the asker that the group is of no use any more: its leader may have ended.
  for (const auto& [epoch, why] : lost_)
    if (epoch == name.epoch) return Status(Code::out_of_range, why.message());
  if (group_ == nullptr || group_->epoch != name.epoch) return std::nullopt;
  const auto round = open_.find(name.round);
  if (round != open_.end()) {
    const auto signature = round->second.find(name.instance);
    if (signature != round->second.end() && *signature->second != name.signature)
      return invalid("members of group ", group_key_, " disagree in instance ", name.instance.key,
                     ": ", name.taker, " brings ", name.signature, ", ", device_, " brings ",
                     *signature->second);
  }
  if (const auto offer = offers_.find(name.key()); offer != offers_.end()) {
    Delivery delivery{.tensor = std::move(offer->second.tensor)};
    *taken_from = std::move(offer->second.run);
    offers_.erase(offer);
    return delivery;
  }
  if (const auto why = given_up_.find(name.round); why != given_up_.end()) return why->second;
  if (name.round >= next_round_ || round != open_.end()) return std::nullopt;
  return out_of_range(device_, " is past round ", name.round, " of group ", group_key_, ", which ",
                      name.taker, " is in: its step there ended without instance ",
                      name.instance.key);
}

GroupSeat::Answers GroupSeat::look_again() {
  Answers answers;
  for (auto it = waiters_.begin(); it != waiters_.end();) {
    std::shared_ptr<CollectiveRun> none;  // what is laid out is given to who waits at once
    auto answer = answer_to(it->second->name, &none);
    if (!answer) {
      ++it;
      continue;
    }
    answers.emplace_back(std::move(it->second), *std::move(answer));
    it = waiters_.erase(it);
  }
  return answers;
}

void GroupSeat::answer(Answers answers) {
  for (auto& [waiter, result] : answers) waiter->answer(std::move(result));
}

void GroupSeat::take(const PieceName& name, Cancellation* cancellation, Done<Delivery> done) {
  std::shared_ptr<CollectiveRun> taken_from;
  std::optional<Result<Delivery>> answer;
  {
    MutexLock lock(mutex_);
    answer = answer_to(name, &taken_from);
  }
  if (answer) {
    done(*std::move(answer));
    if (taken_from != nullptr) taken_from->taken();
    return;
  }
  auto waiter = std::make_shared<Waiter>();
  waiter->name = name;
  waiter->done = std::move(done);
  if (cancellation != nullptr) {
    // Before it is in line: who answers it may end the cancellation's life.
    waiter->registration = cancellation->on_cancel(
        [self = shared_from_this(), weak = std::weak_ptr(waiter)](const Status& why) {
          if (const auto waiter = weak.lock()) self->give_up(*waiter, why);
        });
  }
  {
    MutexLock lock(mutex_);
    answer = answer_to(name, &taken_from);
    if (!answer && !waiter->cancelled.ok()) answer = waiter->cancelled;
    if (!answer) {
      waiters_.emplace(name.key(), std::move(waiter));
      return;
    }
  }
  waiter->answer(*std::move(answer));
  if (taken_from != nullptr) taken_from->taken();
}

void GroupSeat::give_up(Waiter& waiter, const Status& why) {
  std::shared_ptr<Waiter> found;
  {
    MutexLock lock(mutex_);
    waiter.cancelled = why;
    const auto [begin, end] = waiters_.equal_range(waiter.name.key());
    for (auto it = begin; it != end; ++it) {
      if (it->second.get() != &waiter) continue;
      found = std::move(it->second);
      waiters_.erase(it);
      break;
    }
  }
  if (found != nullptr) found->answer(why);
}

void GroupSeat::round_ended(const std::string& epoch, int64_t round) {
  Answers answers;
  {
    MutexLock lock(mutex_);
    if (group_ == nullptr || group_->epoch != epoch) return;
    open_.erase(round);
    if (near_ != nullptr) near_->past(open_.empty() ? next_round_ : open_.begin()->first);
    answers = look_again();
  }
  answer(std::move(answers));
}

}  // namespace millrace
