#include "millrace/ops/data/iterator.h"

#include <atomic>
#include <optional>
#include <utility>

namespace millrace::data {
namespace {

// The end, and nothing before it.
class AtEnd final : public DatasetIterator {
 public:
  Result<Next> next(Pull&, Element*) override { return Next::end; }
};

}  // namespace

Status check_components(const Dataset::Components& wanted, const Dataset::Components& given) {
  if (wanted.types.size() != given.types.size())
    return invalid("Number of components does not match: expected ", wanted.types.size(),
                   " types but got ", given.types.size(), ".");
  for (size_t i = 0; i < wanted.types.size(); ++i) {
    if (wanted.types[i] == given.types[i]) continue;
    return invalid("Data type mismatch at component ", i, ": expected ",
                   dtype_name(wanted.types[i]), " but got ", dtype_name(given.types[i]), ".");
  }
  for (size_t i = 0; i < wanted.shapes.size() && i < given.shapes.size(); ++i) {
    if (wanted.shapes[i].merge(given.shapes[i]).ok()) continue;
    return invalid("Incompatible shapes at component ", i, ": expected ",
                   wanted.shapes[i].to_string(), " but got ", given.shapes[i].to_string(), ".");
  }
  return {};
}

// Those who wait, and the walk that they wait for.
class Iterator::Line final : public Waker, public std::enable_shared_from_this<Line> {
 public:
  // One pull: none means "not yet".
  using Pulled = std::optional<Result<Element>>;

  void begin(DatasetPtr dataset, IteratorPtr iterator, HostPtr host, Runner* pool) {
    auto walk = std::make_shared<Walk>();
    walk->dataset = std::move(dataset);
    walk->iterator = std::move(iterator);
    walk->host = std::move(host);
    go_along(std::move(walk), pool);
  }

  // The walk of another line, which nobody stands in.
  void take_over(Line& from) {
    std::shared_ptr<Walk> walk;
    Runner* pool = nullptr;
    {
      MutexLock lock(from.mutex_);
      walk = std::move(from.walk_);
      pool = from.pool_;
    }
    go_along(std::move(walk), pool);
  }

  Result<WalkState> save(Unkept unkept) const {
    HostPtr host;
    WalkState state;
    {
      MutexLock lock(mutex_);
      MR_TRY(refusal());
      host = walk_->host;
      state = {walk_->handed_out, walk_->at_end, host->seeds().places()};
    }
    if (unkept == Unkept::refused) MR_TRY(host->check_stateless());
    return state;
  }

  DatasetPtr dataset() const {
    MutexLock lock(mutex_);
    return walk_ == nullptr ? nullptr : walk_->dataset;
  }

  void next(Cancellation* cancellation, Done<Element> done) {
    std::shared_ptr<Walk> walk;
    Status refused;
    {
      MutexLock lock(mutex_);
      refused = refusal();
      if (refused.ok() && !is_pulling_ && waiting_.empty()) {
        // Nobody is before us: mostly the element is there, and nobody has to be told of a wait.
        is_pulling_ = true;
        is_woken_ = false;
        walk = walk_;
      }
    }
    if (!refused.ok()) return done(std::move(refused));
    if (walk == nullptr) return wait(cancellation, std::move(done), Place::behind_others);
    Pulled made = pull(*walk);
    if (made) walk->count(*made);
    walk.reset();
    if (!made) return wait(cancellation, std::move(done), Place::first);
    stop_pulling();
    done(*std::move(made));
  }

  void wake() override {
    if (begins_to_pull()) serve();
  }

  void close(const Status& why) {
    std::list<Waiter> ended;
    std::shared_ptr<Walk> dropped;
    {
      MutexLock lock(mutex_);
      if (closed_.ok()) closed_ = why.ok() ? cancelled("the iterator has ended") : why;
      ended.swap(waiting_);
      dropped = std::move(walk_);
    }
    for (Waiter& each : ended) answer(each, closed_status());
  }

 private:
  struct Walk {
    DatasetPtr dataset;
    IteratorPtr iterator;  // touched by who pulls
    Pulled left_over;      // what came for somebody who had left; likewise
    HostPtr host;
    std::atomic<uint64_t> handed_out = 0;
    std::atomic<bool> at_end = false;

    void count(const Result<Element>& answered) {
      if (answered.status().code() == Code::out_of_range) {
        at_end = true;
      } else {
        ++handed_out;
      }
    }
  };
  struct Waiter {
    uint64_t ticket;
    Done<Element> done;
    Cancellation::Registration registration;
  };
  // Whether who gets in line was pulling before, and goes on.
  enum class Place : uint8_t { behind_others, first };

  void go_along(std::shared_ptr<Walk> walk, Runner* pool) {
    {
      MutexLock lock(mutex_);
      std::swap(walk_, walk);
      pool_ = pool;
    }
    wake();
  }

  Status refusal() const MR_REQUIRES(mutex_) {
    if (!closed_.ok() || walk_ != nullptr) return closed_;
    return failed_precondition(
        "GetNext() failed because the iterator has not been initialized. Ensure that you have run "
        "the initializer operation for this iterator before getting the next element.");
  }

  Status closed_status() const {
    MutexLock lock(mutex_);
    return closed_;
  }

  static void answer(Waiter& waiter, Result<Element> result) {
    // Before the answer: who has it may destroy its cancellation.
    waiter.registration.release();
    waiter.done(std::move(result));
  }

  Pulled pull(Walk& walk) {
    if (walk.left_over) return std::exchange(walk.left_over, std::nullopt);
    const std::shared_ptr<Waker> self = shared_from_this();
    Pull pull(self);
    Element element;
    const Result<Next> next = walk.iterator->next(pull, &element);
    if (!next.ok()) return Result<Element>(next.status());
    if (*next == Next::pending) return std::nullopt;
    if (*next == Next::end) return Result<Element>(out_of_range("End of sequence"));
    return Result<Element>(std::move(element));
  }

  void wait(Cancellation* cancellation, Done<Element> done, Place place) {
    uint64_t ticket = 0;
    {
      MutexLock lock(mutex_);
      ticket = next_ticket_++;
    }
    // The cancellation hears of it first: once we are in line the answer may come at any moment,
    // and the cancellation may be gone right after.
    Cancellation::Registration registration;
    if (cancellation != nullptr) {
      registration = cancellation->on_cancel([weak = weak_from_this(), ticket](const Status& why) {
        if (const auto self = weak.lock()) self->cancel(ticket, why);
      });
    }
    std::list<Waiter> ended;
    bool pulls = place == Place::first;
    {
      MutexLock lock(mutex_);
      const auto end = pulls ? waiting_.begin() : waiting_.end();
      const auto self = waiting_.insert(end, {ticket, std::move(done), std::move(registration)});
      // A callback that came before found nobody to send away.
      const bool is_over = cancellation != nullptr && cancellation->cancelled();
      if (!closed_.ok() || is_over) ended.splice(ended.begin(), waiting_, self);
      if (!pulls && !is_pulling_) pulls = is_pulling_ = true;
    }
    if (!ended.empty()) {
      const Status closed = closed_status();
      answer(ended.front(),
             closed.ok()
                 ? cancelled("the step ended while it waited for an element").as_consequence()
                 : closed);
    }
    if (!pulls) return;
    // Woken since we looked, or not there yet.
    if (place == Place::first) return go_on_or_rest();
    serve();
  }

  void cancel(uint64_t ticket, const Status& why) {
    std::list<Waiter> ended;
    {
      MutexLock lock(mutex_);
      for (auto waiter = waiting_.begin(); waiter != waiting_.end(); ++waiter) {
        if (waiter->ticket != ticket) continue;
        ended.splice(ended.begin(), waiting_, waiter);
        break;
      }
    }
    if (!ended.empty()) answer(ended.front(), why);
  }

  // Sees to it that somebody pulls, if anybody waits. True if that is the caller.
  bool begins_to_pull() {
    MutexLock lock(mutex_);
    is_woken_ = true;
    if (is_pulling_ || waiting_.empty()) return false;
    is_pulling_ = true;
    return !passes_on();
  }

  // After a pull that found nothing: again if something has come since, else whoever wakes us.
  void go_on_or_rest() {
    {
      MutexLock lock(mutex_);
      if (!is_woken_) is_pulling_ = false;
      if (!is_pulling_ || passes_on()) return;
    }
    serve();
  }

  // Nobody was before us in line; others may be now.
  void stop_pulling() {
    {
      MutexLock lock(mutex_);
      if (waiting_.empty()) is_pulling_ = false;
      if (!is_pulling_ || passes_on()) return;
    }
    serve();
  }

  // Lets the pool go on: what goes on for long must not keep this thread. False if there is none.
  bool passes_on() MR_REQUIRES(mutex_) {
    if (pool_ == nullptr) return false;
    pool_->post([self = shared_from_this()] { self->serve(); });
    return true;
  }

  // Pulls as long as somebody waits and something is there. Requires is_pulling_, which it ends.
  void serve() {
    for (;;) {
      std::shared_ptr<Walk> walk;
      {
        MutexLock lock(mutex_);
        if (waiting_.empty() || walk_ == nullptr) {
          is_pulling_ = false;
          return;
        }
        is_woken_ = false;
        walk = walk_;
      }
      Pulled made = pull(*walk);
      std::list<Waiter> served;
      {
        MutexLock lock(mutex_);
        if (!made) {
          if (!is_woken_) is_pulling_ = false;
          if (!is_pulling_ || passes_on()) return;
          continue;
        }
        if (waiting_.empty()) {
          walk->left_over = std::move(made);
          is_pulling_ = false;
          return;
        }
        served.splice(served.begin(), waiting_, waiting_.begin());
      }
      walk->count(*made);
      answer(served.front(), *std::move(made));
    }
  }

  mutable Mutex mutex_;
  std::shared_ptr<Walk> walk_ MR_GUARDED_BY(mutex_);
  Runner* pool_ MR_GUARDED_BY(mutex_) = nullptr;
  Status closed_ MR_GUARDED_BY(mutex_);
  std::list<Waiter> waiting_ MR_GUARDED_BY(mutex_);
  uint64_t next_ticket_ MR_GUARDED_BY(mutex_) = 1;
  bool is_pulling_ MR_GUARDED_BY(mutex_) = false;
  bool is_woken_ MR_GUARDED_BY(mutex_) = false;  // since the pull began
};

Iterator::Iterator(Dataset::Components components, std::string name)
    : components_(std::move(components)), name_(std::move(name)), line_(std::make_shared<Line>()) {}

Iterator::~Iterator() { line_->close(cancelled("the iterator '", name_, "' has ended")); }

Status Iterator::begin(DatasetPtr dataset, IterationHost::Machine machine) {
  if (!components_.types.empty()) MR_TRY(check_components(components_, dataset->components()));
  auto host = std::make_shared<IterationHost>(machine);
  MR_ASSIGN(IteratorPtr iterator, dataset->iterate(host));
  line_->begin(std::move(dataset), std::move(iterator), std::move(host), machine.pool);
  return {};
}

Result<WalkState> Iterator::save(Unkept unkept) const { return line_->save(unkept); }

// Goes on to where a walk was, in a line that nobody else stands in; held by the answers it waits
// for.
class Iterator::Resumption final : public std::enable_shared_from_this<Resumption> {
 public:
  Resumption(std::shared_ptr<Line> into, uint64_t left, Cancellation* cancellation, Done<void> done)
      : into_(std::move(into)), left_(left), cancellation_(cancellation), done_(std::move(done)) {}

  Line& line() { return *line_; }

  void go_on() {
    while (left_ > 0) {
      if (cancellation_ != nullptr && cancellation_->cancelled())
        return done_(cancelled("the step ended while an iterator went on to where it was"));
      turn_ = Turn::asks;
      line_->next(cancellation_,
                  Done<Element>([self = shared_from_this()](Result<Element> element) {
                    self->answered(std::move(element).status());
                  }));
      // Who answers later goes on; nobody calls the other one again and again.
      Turn asks = Turn::asks;
      if (turn_.compare_exchange_strong(asks, Turn::waits)) return;
    }
    if (!problem_.ok()) return done_(std::move(problem_));
    into_->take_over(*line_);
    done_(Status());
  }

 private:
  enum class Turn : uint8_t { asks, waits, answered };

  void answered(const Status& status) {
    --left_;
    // Elements that fail now failed before, or are passed over as well; the end stays the end.
    if (status.code() == Code::out_of_range) left_ = 0;
    if (status.code() == Code::cancelled) {
      left_ = 0;
      problem_ = status;
    }
    if (turn_.exchange(Turn::answered) == Turn::waits) go_on();
  }

  const std::shared_ptr<Line> into_;
  const std::shared_ptr<Line> line_ = std::make_shared<Line>();
  uint64_t left_;
  Cancellation* const cancellation_;
  Done<void> done_;
  Status problem_;
  std::atomic<Turn> turn_ = Turn::asks;
};

void Iterator::restore(WalkState state, IterationHost::Machine machine, Cancellation* cancellation,
                       Done<void> done) {
  DatasetPtr along = dataset();
  if (along == nullptr) {
    return done(failed_precondition(
        "the iterator '", name_,
        "' has not been initialized: run its initializer before it is restored, which says along "
        "which dataset it goes"));
  }
  auto host = std::make_shared<IterationHost>(machine,
                                              std::make_shared<DrawnSeeds>(std::move(state.seeds)));
  auto iterator =
      state.at_end ? Result<IteratorPtr>(std::make_unique<AtEnd>()) : along->iterate(host);
  if (!iterator.ok()) return done(iterator.status());
  const auto resumption =
      std::make_shared<Resumption>(line_, state.handed_out, cancellation, std::move(done));
  resumption->line().begin(std::move(along), *std::move(iterator), std::move(host), machine.pool);
  resumption->go_on();
}

DatasetPtr Iterator::dataset() const { return line_->dataset(); }

void Iterator::next(Cancellation* cancellation, Done<Element> done) {
  line_->next(cancellation, std::move(done));
}

std::string Iterator::description() const {
  return str_cat("Iterator of ", components_.types.size(), " components",
                 line_->dataset() == nullptr ? ", not initialized" : "");
}

void Iterator::close(const Status& why) { line_->close(why); }

}  // namespace millrace::data
