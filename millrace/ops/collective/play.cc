#include "millrace/ops/collective/play.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "millrace/base/first_cause.h"
#include "millrace/base/mutex.h"

namespace millrace {
namespace {

// Merging less than that costs no more than a hand-over to another thread.
constexpr size_t kMergedAtOnce = 32 << 10;

// Slots of a lane's chunk: what one lane has left there has been taken, in the usual course of
// things, before the next lane but one comes to it.
constexpr int kSlots = 2;

class Play : public std::enable_shared_from_this<Play> {
 public:
  Play(KernelContext& context, std::shared_ptr<Exchange> exchange, Score score,
       Done<std::vector<Tensor>> done)
      : pool_(context.step().pool),
        exchange_(std::move(exchange)),
        score_(std::move(score)),
        done_(std::move(done)),
        num_voices_(std::min(score_.abreast, score_.lanes.size())),
        voices_(num_voices_) {
    if (!score_.whole.has_value()) return;
    places_.reserve(score_.lengths.size());
    size_t place = 0;
    for (const int64_t length : score_.lengths) {
      places_.push_back(place);
      place += static_cast<size_t>(length) * dtype_size(score_.dtype);
    }
  }

  void start() {
    if (score_.lanes.empty()) return end();
    for (size_t voice = 0; voice < num_voices_; ++voice) sing();
  }

 private:
  // One lane after the other, as long as nothing has to be waited for.
  void sing() {
    for (;;) {
      const size_t lane = next_lane_.fetch_add(1);
      if (lane >= score_.lanes.size() || has_failed_.load()) return voice_ended({});
      if (!go_on(lane, 0)) return;
    }
  }

  // True at the end of the lane. False: the voice goes on elsewhere, or has ended.
  bool go_on(size_t lane, size_t at) {
    for (; at < score_.lanes[lane].size(); ++at) {
      const Move& move = score_.lanes[lane][at];
      if (move.to != kNobody)
        exchange_->give(move.to, piece(move.give, move.stage),
                        score_.chunks[static_cast<size_t>(move.give)]);
      if (move.from == kNobody) continue;
      const Piece wanted = piece(move.take, move.stage);
      Status status;
      if (exchange_->take_at_once(move.from, wanted,
                                  [&](const Tensor& came) { status = put(move, came); })) {
        if (status.ok()) continue;
        voice_ended(std::move(status));
        return false;
      }
      exchange_->take(
          move.from, wanted,
          Done<Tensor>([self = shared_from_this(), this, lane, at](Result<Tensor> came) mutable {
            arrived(lane, at, std::move(came));
          }));
      return false;
    }
    return true;
  }

  Piece piece(int chunk, int stage) const {
    Piece made{.chunk = chunk, .stage = stage, .slot = chunk};
    if (score_.lane_chunks == 0) return made;
    const int lane = chunk / score_.lane_chunks;
    made.slot = chunk % (score_.lane_chunks * kSlots);
    made.wave = lane / kSlots;
    return made;
  }

  void arrived(size_t lane, size_t at, Result<Tensor> came) {
    if (!came.ok()) return voice_ended(std::move(came).status());
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
      return voice_ended(std::move(status));
    if (go_on(lane, at + 1)) sing();
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
    if (score_.whole.has_value()) return put_in_place(move, index, came, own);
    switch (move.then) {
      case Move::Then::keep: {
        MR_ASSIGN(own, came.kept());
        return {};
      }
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

  Status put_in_place(const Move& move, size_t index, const Tensor& came, Tensor& own) {
    char* const place = static_cast<char*>(score_.whole.mutable_data()) + places_[index];
    switch (move.then) {
      case Move::Then::keep:
        if (came.num_bytes() > 0) std::memcpy(place, came.data(), came.num_bytes());
        break;
      case Move::Then::merge_before:
        MR_TRY(merge_onto(score_.merge_op, came, own, place));
        break;
      case Move::Then::merge_after:
        MR_TRY(merge_onto(score_.merge_op, own, came, place));
        break;
    }
    const auto begin = static_cast<int64_t>(places_[index] / dtype_size(score_.dtype));
    MR_ASSIGN(own, score_.whole.rows(begin, begin + score_.lengths[index]));
    return {};
  }

  void voice_ended(Status status) {
    // The other voices need not go on.
    if (!status.ok()) {
      has_failed_.store(true);
      exchange_->fail(status);
    }
    {
      MutexLock lock(mutex_);
      status_.add(std::move(status));
      if (--voices_ > 0) return;
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
                     if (!score_.whole.has_value()) return done(std::move(score_.chunks));
                     score_.chunks.clear();
                     std::vector<Tensor> whole;
                     whole.push_back(std::move(score_.whole));
                     done(std::move(whole));
                   }));
  }

  Runner* const pool_;
  const std::shared_ptr<Exchange> exchange_;
  Score score_;  // chunks: each touched only by its lane
  Done<std::vector<Tensor>> done_;

  const size_t num_voices_;
  std::vector<size_t> places_;  // of the chunks in the whole, in bytes
  std::atomic<size_t> next_lane_{0};
  std::atomic<bool> has_failed_{false};
  Mutex mutex_;
  size_t voices_ MR_GUARDED_BY(mutex_);
  FirstCause status_ MR_GUARDED_BY(mutex_);
};

}  // namespace

void play(KernelContext& context, std::shared_ptr<Exchange> exchange, Score score,
          Done<std::vector<Tensor>> done) {
  std::make_shared<Play>(context, std::move(exchange), std::move(score), std::move(done))->start();
}

}  // namespace millrace
