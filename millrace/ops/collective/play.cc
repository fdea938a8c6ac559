#include "millrace/ops/collective/play.h"

#include <utility>

#include "millrace/base/first_cause.h"
#include "millrace/base/mutex.h"

namespace millrace {
namespace {

// Merging less than that costs no more than a hand-over to another thread.
constexpr size_t kMergedAtOnce = 32 << 10;

class Play : public std::enable_shared_from_this<Play> {
 public:
  Play(KernelContext& context, std::shared_ptr<Exchange> exchange, Score score,
       Done<std::vector<Tensor>> done)
      : pool_(context.step().pool),
        exchange_(std::move(exchange)),
        score_(std::move(score)),
        done_(std::move(done)),
        playing_(score_.lanes.size()) {}

  void start() {
    if (score_.lanes.empty()) return end();
    const size_t lanes = score_.lanes.size();
    for (size_t lane = 0; lane < lanes; ++lane) go_on(lane, 0);
  }

 private:
  void go_on(size_t lane, size_t at) {
    for (; at < score_.lanes[lane].size(); ++at) {
      const Move& move = score_.lanes[lane][at];
      if (move.to != kNobody)
        exchange_->give(move.to, piece(move.give, move.stage),
                        score_.chunks[static_cast<size_t>(move.give)]);
      if (move.from != kNobody) {
        return exchange_->take(
            move.from, piece(move.take, move.stage),
            Done<Tensor>([self = shared_from_this(), this, lane, at](Result<Tensor> came) mutable {
              arrived(lane, at, std::move(came));
            }));
      }
    }
    lane_ended({});
  }

  static std::string piece(int chunk, int stage) { return str_cat(chunk, ".", stage); }

  void arrived(size_t lane, size_t at, Result<Tensor> came) {
    if (!came.ok()) return lane_ended(std::move(came).status());
    const Move& move = score_.lanes[lane][at];
    if (move.then == Move::Then::keep || came->num_bytes() < kMergedAtOnce || pool_ == nullptr)
      return settle(lane, at, *std::move(came));
    pool_->post([self = shared_from_this(), this, lane, at, came = *std::move(came)]() mutable {
      settle(lane, at, std::move(came));
    });
  }

  void settle(size_t lane, size_t at, Tensor came) {
    const Move& move = score_.lanes[lane][at];
    if (Status status = put(move, std::move(came)); !status.ok())
      return lane_ended(std::move(status));
    go_on(lane, at + 1);
  }

  Status put(const Move& move, Tensor came) {
    const auto index = static_cast<size_t>(move.target());
    const int64_t length = score_.lengths[index];
    if (came.dtype() != score_.dtype || came.num_elements() != length)
      return invalid("members of the group disagree: ", exchange_->member(move.from), " brought ",
                     dtype_name(came.dtype()), " of ", came.num_elements(), " elements where ",
                     exchange_->member(exchange_->rank()), " has ", dtype_name(score_.dtype),
                     " of ", length,
                     "; all members of an instance must bring tensors of one type and shape");
    MR_ASSIGN(came, came.reshaped({length}));
    Tensor& own = score_.chunks[index];
    switch (move.then) {
      case Move::Then::keep:
        own = std::move(came);
        return {};
      case Move::Then::merge_before: {
        MR_ASSIGN(own, merge(score_.merge_op, std::move(came), std::move(own)));
        return {};
      }
      case Move::Then::merge_after: {
        MR_ASSIGN(own, merge(score_.merge_op, std::move(own), std::move(came)));
        return {};
      }
    }
    return {};
  }

  void lane_ended(Status status) {
    // The other lanes need not go on.
    if (!status.ok()) exchange_->fail(status);
    {
      MutexLock lock(mutex_);
      status_.add(std::move(status));
      if (--playing_ > 0) return;
    }
    end();
  }

  void end() {
    Status status;
    {
      MutexLock lock(mutex_);
      status = status_.status();
    }
    exchange_->end(std::move(status), Done<void>([self = shared_from_this(), this](Status status) {
                     Done<std::vector<Tensor>> done = std::move(done_);
                     if (!status.ok()) return done(std::move(status));
                     done(std::move(score_.chunks));
                   }));
  }

  Runner* const pool_;
  const std::shared_ptr<Exchange> exchange_;
  Score score_;  // chunks: each touched only by its lane
  Done<std::vector<Tensor>> done_;

  Mutex mutex_;
  size_t playing_ MR_GUARDED_BY(mutex_);
  FirstCause status_ MR_GUARDED_BY(mutex_);
};

}  // namespace

void play(KernelContext& context, std::shared_ptr<Exchange> exchange, Score score,
          Done<std::vector<Tensor>> done) {
  std::make_shared<Play>(context, std::move(exchange), std::move(score), std::move(done))->start();
}

}  // namespace millrace
