// Part of families.h: register_dataset_prefetch, elements made ahead of those who want them.
#include "millrace/ops/data/prefetch.h"

#include <deque>
#include <utility>

#include "millrace/ops/data/dataset_kernel.h"
#include "millrace/ops/data/families.h"

namespace millrace::data {
namespace {

// How many elements are made ahead if the node leaves it to us.
constexpr int64_t kAuto = -1, kAutoSize = 2;

// The pump of a prefetch: pulls its input on the pool until the buffer is full, and again when
// there is room. The iterator owns it; a pump at work keeps itself alive until it sees that it is
// closed.
class Prefetcher final : public Waker, public std::enable_shared_from_this<Prefetcher> {
 public:
  Prefetcher(IteratorPtr input, size_t size, Runner& pool)
      : size_(size), pool_(pool), input_(std::move(input)) {}

  void close() {
    IteratorPtr dropped;
    std::deque<Made> unwanted;
    MutexLock lock(mutex_);
    is_closed_ = true;
    waiting_.reset();
    unwanted.swap(buffer_);
    // Who pulls drops it.
    if (state_ != State::pulling) dropped = std::move(input_);
  }

  Result<Next> take(Pull& pull, Element* element) {
    Made made;
    {
      MutexLock lock(mutex_);
      if (buffer_.empty()) {
        waiting_ = pull.waker;
        start();
        return Next::pending;
      }
      made = std::move(buffer_.front());
      if (made.next == Next::end) return Next::end;  // stays
      buffer_.pop_front();
      start();
    }
    MR_TRY(std::move(made.status));
    *element = std::move(made.element);
    return Next::element;
  }

  // The input may have more.
  void wake() override {
    MutexLock lock(mutex_);
    if (state_ == State::pulling) {
      is_woken_ = true;
    } else if (state_ == State::waiting) {
      state_ = State::idle;
      start();
    }
  }

 private:
  struct Made {
    Next next = Next::element;
    Status status;  // instead of an element
    Element element;
  };
  enum class State : uint8_t {
    idle,
    waiting,  // for the input
    pulling,  // on the pool, or on its way there
    over,     // the input has ended
  };

  void start() MR_REQUIRES(mutex_) {
    if (state_ != State::idle || is_closed_ || buffer_.size() >= size_) return;
    state_ = State::pulling;
    is_woken_ = false;
    pool_.post([self = shared_from_this()] { self->pump(); });
  }

  // A turn of so many elements, then others on the pool have theirs: a buffer may be huge.
  static constexpr int kTurn = 1024;

  void pump() {
    const std::shared_ptr<Waker> self = shared_from_this();
    for (int made = 0; made < kTurn; ++made)
      if (!pull_one(self)) return drop_if_closed();
    pool_.post([again = shared_from_this()] { again->pump(); });
  }

  // False if the pump has to stop.
  bool pull_one(const std::shared_ptr<Waker>& self) {
    {
      MutexLock lock(mutex_);
      if (is_closed_ || buffer_.size() >= size_) {
        state_ = State::idle;
        return false;
      }
      is_woken_ = false;
    }
    Pull pull(self);
    Made made;
    Result<Next> next = input_->next(pull, &made.element);
    if (!next.ok()) {
      made.status = std::move(next).status();
    } else {
      made.next = *next;
    }
    return deliver(std::move(made));
  }

  // False if the pump has to stop.
  bool deliver(Made made) {
    std::shared_ptr<Waker> waiting;
    bool goes_on = true;
    {
      MutexLock lock(mutex_);
      if (made.next == Next::pending) {
        state_ = State::waiting;
        if (is_woken_) {
          // Others on the pool have their turn first.
          state_ = State::idle;
          start();
        }
        return false;
      }
      if (made.next == Next::end) {
        state_ = State::over;
        goes_on = false;
      }
      if (!is_closed_) buffer_.push_back(std::move(made));
      waiting = std::move(waiting_);
    }
    if (waiting != nullptr) waiting->wake();
    return goes_on;
  }

  void drop_if_closed() {
    IteratorPtr dropped;
    MutexLock lock(mutex_);
    // Somebody else may pull again by now, if it is not closed.
    if (is_closed_ && state_ != State::pulling) dropped = std::move(input_);
    if (state_ == State::over) dropped = std::move(input_);
  }

  const size_t size_;
  Runner& pool_;
  IteratorPtr input_;  // touched by whoever pulls; changed with the lock held

  Mutex mutex_;
  State state_ MR_GUARDED_BY(mutex_) = State::idle;
  bool is_woken_ MR_GUARDED_BY(mutex_) = false;  // since the pull began
  bool is_closed_ MR_GUARDED_BY(mutex_) = false;
  std::deque<Made> buffer_ MR_GUARDED_BY(mutex_);
  std::shared_ptr<Waker> waiting_ MR_GUARDED_BY(mutex_);
};

class Prefetching final : public DatasetIterator {
 public:
  explicit Prefetching(std::shared_ptr<Prefetcher> prefetcher)
      : prefetcher_(std::move(prefetcher)) {}
  ~Prefetching() override { prefetcher_->close(); }
  Result<Next> next(Pull& pull, Element* element) override {
    return prefetcher_->take(pull, element);
  }

 private:
  const std::shared_ptr<Prefetcher> prefetcher_;
};

}  // namespace

IteratorPtr made_ahead(IteratorPtr input, const HostPtr& host, size_t size) {
  Runner* pool = host->machine().pool;
  if (size == 0 || pool == nullptr) return input;
  return std::make_unique<Prefetching>(std::make_shared<Prefetcher>(std::move(input), size, *pool));
}

namespace {

class PrefetchDataset final : public DerivedDataset {
 public:
  PrefetchDataset(DatasetPtr input, int64_t size) : DerivedDataset(std::move(input)), size_(size) {}
  int64_t batch_size() const override { return input_->batch_size(); }
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    MR_ASSIGN(IteratorPtr input, input_->iterate(host));
    return made_ahead(std::move(input), host, static_cast<size_t>(size_));
  }

 private:
  const int64_t size_;
};

Result<DatasetPtr> make_prefetch(DatasetInputs& inputs) {
  MR_ASSIGN(DatasetPtr input, inputs.dataset());
  MR_ASSIGN(const int64_t size, inputs.scalar<int64_t>(1, "buffer_size"));
  if (size < kAuto)
    return invalid("buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning");
  return DatasetPtr(
      std::make_shared<PrefetchDataset>(std::move(input), size == kAuto ? kAutoSize : size));
}

}  // namespace

Status register_dataset_prefetch(OpRegistry& ops) {
  return ops.add(dataset_op(
      "PrefetchDataset",
      "Up to buffer_size elements are made ahead while others are used; -1 leaves the number open.",
      "input_dataset: variant, buffer_size: int64",
      str_cat(kOutputs,
              ", slack_period: int = 0, legacy_autotune: bool = true, buffer_size_min: int = 0"),
      make_prefetch));
}

}  // namespace millrace::data
