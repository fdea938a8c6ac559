#include "millrace/worker/collective_run.h"

#include <algorithm>
#include <utility>

#include "millrace/base/hash.h"

namespace millrace {
namespace {

// How much longer a member waits than the leader, which can say who is missing.
constexpr std::chrono::milliseconds kGrace{1000};

// How long a member has to take what is laid out for it before it is asked whether it will.
constexpr std::chrono::milliseconds kPatienceWithTakers{250};

// Asked before the collective's own time is over: two members who time out in different rounds
// would never hear of it from each other.
std::chrono::milliseconds patience_with_takers(std::chrono::milliseconds timeout) {
  return timeout.count() == 0 ? kPatienceWithTakers : std::min(kPatienceWithTakers, timeout / 2);
}

// Of a run, and of a loop.
constexpr int kWaveBits = 16;
constexpr int64_t kMostWaves = int64_t{1} << kWaveBits;

// A piece that nobody ever lays out: the answer to who asks for it is why not.
constexpr std::string_view kNoPiece = "-";

// An op that says UNAVAILABLE is taken for one that speaks of something else than its own peers
// (INTERNAL then); ABORTED makes a program try again as well.
Status as_told(const Status& why) {
  return why.code() == Code::unavailable ? Status(Code::aborted, why.message()) : why;
}

}  // namespace

CollectiveRun::CollectiveRun(std::shared_ptr<CollectiveDesk> desk, std::shared_ptr<GroupSeat> seat,
                             CollectiveCall call, InFlight::Token token)
    : desk_(std::move(desk)),
      seat_(std::move(seat)),
      call_(std::move(call)),
      token_(std::move(token)),
      started_(desk_->host().clock.now()) {}

void CollectiveRun::begin(KernelContext& context, Done<std::shared_ptr<Exchange>> done) {
  context_ = &context;
  instance_ = {call_.instance_key, context.where().frame, context.where().iteration};
  near_key_ =
      murmur64(*call_.signature, combine64(static_cast<uint64_t>(instance_.key), instance_.frame));
  begun_ = std::move(done);
  auto round = seat_->round_of(*context.step().step_resources);
  if (!round.ok()) return begun(round.status());
  round_ = *std::move(round);
  auto place = seat_->enter(*round_, instance_, call_.signature);
  if (!place.ok()) return begun(place.status());
  if (place->group != nullptr) return has_entered(*std::move(place));
  {
    MutexLock lock(attending_);
    watch_step();
  }
  start_timer(kGrace, "Collective has timed out waiting for other workers.");
  come();
}

void CollectiveRun::attend() {
  if (attends_.load(std::memory_order_acquire)) return;
  Status attended;
  {
    MutexLock lock(attending_);
    if (attends_.load()) return;
    watch_step();
    start_timer(std::chrono::milliseconds(0), "Collective has timed out during execution.");
    attended = seat_->attend(shared_from_this(), *group_);
    attends_.store(true, std::memory_order_release);
  }
  if (!attended.ok()) fail(attended);
}

void CollectiveRun::watch_step() {
  Cancellation* const cancellation = context_->step().cancellation;
  if (std::exchange(is_watching_, true) || cancellation == nullptr) return;
  // Not inside the callback: what ends with this may have callbacks of the same step.
  from_step_ = cancellation->on_cancel(
      [weak = weak_from_this(), &endings = desk_->host().endings](const Status& why) {
        endings.post([weak, why] {
          if (const auto self = weak.lock()) self->fail(why);
        });
      });
}

void CollectiveRun::start_timer(std::chrono::milliseconds grace, std::string what) {
  if (call_.timeout.count() == 0) return;
  Timers::Timer timer = desk_->host().timers.at(
      started_ + call_.timeout + grace,
      [weak = weak_from_this(), what = std::move(what), node = std::string(context_->node_name())] {
        const auto self = weak.lock();
        if (self == nullptr) return;
        self->fail(Status(Code::deadline_exceeded,
                          str_cat(what, " '", node, "' on ", self->seat_->device(), ", instance ",
                                  self->call_.instance_key, " of group ", self->call_.group_key,
                                  ", has waited for ", self->call_.timeout.count(), " ms")));
      });
  {
    MutexLock lock(mutex_);
    std::swap(timer, timer_);
  }
}

void CollectiveRun::come() {
  // First the watch, then the look: a task may end between the two.
  departures_ = desk_->on_departure([weak = weak_from_this(),
                                     &endings = desk_->host().endings](const TaskName&) {
    endings.post([weak] {
      const auto self = weak.lock();
      // It may be complete by now, and then it is another one's business.
      if (self == nullptr || self->seat_->group() != nullptr) return;
      if (Status never = self->desk_->outlook(*self->seat_, self->call_.group_size); !never.ok())
        self->fail(never);
    });
  });
  if (Status never = desk_->outlook(*seat_, call_.group_size); !never.ok())
    return begun(std::move(never));
  desk_->come(seat_, context_->step().device->incarnation, call_.group_size, call_.timeout, &stop_,
              Done<Group>([self = shared_from_this()](Result<Group> group) {
                self->has_come(std::move(group));
              }));
}

void CollectiveRun::has_come(Result<Group> group) {
  departures_ = nullptr;
  if (!group.ok()) return begun(group.status());
  auto place = seat_->enter(*round_, instance_, call_.signature, group->get());
  if (!place.ok()) return begun(place.status());
  // There is a timer already, for waiting.
  has_entered(*std::move(place), /*has_waited=*/true);
}

void CollectiveRun::has_entered(GroupSeat::Place place, bool has_waited) {
  entered_ = true;
  group_ = std::move(place.group);
  near_ = std::move(place.near);
  rank_ = place.rank;
  if (rank_ < 0 || static_cast<int64_t>(group_->members.size()) != call_.group_size)
    return begun(internal("Collective Op ", context_->node_name(), " has group_size ",
                          call_.group_size, " and group_key ", call_.group_key,
                          " but that group has size ", group_->members.size(),
                          rank_ < 0 ? " and does not contain " : " with ", seat_->device()));
  const bool is_equal = call_.part == CollectiveCall::Part::equal;
  if (has_waited || !is_equal) attend();
  if (is_equal) return begun({});
  find_source();
}

void CollectiveRun::find_source() {
  desk_->find_source(*seat_, *group_, instance_.text(), call_.part == CollectiveCall::Part::sends,
                     &stop_, Done<int>([self = shared_from_this()](Result<int> rank) {
                       if (!rank.ok()) return self->begun(self->unled(rank.status()));
                       if (*rank < 0 || *rank >= self->size())
                         return self->begun(internal("the leader names member ", *rank, " of ",
                                                     self->size(), " as the source"));
                       self->source_ = *rank;
                       self->begun({});
                     }));
}

void CollectiveRun::begun(Status status) {
  if (status.ok()) {
    // It may have failed while nobody looked.
    MutexLock lock(mutex_);
    status = failed_;
  }
  if (status.ok()) return begun_(std::static_pointer_cast<Exchange>(shared_from_this()));
  fail(status);
  end(status,
      Done<void>([self = shared_from_this()](Status status) { self->begun_(std::move(status)); }));
}

PieceName CollectiveRun::name_of(const Piece& piece, std::string_view taker,
                                 std::string signature) const {
  return {.epoch = group_->epoch,
          .round = round_->number(),
          .instance = instance_,
          .signature = std::move(signature),
          .piece = str_cat(piece.chunk, ".", piece.stage),
          .taker = std::string(taker)};
}

bool CollectiveRun::goes_near(int member, const Piece& piece) const {
  return near_ != nullptr && near_->is_near(static_cast<size_t>(member)) &&
         piece.wave < kMostWaves && instance_.iteration < kMostWaves;
}

NearName CollectiveRun::near_name_of(const Piece& piece) const {
  const int64_t round = round_->number();
  const uint64_t which =
      static_cast<uint64_t>(piece.slot) << 32 | static_cast<uint64_t>(piece.stage) << 2 |
      // A giver who has got what it wanted may be a round ahead of its taker, or
      // a time around the loop.
      static_cast<uint64_t>(round & 1) << 1 | static_cast<uint64_t>(instance_.iteration & 1);
  // The times around a loop are waves as well, so that a loop needs no more room than one time.
  return {.key = combine64(near_key_, which),
          .round = round,
          .wave = instance_.iteration << kWaveBits | piece.wave};
}

void CollectiveRun::give(int to, const Piece& piece, Tensor tensor) {
  if (goes_near(to, piece)) {
    NearGiver* const box = near_->to(static_cast<size_t>(to));
    if (box != nullptr && box->give(near_name_of(piece), tensor)) {
      desk_->host().metrics.add(Counter::bytes_shared, static_cast<int64_t>(tensor.num_bytes()));
      return;
    }
  }
  attend();
  seat_->give(shared_from_this(), name_of(piece, member(to), {}), std::move(tensor));
}

bool CollectiveRun::take_at_once(int from, const Piece& piece,
                                 absl::FunctionRef<void(const Tensor&)> use) {
  const auto rank = static_cast<size_t>(from);
  if (!goes_near(from, piece)) return false;
  if (NearTaker* const box = near_->from(rank)) return box->take(near_name_of(piece), use);
  if (near_->is_to_ask(rank)) desk_->ask_for_box(seat_, *group_, from);
  return false;
}

void CollectiveRun::take(int from, const Piece& piece, Done<Tensor> done) {
  attend();
  desk_->take(group_->members[static_cast<size_t>(from)], group_->key,
              name_of(piece, seat_->device(), *call_.signature), &stop_,
              Done<Tensor>([self = shared_from_this(), from,
                            done = std::move(done)](Result<Tensor> came) mutable {
                if (!came.ok()) return done(self->seen(from, came.status()));
                done(std::move(came));
              }));
}

// A leader that is gone, or has begun again, tells nobody else that the group is of no use any
// more.
Status CollectiveRun::unled(const Status& status) {
  {
    MutexLock lock(mutex_);
    if (!failed_.ok()) return failed_;
  }
  if (status.code() != Code::aborted && status.code() != Code::unavailable) return status;
  Status why = of_lost_leader(*group_, status);
  desk_->lose(*seat_, *group_, why);
  return why;
}

Status CollectiveRun::seen(int from, const Status& status) {
  {
    MutexLock lock(mutex_);
    if (!failed_.ok()) return failed_;
  }
  const bool is_behind = status.code() == Code::out_of_range;
  const bool is_gone = status.code() == Code::unavailable ||
                       status.payloads().contains(kWorkerPossiblyRestartedUrl) ||
                       status.message().find("different device incarnation") != std::string::npos;
  // A code that says that this step was cancelled, or that its input is exhausted, would be wrong.
  const bool misleads = is_behind || is_gone || status.code() == Code::cancelled;
  Status why(misleads ? Code::aborted : status.code(),
             is_gone ? str_cat("group ", group_->key, " of ", size(), " has lost ", member(from),
                               ": ", status.message())
                     : status.message());
  if (is_gone || is_behind) desk_->lose(*seat_, *group_, why);
  return why;
}

void CollectiveRun::fail(const Status& why) {
  const auto self = shared_from_this();
  bool is_waiting = false;
  {
    MutexLock lock(mutex_);
    if (failed_.ok()) failed_ = as_told(why);
    is_waiting = ended_ && laid_out_ > 0;
    if (is_waiting) laid_out_ = 0;
  }
  stop_.cancel(why);
  if (is_waiting) conclude();
}

void CollectiveRun::end(Status how, Done<void> done) {
  {
    MutexLock lock(mutex_);
    if (failed_.ok()) failed_ = as_told(how);
    ended_ = true;
    end_ = std::move(done);
    if (!failed_.ok()) laid_out_ = 0;
    if (laid_out_ > 0) {
      patience_ =
          desk_->host().timers.at(desk_->host().clock.now() + patience_with_takers(call_.timeout),
                                  [weak = weak_from_this(), round = round_->number()] {
                                    if (const auto self = weak.lock()) self->ask_takers(round);
                                  });
      return;
    }
  }
  conclude();
}

// A member who takes hears at once of one that is lost or has given the round up; one who only
// gives would wait for ever. So it takes, too: what is never there. The answer comes when the other
// one gives the round up, leaves it behind, or is lost; all is well if it has taken its pieces
// before.
void CollectiveRun::ask_takers(int64_t round) {
  {
    MutexLock lock(mutex_);
    if (laid_out_ == 0) return;
    has_asked_ = true;
  }
  for (const std::string& taker : seat_->untaken(*this)) {
    const int rank = group_->rank_of(taker);
    if (rank < 0) continue;
    desk_->take(group_->members[static_cast<size_t>(rank)], group_->key,
                {.epoch = group_->epoch,
                 .round = round,
                 .instance = instance_,
                 .signature = *call_.signature,
                 .piece = std::string(kNoPiece),
                 .taker = seat_->device()},
                &stop_, Done<Tensor>([self = shared_from_this(), rank, taker](Result<Tensor> came) {
                  {
                    MutexLock lock(self->mutex_);
                    if (self->laid_out_ == 0 || came.ok()) return;
                  }
                  if (self->seat_->untaken(*self).contains(taker))
                    self->fail(self->seen(rank, came.status()));
                }));
  }
}

void CollectiveRun::laid_out() {
  MutexLock lock(mutex_);
  ++laid_out_;
}

void CollectiveRun::taken() {
  {
    MutexLock lock(mutex_);
    if (laid_out_ == 0 || --laid_out_ > 0 || !ended_) return;
  }
  conclude();
}

void CollectiveRun::conclude() {
  const auto self = shared_from_this();
  Done<void> done;
  Status how;
  Cancellation::Registration from_step;
  Timers::Timer timer, patience;
  bool has_asked = false;
  {
    MutexLock lock(mutex_);
    done = std::move(end_);
    how = failed_;
    std::swap(timer, timer_);
    std::swap(patience, patience_);
    has_asked = has_asked_;
  }
  if (!done) return;
  {
    MutexLock lock(attending_);
    from_step = std::move(from_step_);
  }
  // The step may be gone once this is answered, and with it the cancellation.
  from_step.release();
  timer.cancel();
  patience.cancel();
  if (has_asked) stop_.cancel(cancelled("the collective is over"));
  if (entered_ && (attends_.load() || !how.ok())) seat_->leave(*this, round_->number(), how);
  round_.reset();
  done(std::move(how));
}

}  // namespace millrace
